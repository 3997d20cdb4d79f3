"""Train the block model of cdpfetch's `auto` extractor.

    python scripts/train_extractor.py DATA [--out cdpfetch/extract/blocks.json] [--cross]

DATA is a folder SET/ID.html.gz + SET/ID.json (keys url, expected_text) such as the extraction benchmark's development
half.  Needs lightgbm and numpy besides cdpfetch itself; neither is needed to use the model.  A block's label is the share
of its words that the expected text holds in the same order.  --cross trains on half of the hosts and judges the other
half, both ways, and prints words precision, recall and F1 a page for both.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import re
import sys
import unicodedata
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from cdpfetch.extract import choose, convert, dom, metadata, model
from cdpfetch.extract.features import NAMES, Features
from cdpfetch.extract.segment import segment

_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af"
_TOKEN = re.compile(rf"[{_CJK}]|[^\W_{_CJK}]+")
ROUNDS = 200
PARAMETERS = {
    "objective": "cross_entropy",
    "learning_rate": 0.08,
    "num_leaves": 16,
    "min_data_in_leaf": 200,
    "extra_trees": True,
    "feature_fraction": 0.3,
    "bagging_fraction": 0.7,
    "bagging_freq": 1,
    "lambda_l2": 20.0,
    "max_bin": 63,
    "num_threads": 2,
    "seed": 7,
    "deterministic": True,
    "verbose": -1,
}


class Page(NamedTuple):
    """A page as the trainer needs it."""

    name: str
    fold: int
    kind: str
    rows: Any
    labels: Any
    weights: Any
    tokens: list[list[str]]
    expected: list[str]


def tokens(text: str) -> list[str]:
    """The words of a text; each character of CJK scripts is one."""
    return _TOKEN.findall(unicodedata.normalize("NFKC", text).lower())


def label(blocks: list[list[str]], expected: list[str]) -> list[float]:
    """For each block the share of its words that an alignment of page and expected text matches."""
    page = [word for block in blocks for word in block]
    owner = [index for index, block in enumerate(blocks) for _ in block]
    hits = [0] * len(blocks)
    matcher = SequenceMatcher(None, page, expected, autojunk=len(page) > 1500)
    for start, _, size in matcher.get_matching_blocks():
        for at in range(start, start + size):
            hits[owner[at]] += 1
    grams = Counter(tuple(expected[i : i + 4]) for i in range(len(expected) - 3))
    out = []
    for block, hit in zip(blocks, hits, strict=True):
        share = hit / len(block) if block else 0.0
        if len(block) >= 8:
            # Text that the expected version has in another order.
            found = sum(tuple(block[i : i + 4]) in grams for i in range(len(block) - 3))
            share = max(share, found / (len(block) - 3))
        out.append(share)
    return out


def read(path: str) -> Page | None:
    """One page with features and labels, or None when it has no truth or no blocks."""
    record = json.loads(Path(path).read_text())
    if not record.get("expected_text"):
        return None
    html = gzip.open(path.removesuffix(".json") + ".html.gz").read().decode("utf-8", "replace")
    root = dom.parse(html)
    if root is None:
        return None
    url = record["url"] or ""
    meta = metadata.read(root, url)
    blocks = segment(convert.prepare(root))
    if not blocks:
        return None
    rows = Features(blocks, meta, url).rows()
    words = [tokens(block.text) for block in blocks]
    expected = tokens(record["expected_text"])
    shares = label(words, expected)
    sizes = np.array([len(block) for block in words], dtype=float)
    # Each page counts the same; blocks without words (images) are judged by their neighbours, not by the model.
    weights = sizes**0.7
    weights *= 100.0 / max(1.0, weights.sum())
    host = urlsplit(url).hostname or path
    name = path if host in ("example.com", "fakehost", "www.example.com") else host
    fold = hashlib.sha256(name.encode()).digest()[0] & 1
    matrix = np.array(rows, dtype=np.float32)
    return Page(path, fold, record.get("page_type") or "", matrix, np.array(shares), weights, words, expected)


def load(data: Path) -> list[Page]:
    paths = sorted(str(path) for path in data.glob("*/*.json"))
    with ProcessPoolExecutor(2) as executor:
        return [page for page in executor.map(read, paths, chunksize=8) if page is not None]


def train(pages: list[Page], rounds: int = ROUNDS, **changes: Any) -> Any:
    import lightgbm

    data = lightgbm.Dataset(
        np.concatenate([page.rows for page in pages]),
        label=np.concatenate([page.labels for page in pages]),
        weight=np.concatenate([page.weights for page in pages]),
        feature_name=NAMES,
        params={"max_bin": 63},
    )
    return lightgbm.train({**PARAMETERS, **changes}, data, num_boost_round=rounds)


def judge(pages: list[Page], booster: Any, beta: float = choose.BETA) -> tuple[float, float, float]:
    """Mean words precision, recall and F1 of the pages by the model, with the extractor's own cut."""
    scores = [page_score(page, booster.predict(page.rows), beta) for page in pages]
    return tuple(np.mean(scores, axis=0))


