"""Ray (extra ``ray``): actors with browsers of their own, a stage for datasets, and an engine for batches."""

from __future__ import annotations

from cdpfetch.adapters.ray.dataset import fetch_dataset
from cdpfetch.adapters.ray.engine import RayEngine
from cdpfetch.adapters.ray.place import Place
from cdpfetch.adapters.ray.storage import FsStore

__all__ = ["FsStore", "Place", "RayEngine", "fetch_dataset"]
