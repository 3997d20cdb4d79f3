"""GitHub's JSON as Markdown, one module for each family of pages.  Pure."""