def page_score(page: Page, chances: Any, beta: float) -> tuple[float, float, float]:
    sizes = [len(block) for block in page.tokens]
    cut = choose.best_cut(list(chances), sizes, beta)
    got = Counter(w for words, chance in zip(page.tokens, chances, strict=True) if chance >= cut for w in words)
    want = Counter(page.expected)
    common = sum((got & want).values())
    precision = common / max(1, sum(got.values()))
    recall = common / max(1, sum(want.values()))
    return precision, recall, 2 * precision * recall / (precision + recall) if common else 0.0


def export(booster: Any) -> dict[str, Any]:
    """The model as plain data: each tree a list of ``[feature, threshold, left, right]``; negative = leaf ``~index``."""
    dump = booster.dump_model()
    trees = []
    for info in dump["tree_info"]:
        nodes: list[list[float]] = []
        leaves: list[float] = []
        _flatten(info["tree_structure"], nodes, leaves)
        trees.append({"nodes": nodes, "leaves": leaves})
    return {"features": NAMES, "trees": trees}


def _flatten(node: dict[str, Any], nodes: list[list[float]], leaves: list[float]) -> int:
    if "leaf_value" in node:
        leaves.append(round(node["leaf_value"], 5))
        return ~(len(leaves) - 1)
    index = len(nodes)
    nodes.append([])
    left = _flatten(node["left_child"], nodes, leaves)
    right = _flatten(node["right_child"], nodes, leaves)
    threshold = float(f"{node['threshold']:.6g}")
    nodes[index] = [node["split_feature"], threshold, left, right]
    return index


def cross(pages: list[Page], rounds: int = ROUNDS, **changes: Any) -> None:
    """Print what each half's model makes of the half that it was, and was not, trained on."""
    seen, unseen = [], []
    for fold in (0, 1):
        own = [page for page in pages if page.fold == fold]
        other = [page for page in pages if page.fold != fold]
        booster = train(own, rounds, **changes)
        seen += [page_score(page, booster.predict(page.rows), choose.BETA) for page in own]
        unseen += [page_score(page, booster.predict(page.rows), choose.BETA) for page in other]
    for name, scores in (("trained on", seen), ("held back", unseen)):
        precision, recall, f1 = np.mean(scores, axis=0)
        print(f"{name}: {len(scores)} pages, precision {precision:.4f}, recall {recall:.4f}, F1 {f1:.4f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--out", type=Path, default=Path(model.__file__).with_name("blocks.json"))
    parser.add_argument("--cross", action="store_true", help="only judge, do not write")
    options = parser.parse_args()
    pages = load(options.data)
    print(f"{len(pages)} pages, {sum(len(page.labels) for page in pages)} blocks, {len(NAMES)} features", flush=True)
    if options.cross:
        cross(pages)
        return
    booster = train(pages)
    options.out.write_text(json.dumps(export(booster), separators=(",", ":")) + "\n")
    precision, recall, f1 = judge(pages, booster)
    print(
        f"written {options.out}: {options.out.stat().st_size} bytes; on its own data {precision:.4f} {recall:.4f} {f1:.4f}"
    )


if __name__ == "__main__":
    main()
