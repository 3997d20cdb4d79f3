"""E-mail messages as Markdown: the headers that matter, the text, and the names of what is attached."""

from __future__ import annotations

import email.policy
from email.message import EmailMessage
from email.parser import BytesParser

from cdpfetch.extract import charset, convert

_HEADERS = ("From", "To", "Cc", "Date")
MAX_ATTACHMENTS = 200


def markdown(data: bytes) -> tuple[str | None, str]:
    """``(subject, Markdown)`` of a message.  Parts that can't be decoded are named, never an error."""
    message = BytesParser(policy=email.policy.default).parsebytes(data)
    subject = _header(message, "Subject")
    lines = [f"# {subject}", ""] if subject else []
    lines += [f"- {name}: {value}" for name in _HEADERS if (value := _header(message, name))]
    lines.append("")
    if body := _body(message):
        lines += [body, ""]
    names = _attachments(message)
    if names:
        lines += ["## Attachments", "", *(f"- {name}" for name in names[:MAX_ATTACHMENTS]), ""]
    return subject, "\n".join(lines).strip() + "\n"


def _header(message: EmailMessage, name: str) -> str | None:
    try:
        value = message.get(name)
    except (ValueError, IndexError, AttributeError, TypeError):
        # The header parser of the standard library fails on some broken headers.
        return None
    return " ".join(str(value).split())[:1000] or None if value is not None else None


def _body(message: EmailMessage) -> str:
    try:
        part = message.get_body(preferencelist=("plain", "html"))
    except (KeyError, ValueError, AttributeError):
        part = None
    if part is None:
        return ""
    payload = part.get_payload(decode=True)
    raw = payload if isinstance(payload, bytes) else b""
    text = charset.decode(raw, part.get_content_charset()).text
    if part.get_content_type() == "text/html":
        return convert.fragment(text)
    return text.replace("\r\n", "\n").strip()


def _attachments(message: EmailMessage) -> list[str]:
    names = []
    for part in message.walk():
        if part.is_multipart() or part.get_content_disposition() != "attachment":
            continue
        names.append(f"{part.get_filename() or 'unnamed'} ({part.get_content_type()})")
    return names
