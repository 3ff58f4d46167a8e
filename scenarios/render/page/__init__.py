"""Self-contained HTML pages and their figures."""
