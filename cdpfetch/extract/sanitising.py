"""What was extracted, as it may be read: without characters that nobody sees, and with a count of them."""

from __future__ import annotations

from typing import Any

from cdpfetch.extract.result import Extraction, warning
from cdpfetch.invisible import clean, clean_data


def sanitise(found: Extraction) -> Extraction:
    """An extraction as it may be read: Markdown, title, facts, excerpt, outline and metadata cleaned, with a count.

    Plain text is literal by contract, so it stays as it is, and a warning counts what is in it.
    """
    counts = _Counter()
    content, notes = found.content, found.warnings
    if content is not None:
        text, removed = clean(content.text)
        if content.role == "content":
            content = content._replace(text=text)
            counts.removed += removed
        elif removed:
            message = (
                f"{content.name} is literal and holds invisible characters ({removed}): distrust what you cannot see"
            )
            notes = (*notes, warning("invisible_characters", message))
    title = counts.clean(found.title)
    facts = tuple(counts.clean(fact) for fact in found.facts)
    if counts.removed:
        facts = (*facts[:19], f"{counts.removed} invisible character{'s' * (counts.removed > 1)} removed")
    # What follows repeats what has been counted.
    return found._replace(
        content=content,
        title=title,
        facts=facts,
        warnings=notes,
        excerpt=clean_data(found.excerpt),
        outline=clean_data(found.outline),
        meta=clean_data(found.meta),
    )


class _Counter:
    """Cleans one text after the other and adds up."""

    def __init__(self) -> None:
        self.removed = 0

    def clean(self, text: Any) -> Any:
        if not isinstance(text, str):
            return text
        text, removed = clean(text)
        self.removed += removed
        return text
