"""The version, where the hello of the socket protocol can read it without any metadata look-up."""

__version__ = "0.1.0"
