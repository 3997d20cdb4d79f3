"""cdpfetch: the web as files, fetched through the system Chrome."""
