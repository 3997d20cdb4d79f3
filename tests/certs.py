"""Certificates for tests, made by openssl."""

from __future__ import annotations

import subprocess
from pathlib import Path


def make(folder: Path, *names: str) -> tuple[Path, Path]:
    """A certificate for ``names`` (``IP:127.0.0.1``, ``DNS:a.test``) that nobody has signed, and its key."""
    files = folder / "cert.pem", folder / "key.pem"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=quay.invalid"),
            *("-addext", "subjectAltName=" + ",".join(names), "-keyout", files[1], "-out", files[0]),
        ],
        check=True,
        capture_output=True,
    )
    return files
