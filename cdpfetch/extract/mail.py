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
MAX_FORWARDED = 20
# A line that parts messages: who sent it and when, after a blank line or at the beginning.
_SEPARATOR = re.compile(rb"(?:\A|\r?\n\r?\n)From \S+ .*\d\d:\d\d.*\r?\n(?=[!-9;-~]+:)")


def markdown(data: bytes) -> tuple[str | None, str]:
    """``(subject, Markdown)`` of a message.  Parts that can't be decoded are named, never an error."""
    message = BytesParser(policy=email.policy.default).parsebytes(data)
    parts = [_read(message), *(f"---\n\n{_read(inner)}" for inner in _forwarded(message))]
    return _header(message, "Subject"), "\n\n".join(parts) + "\n"


def _read(message: EmailMessage) -> str:
    subject = _header(message, "Subject")
    lines = [f"# {subject}", ""] if subject else []
    lines += [f"- {name}: {value}" for name in _HEADERS if (value := _header(message, name))]
    lines.append("")
    if body := _body(message):
        lines += [body, ""]
    names = _attachments(message)
    if names:
        lines += ["## Attachments", "", *(f"- {name}" for name in names[:MAX_ATTACHMENTS]), ""]
    return "\n".join(lines).strip()


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
    """What is attached: its name, its type and its bytes; a message that was forwarded whole by its subject."""
    names = []
    stack = [message]
    while stack:
        part = stack.pop()
        if part.get_content_type() == "message/rfc822" and part is not message:
            inner = next(iter(part.iter_parts()), None)
            subject = _header(inner, "Subject") if isinstance(inner, EmailMessage) else None
            names.append(f"{part.get_filename() or subject or 'unnamed'} (message/rfc822)")
        elif part.is_multipart():
            stack += [kid for kid in reversed(list(part.iter_parts())) if isinstance(kid, EmailMessage)]
        elif part.get_content_disposition() == "attachment" or part.get_filename():
            payload = part.get_payload(decode=True)
            size = f", {len(payload)} bytes" if isinstance(payload, bytes) else ""
            names.append(f"{part.get_filename() or 'unnamed'} ({part.get_content_type()}{size})")
    return names


def _forwarded(message: EmailMessage) -> list[EmailMessage]:
    """The messages that a message holds as a whole."""
    found = [part for part in message.walk() if part.get_content_type() == "message/rfc822" and part is not message]
    inner = [next(iter(part.iter_parts()), None) for part in found]
    return [one for one in inner if isinstance(one, EmailMessage)][:MAX_FORWARDED]
