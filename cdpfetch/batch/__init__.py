"""Batches: up to millions of URLs into one directory, resumable after a kill at any moment.  See ``runner``."""
