"""A shop in an index on disk is the shop in memory, is built once and appears whole."""

from __future__ import annotations

import multiprocessing
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from molt_envs.errors import DataError
from molt_envs.families.webshop import loading
from molt_envs.families.webshop.build import build_index
from molt_envs.families.webshop.catalogue import Catalogue
from molt_envs.families.webshop.disk_index import index_folder, is_current, open_index_of
from molt_envs.families.webshop.env import WebShopEnv
from molt_envs.families.webshop.goals import GoalSet
from molt_envs.families.webshop.language import DATA
from molt_envs.families.webshop.loading import load_catalogue
from molt_envs.families.webshop.oracle import RandomPolicy, instruction_of
from molt_envs.families.webshop.product_files import ProductFiles
from tests.molt_envs.families.webshop.shop_files import products, write_shop


@pytest.fixture(scope="module")
def shipped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The shipped files with an index."""
    folder = tmp_path_factory.mktemp("shipped")
    for name in ("products.json", "attributes.json", "human.json"):
        shutil.copy(DATA / name, folder)
    build_index(ProductFiles(folder))
    return folder


@pytest.fixture(scope="module")
def on_disk(shipped: Path) -> Catalogue:
    files = ProductFiles(shipped)
    return Catalogue(open_index_of(files, index_folder(files)))


def test_its_products_cards_and_lists_are_those_in_memory(on_disk: Catalogue) -> None:
    in_memory = load_catalogue()
    assert on_disk.num_products == in_memory.num_products
    for row in range(in_memory.num_products):
        product = in_memory.product(row)
        assert on_disk.product(row) == product
        assert on_disk.card(row) == in_memory.card(row)
        for query in (f"<a> {product.attributes[0]}", f"<q> {product.query}", f"<c> {product.category}"):
            assert on_disk.find(query) == in_memory.find(query)
    for query in ("<a> nothing like it", "<r>", "<r> other"):
        assert on_disk.find(query) == in_memory.find(query)


def test_its_searches_find_what_those_in_memory_find(on_disk: Catalogue) -> None:
    in_memory, env = load_catalogue(), WebShopEnv()
    for index in range(200):
        query = instruction_of(env.reset(options={"task_id": f"train:{index}"})[0])
        assert on_disk.find(query) == in_memory.find(query)


@pytest.mark.parametrize("kind", ["synthetic", "human"])
def test_its_goals_and_splits_are_those_in_memory(on_disk: Catalogue, kind: str) -> None:
    in_memory = load_catalogue()
    goals = GoalSet(on_disk, kind)  # type: ignore[arg-type]
    same = GoalSet(Catalogue(in_memory.shelves), kind)  # type: ignore[arg-type]
    assert {name: part.tolist() for name, part in goals.splits.items()} == {
        name: part.tolist() for name, part in same.splits.items()
    }
    for number in range(0, len(goals), 37):
        assert goals.get(number) == same.get(number)


def test_its_episodes_are_those_in_memory(shipped: Path, tmp_path: Path) -> None:
    for name in ("products.json", "attributes.json", "human.json"):
        shutil.copy(shipped / name, tmp_path)
    shops = [WebShopEnv(data_dir=shipped), WebShopEnv(data_dir=tmp_path)]
    assert not is_current(ProductFiles(tmp_path))
    for index in range(10):
        views = [env.reset(options={"task_id": f"train:{index}"}) for env in shops]
        policy, ended = RandomPolicy(index), False
        while not ended:
            assert views[0] == views[1]
            action = policy.act(*views[0])
            steps = [env.step(action) for env in shops]
            assert steps[0] == steps[1]
            ended, views = steps[0][2] or steps[0][3], [(step[0], step[4]) for step in steps]


def test_a_large_file_is_indexed_without_being_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(loading, "NUM_LARGE_BYTES", 100)
    catalogue = load_catalogue(write_shop(tmp_path))
    assert is_current(ProductFiles(tmp_path))
    assert catalogue.find("lamp") == (3,)
    assert "is large: it is read into an index, once" in capsys.readouterr().err.replace("\n", " ")


def test_files_that_changed_are_indexed_again(tmp_path: Path) -> None:
    files = ProductFiles(write_shop(tmp_path))
    build_index(files)
    records = products()
    records[3]["name"] = "Iron Lantern"
    write_shop(tmp_path, products=records)
    assert not is_current(files)
    build_index(files)
    assert is_current(files)
    assert Catalogue(open_index_of(files, index_folder(files))).find("lantern") == (3,)


def test_a_build_that_fails_leaves_nothing_behind(tmp_path: Path) -> None:
    records = products()
    records[2]["pricing"] = "cheap"
    files = ProductFiles(write_shop(tmp_path, products=records))
    with pytest.raises(DataError, match=r"record 2.*pricing"):
        build_index(files)
    assert [path.suffix for path in tmp_path.glob(".molt-index*")] == [".lock"]


def test_a_failed_build_keeps_the_index_before_it(tmp_path: Path) -> None:
    files = ProductFiles(write_shop(tmp_path))
    build_index(files)
    before = sorted(path.name for path in index_folder(files).rglob("*"))
    records = products()
    records[2]["pricing"] = "cheap"
    write_shop(tmp_path, products=records)
    with pytest.raises(DataError):
        build_index(files)
    assert sorted(path.name for path in index_folder(files).rglob("*")) == before


def _built_at(folder: Path) -> int:
    files = ProductFiles(folder)
    build_index(files)
    return (index_folder(files) / "made_of.json").stat().st_ino


def test_of_processes_that_start_at_once_one_builds(tmp_path: Path) -> None:
    write_shop(tmp_path)
    with multiprocessing.get_context("spawn").Pool(3) as pool:
        found = pool.map_async(_built_at, [tmp_path] * 3, chunksize=1).get(timeout=60)
    assert len(set(found)) == 1


def test_the_command_builds_and_says_where(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "molt_envs.families.webshop.build"]
    done = subprocess.run([*command, str(write_shop(tmp_path))], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{index_folder(ProductFiles(tmp_path))} is ready\n"
    failed = subprocess.run([*command, str(tmp_path / "no")], capture_output=True, text=True, timeout=60)
    assert (failed.returncode, failed.stderr.startswith("no products file in")) == (1, True)


def test_a_folder_that_cannot_be_written_to_is_explained(tmp_path: Path) -> None:
    files = ProductFiles(write_shop(tmp_path))
    index_folder(files).with_suffix(".lock").mkdir()
    with pytest.raises(DataError, match="that you may write to"):
        build_index(files)
