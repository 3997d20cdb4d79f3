"""Whose certificates are believed outside of Chrome: the system's authorities, and those of ``network.ca_bundle``."""

from __future__ import annotations

import ssl

from cdpfetch.errors import ConfigError


def context(bundle: str | None) -> ssl.SSLContext:
    """A client's TLS: the system's authorities (or those of ``SSL_CERT_FILE``), and those of a PEM file.

    Raises ConfigError for a file that has none.
    """
    made = ssl.create_default_context()
    if bundle is not None:
        add(made, bundle)
    return made


def add(made: ssl.SSLContext, bundle: str) -> None:
    """Believe the authorities of a PEM file, too.  Raises ConfigError."""
    try:
        made.load_verify_locations(bundle)
    except OSError as error:  # ssl.SSLError is one
        what = getattr(error, "reason", None) or error.strerror or str(error)
        raise ConfigError(f"network.ca_bundle: {bundle} can't be used: {what}", "a PEM file of certificates") from None
