"""The Chrome DevTools Protocol, from the pipe up to tabs; knows nothing of the daemon."""
