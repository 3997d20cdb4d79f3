"""Train the block model of cdpfetch's `auto` extractor.

    python scripts/train_extractor.py DATA [--out cdpfetch/extract/blocks.json] [--cross]

DATA is a folder of SET/ID.html.gz and SET/ID.json (keys url, expected_text), such as the development half of the
extraction benchmark.  Needs lightgbm and numpy besides cdpfetch itself; using the model needs neither.

A block's label is the share of its words that the expected text holds in the same order.  --cross holds back a fifth
of the hosts, five times over, and prints words precision, recall and F1 a page of the blocks that are chosen, for the
pages that were trained on and for those that were not: what counts is that the two are close.
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

from cdpfetch.extract import choose, context, convert, dom, metadata, model
from cdpfetch.extract.features import NAMES, Features
from cdpfetch.extract.segment import Block, segment

_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af"
_TOKEN = re.compile(rf"[{_CJK}]|[^\W_{_CJK}]+")
COMMON = {
    "objective": "cross_entropy",
    "bagging_fraction": 0.7,
    "bagging_freq": 1,
    "max_bin": 63,
    "num_threads": 1,
    "seed": 7,
    "deterministic": True,
    "verbose": -1,
}
FIRST_ROUNDS = 180
# Few leaves, splits at random and few features a tree: deeper trees learn the class names of single hosts by heart.
FIRST = {
    "learning_rate": 0.1,
    "num_leaves": 8,
    "min_data_in_leaf": 200,
    "extra_trees": True,
    "feature_fraction": 0.3,
    "lambda_l2": 20.0,
}
SECOND_ROUNDS = 80
SECOND = {
    "learning_rate": 0.08,
    "num_leaves": 12,
    "min_data_in_leaf": 150,
    "feature_fraction": 0.5,
    "lambda_l2": 30.0,
}
# Into how many parts the pages are split, by host, for the second model's training.
PARTS = 4
FOLDS = 5
# So many blocks of a page are trained on at most, drawn at random: they weigh what the page weighs.
SAMPLE = 140


class Page(NamedTuple):
    """A page as the trainer needs it."""

    name: str
    fold: int
    part: int
    kind: str
    rows: Any
    labels: Any
    weights: Any
    tokens: list[list[str]]
    expected: list[str]
    kin: context.Kin
    blocks: list[Block]
    title: str
    sample: Any


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
    with gzip.open(path.removesuffix(".json") + ".html.gz") as f:
        html = f.read().decode("utf-8", "replace")
    root = dom.parse(html)
    if root is None:
        return None
    url = record["url"] or ""
    meta = metadata.read(root, url)
    blocks = segment(convert.prepare(root))
    if not blocks:
        return None
    features = Features(blocks, meta, url)
    rows = features.rows()
    words = [tokens(block.text) for block in blocks]
    expected = tokens(record["expected_text"])
    shares = label(words, expected)
    sizes = np.array([len(block) for block in words], dtype=float)
    # Each page counts the same; blocks without words (images) are judged by their neighbours, not by the model.
    weights = sizes**0.7
    weights *= 100.0 / max(1.0, weights.sum())
    host = urlsplit(url).hostname or path
    name = path if host in ("example.com", "fakehost", "www.example.com") else host
    digest = hashlib.sha256(name.encode()).digest()
    matrix = np.array(rows, dtype=np.float32)
    return Page(
        path,
        digest[0] % FOLDS,
        digest[1] % PARTS,
        record.get("page_type") or "",
        matrix,
        np.array(shares),
        weights,
        words,
        expected,
        context.kin(blocks, rows, features.kinds),
        blocks,
        meta.title or "",
        drawn(len(blocks), digest[2]),
    )


def drawn(count: int, seed: int) -> Any:
    """The numbers of the blocks of a page that are trained on."""
    if count <= SAMPLE:
        return np.arange(count)
    return np.sort(np.random.default_rng(seed).choice(count, SAMPLE, replace=False))


def load(data: Path) -> list[Page]:
    paths = sorted(str(path) for path in data.glob("*/*.json"))
    with ProcessPoolExecutor(2) as executor:
        return [page for page in executor.map(read, paths, chunksize=8) if page is not None]


class Models(NamedTuple):
    """Both looks at a block."""

    first: Any
    second: Any

    def chances(self, page: Page) -> list[float]:
        rows = context.second_rows(page.kin, list(self.first.predict(page.rows)))
        return context.settled(page.kin, list(self.second.predict(np.array(rows, dtype=np.float32))))


def train(pages: list[Page]) -> Models:
    """Both models; the second learns from what first models say of pages that they were not trained on."""
    rows: list[Any] = []
    order: list[Page] = []
    for part in range(PARTS):
        held = [page for page in pages if page.part == part]
        booster = boost([(page.rows, page) for page in pages if page.part != part], NAMES, FIRST, FIRST_ROUNDS)
        rows += [context.second_rows(page.kin, list(booster.predict(page.rows))) for page in held]
        order += held
    first = boost([(page.rows, page) for page in pages], NAMES, FIRST, FIRST_ROUNDS)
    matrices = [np.array(matrix, dtype=np.float32) for matrix in rows]
    second = boost(list(zip(matrices, order, strict=True)), context.NAMES, SECOND, SECOND_ROUNDS)
    return Models(first, second)


def boost(pages: list[tuple[Any, Page]], names: list[str], parameters: dict[str, Any], rounds: int) -> Any:
    import lightgbm

    data = lightgbm.Dataset(
        np.concatenate([rows[page.sample] for rows, page in pages]),
        label=np.concatenate([page.labels[page.sample] for _, page in pages]),
        weight=np.concatenate([_weights(page) for _, page in pages]),
        feature_name=names,
        params={"max_bin": 63},
    )
    return lightgbm.train({**COMMON, **parameters}, data, num_boost_round=rounds)


def _weights(page: Page) -> Any:
    drawn = page.weights[page.sample]
    return drawn * (page.weights.sum() / max(1e-9, drawn.sum()))


def page_score(page: Page, chances: list[float]) -> tuple[float, float, float]:
    """Words precision, recall and F1 of the blocks that are chosen."""
    kept = choose.choose(page.blocks, chances, page.title)
    got = Counter(word for words, keep in zip(page.tokens, kept, strict=True) if keep for word in words)
    want = Counter(page.expected)
    common = sum((got & want).values())
    precision = common / max(1, sum(got.values()))
    recall = common / max(1, sum(want.values()))
    return precision, recall, 2 * precision * recall / (precision + recall) if common else 0.0


def export(models: Models) -> dict[str, Any]:
    """Plain data: a node is ``[feature, threshold, left, right]``; a negative child is the leaf ``~child``."""
    names = ((models.first, NAMES), (models.second, context.NAMES))
    first, second = ({"features": labels, "trees": _trees(booster)} for booster, labels in names)
    return {"first": first, "second": second}


def _trees(booster: Any) -> list[dict[str, Any]]:
    trees = []
    for info in booster.dump_model()["tree_info"]:
        nodes: list[list[float]] = []
        leaves: list[float] = []
        _flatten(info["tree_structure"], nodes, leaves)
        trees.append({"nodes": nodes, "leaves": leaves})
    return trees


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


def cross(pages: list[Page]) -> None:
    """Print what models make of pages whose hosts they were, and were not, trained on."""
    seen: list[tuple[float, float, float]] = []
    unseen: list[tuple[float, float, float]] = []
    for fold in range(FOLDS):
        models = train([page for page in pages if page.fold != fold])
        # Each page is judged once by a model that knows its host and once by the one that does not.
        unseen += [page_score(page, models.chances(page)) for page in pages if page.fold == fold]
        seen += [page_score(page, models.chances(page)) for page in pages if page.fold == (fold + 1) % FOLDS]
    for name, scores in (("trained on", seen), ("held back", unseen)):
        precision, recall, f1 = np.mean(scores, axis=0)
        print(f"{name}: {len(scores)} pages, precision {precision:.4f}, recall {recall:.4f}, F1 {f1:.4f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--out", type=Path, default=Path(model.__file__).with_name("blocks.json"))
    parser.add_argument("--cross", action="store_true", help="only judge, do not write")
    options = parser.parse_args()
    # Whole trees travel between processes.
    sys.setrecursionlimit(100_000)
    pages = load(options.data)
    print(f"{len(pages)} pages, {sum(len(page.labels) for page in pages)} blocks, {len(NAMES)} features", flush=True)
    if options.cross:
        cross(pages)
        return
    models = train(pages)
    options.out.write_text(json.dumps(export(models), separators=(",", ":")) + "\n")
    print(f"written {options.out}: {options.out.stat().st_size} bytes")


if __name__ == "__main__":
    main()
