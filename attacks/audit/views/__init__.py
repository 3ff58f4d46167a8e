"""One claim looked at from many points of view."""
