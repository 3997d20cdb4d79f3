"""Proxy auto-config: a script says for each target which proxies to try, in a process that can do nothing else."""
