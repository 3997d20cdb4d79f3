"""The HTTP engine: pages and files fetched without a browser, through the guard, and without any cookie."""
