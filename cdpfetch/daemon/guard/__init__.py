"""The guard: the loopback proxy through which Chrome reaches the network, and the one judge of every connection."""
