"""What the library returns: a fetched document, the outcome for one URL of many, a page of reading.

Each is a thin view of the dict that ``--json`` prints, which ``to_dict()`` gives.
"""

from __future__ import annotations

from cdpfetch.errors import CODES, CdpFetchError, FetchError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Document:
    """The result of resolving one URL."""

    __slots__ = ("_data",)

    def __init__(self, data: dict[str, Any]) -> None:
        self._data = data

    def __repr__(self) -> str:
        state = "ok" if self.ok else (self._data["error"] or {}).get("code", "failed")
        return f"<Document {self.url} {state} in {self.dir}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Document) and other._data == self._data

    __hash__ = None  # type: ignore[assignment]

    @property
    def url(self) -> str:
        """The URL that was asked for."""
        return str(self._data["url"])

    @property
    def ok(self) -> bool:
        """Whether the URL was fetched."""
        return bool(self._data["ok"])

    @property
    def link(self) -> str:
        """The final URL."""
        return str(self._data["link"])

    @property
    def kind(self) -> str:
        """``local.page`` or ``local.file``."""
        return str(self._data["kind"])

    @property
    def source(self) -> str:
        """The fetcher that served it."""
        return str(self._data["source"])

    @property
    def title(self) -> str | None:
        """The title, when it has one."""
        title = self._data["title"]
        return None if title is None else str(title)

    @property
    def facts(self) -> list[str]:
        """Short facts such as author, date, site."""
        return list(self._data["facts"])

    @property
    def excerpt(self) -> str | None:
        """The first prose, at most 260 characters."""
        excerpt = self._data["excerpt"]
        return None if excerpt is None else str(excerpt)

    @property
    def outline(self) -> list[dict[str, Any]]:
        """The headings of the content: ``{"level", "text", "line"}``."""
        return list(self._data["outline"])

    @property
    def status(self) -> int | None:
        """The HTTP status."""
        status = self._data["status"]
        return None if status is None else int(status)

    @property
    def content_type(self) -> str | None:
        """The essence of the media type."""
        content_type = self._data["content_type"]
        return None if content_type is None else str(content_type)

    @property
    def bytes(self) -> int:
        """The size of what the server sent."""
        return int(self._data["bytes"])

    @property
    def sha256(self) -> str | None:
        """The digest of what the server sent, in hexadecimal."""
        digest = self._data["sha256"]
        return None if digest is None else str(digest)

    @property
    def verdict(self) -> str:
        """``ok``, ``partial``, ``thin``, ``login_required``, ``challenge`` or ``error_page``."""
        return str(self._data["verdict"])

    @property
    def coverage(self) -> float | None:
        """Extracted text as a share of the visible text."""
        coverage = self._data["coverage"]
        return None if coverage is None else float(coverage)

    @property
    def warnings(self) -> list[dict[str, Any]]:
        """``{"code", "message"}`` of what should be known about the result."""
        return list(self._data["warnings"])

    @property
    def fetch_id(self) -> str | None:
        """The id for ``read``; None when nothing was saved."""
        fetch_id = self._data["fetch_id"]
        return None if fetch_id is None else str(fetch_id)

    @property
    def dir(self) -> str | None:
        """The directory of its bodies."""
        directory = self._data["dir"]
        return None if directory is None else str(directory)

    @property
    def bodies(self) -> list[dict[str, Any]]:
        """``{"name", "path", "role", "content_type", "lines", "bytes"}`` of each file."""
        return list(self._data["bodies"])

    @property
    def attempts(self) -> list[dict[str, Any]]:
        """``{"source", "code", "reason"}`` of each fetcher that failed."""
        return list(self._data["attempts"])

    @property
    def error(self) -> FetchError | None:
        """Why it failed, or None."""
        return None if self.ok else fetch_error(self._data)

    @property
    def answer(self) -> dict[str, Any] | None:
        """The answer to the call's ``prompt``: ``{"text", "model", "truncated", "error"}``; None without a prompt.

        ``truncated`` lists what was cut; ``error`` is set, and ``text`` None, where there is no answer.
        """
        answer = self._data.get("answer")
        return None if answer is None else dict(answer)

    @property
    def timings(self) -> dict[str, float]:
        """Milliseconds by phase: queue, navigate, settle, capture, extract, total."""
        return dict(self._data["timings"])

    def path(self, role: str = "content") -> str | None:
        """The file of a role, or None when there is none."""
        for body in self._data["bodies"]:
            if body["role"] == role:
                return str(body["path"])
        return None

    def text(self, format: str = "markdown") -> str:  # noqa: A002 - as in read()
        """The whole body that serves a format (``markdown``, ``text``, ``source``, ``html``).

        Raises CdpFetchError(invalid_request), naming the files that exist, when none does.
        """
        from cdpfetch.reading import pick_body

        path = pick_body(self._data, format)["path"]
        try:
            with open(path, encoding="utf-8", errors="replace", newline="") as file:
                return file.read()
        except OSError as error:
            raise CdpFetchError("invalid_request", f"cannot read {path}: {error.strerror}", "fetch it again") from error

    def to_dict(self) -> dict[str, Any]:
        """Exactly what ``--json`` prints and ``metadata.json`` holds."""
        return self._data


class Outcome:
    """What became of one URL of many: ``document`` is None only when nothing is known about it but the error."""

    __slots__ = ("document", "error", "url")

    def __init__(self, url: str, document: Document, error: FetchError | None) -> None:
        self.url = url
        self.document = document
        self.error = error

    @property
    def ok(self) -> bool:
        """Whether the URL was fetched."""
        return self.error is None

    def __repr__(self) -> str:
        return f"<Outcome {self.url} {'ok' if self.error is None else self.error.code}>"


class Page:
    """One page of a document, as ``read`` gives it."""

    __slots__ = ("_data",)

    def __init__(self, data: dict[str, Any]) -> None:
        self._data = data

    def __repr__(self) -> str:
        return f"<Page {self.fetch_id} from {self.offset}, next {self.next_offset}, of {self.total_lines}>"

    def __str__(self) -> str:
        return self.text

    @property
    def fetch_id(self) -> str:
        """The document."""
        return str(self._data["fetch_id"])

    @property
    def text(self) -> str:
        """The text of the page."""
        return str(self._data["text"])

    @property
    def offset(self) -> int:
        """The number of its first line."""
        return int(self._data["offset"])

    @property
    def next_offset(self) -> int | None:
        """Where the next page begins; None after the last."""
        following = self._data["next_offset"]
        return None if following is None else int(following)

    @property
    def total_lines(self) -> int:
        """How many lines (pieces) the body has."""
        return int(self._data["total_lines"])

    def to_dict(self) -> dict[str, Any]:
        """Exactly what ``read --json`` prints."""
        return self._data


def outcome_of(data: dict[str, Any]) -> Outcome:
    """The outcome that a document dict stands for."""
    return Outcome(data["url"], Document(data), None if data["ok"] else fetch_error(data))


def fetch_error(data: dict[str, Any]) -> FetchError:
    """The error of a failed document dict."""
    error = data.get("error") or {}
    code = error.get("code")
    return FetchError(
        code if code in CODES else "internal",
        str(error.get("reason") or "no reason was given"),
        error.get("hint"),
        attempts=list(data.get("attempts") or []),
        document=data,
    )
