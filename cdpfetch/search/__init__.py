"""Web search: one module for each provider behind one contract, and a pipeline that writes reports to disk.

The package is also the library's function: ``cdpfetch.search("words")`` calls ``cdpfetch.search.calling.search``.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any


class _Callable(ModuleType):
    """A module that can be called: the name is the function's for users, and the package's for Python's imports."""

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        from cdpfetch.search import calling

        return calling.search(*arguments, **options)


sys.modules[__name__].__class__ = _Callable
