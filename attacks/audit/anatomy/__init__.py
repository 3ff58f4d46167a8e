"""What a loss is made of: releases, links, fields, average against worst case, growth."""
