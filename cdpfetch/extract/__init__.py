"""Captured pages and saved files become markdown and text; runs in worker processes."""
