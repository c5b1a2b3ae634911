"""The catalogue of a folder: small ones are read into memory, large ones into an index that is built once.

In: a folder of files in WebShop's own format. Out: a `Catalogue`, one per process.
"""

from functools import lru_cache
from pathlib import Path

from molt_envs.families.webshop.build import build_index
from molt_envs.families.webshop.catalogue import Catalogue, in_memory
from molt_envs.families.webshop.disk_index import index_folder, is_current, open_index_of
from molt_envs.families.webshop.language import DATA
from molt_envs.families.webshop.product_files import ProductFiles

NUM_LARGE_BYTES = 64 * 2**20


def load_catalogue(data_dir: str | Path | None = None, products_file: str | None = None) -> Catalogue:
    """The catalogue of a folder, read once per process.

    A products file of more than 64 MB is read into an index beside it, with a progress bar, if that has not
    been done yet; see `build`. An index that is there is used in any case.

    Args:
        data_dir: a folder with the original's files; None for the package's own.
        products_file: name of the products file in it, if not a usual one.

    Raises:
        DataError: a file is missing or wrong; the message names file, record and field.
    """
    return _load(DATA if data_dir is None else Path(data_dir), products_file)


@lru_cache(maxsize=4)
def _load(folder: Path, products_file: str | None) -> Catalogue:
    files = ProductFiles(folder, products_file)
    if not is_current(files):
        if files.num_product_bytes <= NUM_LARGE_BYTES:
            return Catalogue(in_memory(product for product, _ in files.scan()), folder == DATA)
        build_index(files)
    return Catalogue(open_index_of(files, index_folder(files)))
