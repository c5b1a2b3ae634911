"""Builds the index of a large set: `python -m molt_envs.families.webshop.build DATA_DIR [PRODUCTS_FILE]`.

In: a folder with the original's files. Out: a hidden folder beside them that appears when it is complete. Of
processes that start at once, one builds and the others wait for it.
"""

import argparse
import fcntl
import tempfile
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

from molt_envs.errors import DataError
from molt_envs.families.webshop.disk_index import index_folder, is_current, write_index
from molt_envs.families.webshop.product_files import ProductFiles

WAIT_TIMEOUT_S = 4 * 3600.0


def main() -> None:
    """Build, unless a current index is there."""
    parser = argparse.ArgumentParser(
        prog="molt_envs.families.webshop.build", description="Index a WebShop set."
    )
    parser.add_argument("data_dir", type=Path, help="folder with the original's files")
    parser.add_argument("products_file", nargs="?", help="name of the products file, if not a usual one")
    arguments = parser.parse_args()
    try:
        files = ProductFiles(arguments.data_dir, arguments.products_file)
        build_index(files)
    except DataError as error:
        parser.exit(1, f"{error}\n")
    print(f"{index_folder(files)} is ready")


def build_index(files: ProductFiles) -> None:
    """Make the index of these files, with a progress bar, unless another process has just made it.

    Raises:
        DataError: a file is broken, the folder cannot be written to, or another process builds for too long.
    """
    folder = index_folder(files)
    try:
        with _lock(folder.with_suffix(".lock")):
            if not is_current(files):
                _build(files, folder)
    except OSError as error:
        raise DataError(
            f"the index {folder} cannot be written: {error}; make room, or put the files (or links to them) "
            "into a folder that you may write to and name that as data_dir"
        ) from error


def _build(files: ProductFiles, folder: Path) -> None:
    """Into a temporary folder, which then takes the place of the one before."""
    with tempfile.TemporaryDirectory(prefix=f"{folder.name}-", dir=folder.parent) as temporary:
        new = Path(temporary) / "new"
        new.mkdir()
        with _progress(files) as report:
            write_index(files, new, report)
        if folder.exists():
            folder.rename(Path(temporary) / "old")
        new.rename(folder)


@contextmanager
def _lock(path: Path) -> Generator[None]:
    """Only one process at a time; the kernel gives the lock back when a process dies."""
    end = time.monotonic() + WAIT_TIMEOUT_S
    with path.open("w") as file:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > end:
                    raise DataError(
                        f"another process has held {path} for {WAIT_TIMEOUT_S:.0f} s to build an index; "
                        "end it, then start again"
                    ) from None
                time.sleep(0.2)
        yield


@contextmanager
def _progress(files: ProductFiles) -> Generator[Callable[[int], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    console = Console(stderr=True)
    console.print(f"{files.paths[0]} is large: it is read into an index, once; later starts open that.")
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("indexing", total=files.num_product_bytes)
        yield lambda num_bytes: progress.update(task, completed=num_bytes)


if __name__ == "__main__":
    main()
