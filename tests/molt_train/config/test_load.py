"""Recipes, overrides and what is said about wrong ones."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from molt_train.config import Config, ConfigError, config_to_toml, load_config, parse_config, recipe_names


def test_every_recipe_in_the_package_is_valid() -> None:
    assert "webshop" in recipe_names()
    for name in recipe_names():
        assert isinstance(load_config(name), Config)


def test_overrides_are_toml_values_and_apply_in_order() -> None:
    config = load_config(
        "webshop",
        [
            "rollout.group_size=4",
            "rollout.group_size=6",
            "optimizer.betas=[0.8, 0.9]",
            "train.seed=3",
        ],
    )
    assert (config.rollout.group_size, config.optimizer.betas) == (6, (0.8, 0.9))
    assert config.train.seed == 3


def test_an_override_that_is_not_toml_is_a_string() -> None:
    assert load_config("webshop", ["model.path=SmolLM2-135M-Instruct"]).model.path == "SmolLM2-135M-Instruct"


def test_an_override_cannot_smuggle_in_a_second_key() -> None:
    config = load_config("webshop", ['model.path="a"\n[train]\nseed = 5'])
    assert config.train.seed == 0


def test_keyword_arguments_of_the_environment_take_dotted_overrides() -> None:
    assert load_config("webshop", ["env.kwargs.max_turns=7"]).env.kwargs["max_turns"] == 7


def test_off_is_none() -> None:
    assert load_config("webshop", ["optimizer.clip_norm=off"]).optimizer.clip_norm is None


def test_the_printed_configuration_reads_back_equal() -> None:
    config = load_config(
        "webshop", ['env.kwargs={"data dir" = "a\\"b", n = [1, 2.5]}', "algorithm.dual_clip=3"]
    )
    for comments in (True, False):
        assert parse_config(tomllib.loads(config_to_toml(config, comments))) == config


def test_a_value_without_a_toml_form_is_named() -> None:
    with pytest.raises(ConfigError, match="must be a plain value"):
        config_to_toml(load_config("webshop", ["env.kwargs.day=2020-01-01"]))


def test_a_path_is_read_as_a_file(tmp_path: Path) -> None:
    recipe = tmp_path / "mine.toml"
    recipe.write_text('[model]\npath = "m"\n[env]\nid = "molt/WebShop-v0"\n')
    assert load_config(recipe).model.path == "m"
    assert load_config(str(recipe)).model.path == "m"


def test_the_configuration_is_frozen() -> None:
    with pytest.raises(ValueError, match="frozen"):
        load_config("webshop").train.seed = 1


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("rollout.grop_size=3", "unknown key rollout.grop_size; did you mean 'rollout.group_size'"),
        ("rolout.group_size=3", "unknown section 'rolout'; did you mean 'rollout'"),
        ("train.lr=0.1", "unknown key train.lr; did you mean 'optimizer.lr'"),
        ("algorithm.advantage=grp", "algorithm.advantage = 'grp'.*did you mean 'grpo'"),
        ("rollout.group_size=0", "rollout.group_size = 0: .*≥ 1, ≤ 4096"),
        ("optimizer.lr=nan", "optimizer.lr = nan"),
        ("optimizer.lr=-1", "optimizer.lr = -1: .*≥ 0, ≤ 10"),
        ("train.seed=true", "train.seed = True: .*integer"),
        ("rollout.group_size=8.5", "rollout.group_size = 8.5: .*integer"),
        ("rollout.reward=mine", "rollout.reward = 'mine'.*module:function"),
        ("rollout.reward=a..b:c", "module:function"),
        ("eval.splits=[]", "eval.splits"),
        ("env.kwargs=3", "env.kwargs = 3 is a value"),
        ("train.micro_batch_tokens=9", "train.micro_batch_tokens=1024 or more"),
        ("rollout.max_turn_tokens=2048", "no room for a prompt"),
        ("rollout.group_size=1", "no baseline"),
        ("train.num_minibatches=1000", "a step has 64 episodes"),
        ("algorithm.dynamic_low=1.0", "no group could be kept"),
        ("group_size=8", "section.key=value"),
        ("rollout.group_size", "section.key=value"),
        ("rollout.group_size.x=1", "group_size is a value|valid integer"),
    ],
)
def test_a_wrong_override_is_explained(override: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        load_config("webshop", [override])


def test_all_problems_are_listed_at_once() -> None:
    with pytest.raises(ConfigError) as caught:
        load_config("webshop", ["rollout.group_size=0", "train.nonsense=1"])
    assert "rollout.group_size" in str(caught.value) and "train.nonsense" in str(caught.value)


def test_a_missing_section_is_named() -> None:
    with pytest.raises(ConfigError, match="env is missing"):
        parse_config({"model": {"path": "m"}})


def test_a_missing_key_is_named_with_its_meaning() -> None:
    with pytest.raises(ConfigError, match=r"model\.path is missing \(Folder"):
        parse_config({"model": {}, "env": {"id": "molt/WebShop-v0"}})


def test_an_unknown_recipe_gets_a_suggestion() -> None:
    with pytest.raises(ConfigError, match="did you mean 'webshop'"):
        load_config("webshp")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"no recipe file .*none\.toml"):
        load_config(tmp_path / "none.toml")


def test_broken_toml_names_the_file_and_line(tmp_path: Path) -> None:
    recipe = tmp_path / "broken.toml"
    recipe.write_text("[model]\npath = \n")
    with pytest.raises(ConfigError, match=r"broken\.toml is not valid TOML.*line 2"):
        load_config(recipe)


def test_a_file_that_is_not_text_is_named(tmp_path: Path) -> None:
    recipe = tmp_path / "binary.toml"
    recipe.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match="is not UTF-8"):
        load_config(recipe)
