"""A rendered document onto disk: what nobody sees is taken out, and what it says about itself is taken from it."""

from __future__ import annotations

from typing import Any

from cdpfetch import artifacts, outline
from cdpfetch.fetchers.github.markdown import Rendered, line
from cdpfetch.fetchers.github.work import Work
from cdpfetch.invisible import clean

_TITLE = 300
_FACT = 200
_FACTS = 20


def commit(work: Work, rendered: Rendered, url: str, index_root: str) -> dict[str, Any]:
    """Write the bodies and commit the draft.  Raises CdpFetchError."""
    cleaner = _Cleaner()
    document = artifacts.new_document(url)
    document.update(
        ok=True,
        kind=rendered.kind,
        source="github",
        link=rendered.link if rendered.link.startswith(("https://", "http://")) else url,
        title=line(cleaner.clean(rendered.title), _TITLE),
        status=200,
        content_type=rendered.content_type,
        bytes=work.api.received if rendered.size is None else rendered.size,
        sha256=rendered.sha256,
        excerpt=cleaner.quietly(rendered.excerpt),
        outline=[{**heading, "text": clean(heading["text"])[0]} for heading in rendered.outline],
    )
    facts = [line(cleaner.clean(fact), _FACT) for fact in rendered.facts if fact]
    if rendered.markdown is not None:
        text = cleaner.clean(rendered.markdown)
        document["outline"] = outline.outline(text)
        lead = text if rendered.lead is None else cleaner.quietly(rendered.lead)
        document["excerpt"] = outline.excerpt(lead or "") or outline.excerpt(text)
        work.draft.write("content.md", "content", text, "text/markdown")
    for body in rendered.attachments:
        work.draft.write(body.name, body.role, body.data, body.content_type)
        text = body.data if isinstance(body.data, str) else body.data.decode("utf-8", "replace")
        work.warn_of_invisible(body.name, text)
    if cleaner.removed:
        facts.append(f"{cleaner.removed} invisible character{'s' * (cleaner.removed > 1)} removed")
    document["facts"] = facts[:_FACTS]
    notes = [*rendered.warnings, *work.warnings]
    document["warnings"] = [{"code": code, "message": clean(message)[0]} for code, message in notes]
    if any(code == "incomplete" for code, _ in notes):
        document["verdict"] = "partial"
    return work.draft.commit(document, index_root=index_root)


class _Cleaner:
    """Takes out what nobody sees, and counts it."""

    def __init__(self) -> None:
        self.removed = 0

    def clean(self, text: str) -> str:
        text, removed = clean(text)
        self.removed += removed
        return text

    def quietly(self, text: str | None) -> str | None:
        """Of what is part of something that was counted."""
        return None if text is None else clean(text)[0]
