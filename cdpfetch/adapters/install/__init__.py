"""Installing cdpfetch into agents: an entry in a client's settings, or files in one of its folders."""
