"""A catalogue that lies in files, for sets too large for memory: made once, mapped by all processes.

In: the original's files, read once as a stream. Out: a folder of arrays beside them, and `Shelves` over it;
the products themselves stay where they are and are read when they are looked at.
"""

import json
import mmap
from array import array
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from molt_envs.families.webshop.catalogue import Shelves, card_of, keywords_of, text_of
from molt_envs.families.webshop.goals import GoalKind, goal_keys, split_goals
from molt_envs.families.webshop.product_files import ProductFiles
from molt_envs.families.webshop.products import Product
from molt_envs.tools.text_index import IndexWriter, open_array, open_index, open_postings

FORMAT = 1
KINDS: tuple[GoalKind, ...] = ("synthetic", "human")
_SPLITS = ("test", "validation", "train")


def index_folder(files: ProductFiles) -> Path:
    """Where the index of these files lies."""
    assert files.paths[0] is not None
    return files.folder / f".molt-index-{files.paths[0].stem}"


def is_current(files: ProductFiles) -> bool:
    """Whether there is an index of the files as they are now."""
    try:
        return json.loads((index_folder(files) / "made_of.json").read_bytes()) == _made_of(files)
    except (OSError, ValueError):
        return False


def write_index(files: ProductFiles, folder: Path, report: Callable[[int], None]) -> None:
    """Read the files once and write everything into an empty folder.

    Args:
        files: to read.
        folder: to write to.
        report: called with the number of bytes read of the products, from time to time.

    Raises:
        DataError: a file is broken or a value is wrong.
    """
    texts, keywords = (IndexWriter(_made(folder / name)) for name in ("texts", "keywords"))
    card_ends, spans = array("q", [0]), array("q")
    keys = {kind: array("Q") for kind in KINDS}
    starts = {kind: array("q", [0]) for kind in KINDS}
    made_of = _made_of(files)
    with (folder / "cards").open("wb") as cards:
        for product, places in files.scan(report):
            card_ends.append(card_ends[-1] + cards.write(card_of(product).encode()))
            spans.extend(places)
            texts.add(text_of(product))
            keywords.add_terms(keywords_of(product))
            for kind in KINDS:
                keys[kind].extend(goal_keys(product, kind))
                starts[kind].append(len(keys[kind]))
    texts.finish()
    keywords.finish()
    np.save(folder / "card_ends.npy", np.array(card_ends))
    np.save(folder / "spans.npy", np.array(spans).reshape(-1, 6))
    for kind in KINDS:
        np.save(folder / f"{kind}.npy", np.array(starts[kind]))
        for name, part in split_goals(np.array(keys.pop(kind))).items():
            np.save(folder / f"{kind}_{name}.npy", part)
    (folder / "made_of.json").write_text(json.dumps(made_of))


def open_index_of(files: ProductFiles, folder: Path) -> Shelves:
    """A folder that `write_index` has filled; raises `DataError` for one that is broken."""
    card_ends, spans = open_array(folder / "card_ends.npy"), open_array(folder / "spans.npy")
    postings = open_postings(folder / "keywords")

    def read(row: int) -> Product:
        start, end, *others = spans[row].tolist()
        return files.read((start, end, *others))

    def rows_of(keyword: str) -> Sequence[int]:
        number = postings.find(keyword)
        return () if number is None else postings.of(number)[0].tolist()

    splits = {
        kind: {name: open_array(path) for name in _SPLITS if (path := folder / f"{kind}_{name}.npy").exists()}
        for kind in KINDS
    }
    return Shelves(
        num_products=len(spans),
        cards=_mapped(folder / "cards"),
        card_ends=card_ends,
        read=read,
        keywords=rows_of,
        index=open_index(folder / "texts"),
        splits=splits,
        goal_starts={kind: open_array(folder / f"{kind}.npy") for kind in KINDS},
    )


def _mapped(path: Path) -> mmap.mmap | bytes:
    if not path.stat().st_size:
        return b""
    with path.open("rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def _made_of(files: ProductFiles) -> dict[str, Any]:
    """What changes when the index has to be made again."""
    stats = [(path.name, path.stat().st_size, path.stat().st_mtime_ns) for path in files.paths if path]
    return {"format": FORMAT, "files": [list(each) for each in stats]}
