"""A transcript that breaks a claim, cut out of an audit and replayed."""
