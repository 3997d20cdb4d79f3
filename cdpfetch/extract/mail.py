"""E-mail messages as Markdown: the headers that matter, the text, and the names of what is attached."""

from __future__ import annotations

import email.policy
import re
from email.message import EmailMessage
from email.parser import BytesParser
from itertools import pairwise

from cdpfetch.extract import charset, convert

_HEADERS = ("From", "To", "Cc", "Date")
MAX_ATTACHMENTS = 200
MAX_MESSAGES = 500
# A line that parts messages: who sent it and when, after a blank line or at the beginning.
_SEPARATOR = re.compile(rb"(?:\A|\r?\n\r?\n)From \S+ .*\d\d:\d\d.*\r?\n(?=[!-9;-~]+:)")


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


def mailbox(data: bytes) -> tuple[str, int]:
    """``(Markdown, messages)`` of a mailbox file (RFC 4155); the first of them are shown, all are counted."""
    starts = [found.start() for found in _SEPARATOR.finditer(data)]
    out = []
    for first, last in pairwise([*starts[:MAX_MESSAGES], starts[MAX_MESSAGES] if starts[MAX_MESSAGES:] else len(data)]):
        _, _, message = data[first:last].lstrip(b"\r\n").partition(b"\n")
        out.append(markdown(re.sub(rb"(?m)^>(>*From )", rb"\1", message))[1].rstrip())
    if len(starts) > MAX_MESSAGES:
        out.append(f"… and {len(starts) - MAX_MESSAGES} more messages")
    return "\n\n---\n\n".join(out) + "\n", len(starts)


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
