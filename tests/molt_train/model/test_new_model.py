"""New models: the same spec gives the same bytes; the tokenizer loses nothing and lets words be copied."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import gymnasium
import pytest
import torch

from molt_envs import Message, TokenEnv
from molt_train.model.load import load_model
from molt_train.model.new_model import NewModelSpec, new_model
from molt_train.model.tokenizer import train_tokenizer
from molt_train.rollout.chat_renderer import ChatRenderer

ENV_ID = "molt/WebShop-v0"
SPEC = NewModelSpec((ENV_ID,), hidden_size=32, vocab_size=1024, num_episodes=20)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new model, made once."""
    return new_model(SPEC, tmp_path_factory.mktemp("models") / "model")


def played(renderer: ChatRenderer, seed: int) -> Iterator[tuple[str, str]]:
    """Observation and oracle's action of each turn of a held-out episode."""
    env = TokenEnv(gymnasium.make(ENV_ID, disable_env_checker=True), renderer)
    _, info = env.reset(seed=seed, options={"split": "test"})
    policy, done = env.env.unwrapped.oracle(seed=seed), False
    while not done:
        observation = env.messages[-1].text
        action = policy.act(observation, info)
        yield observation, action
        step = env.step(renderer.write(Message("assistant", action)))
        done, info = step.terminated or step.truncated, step.info
    env.close()


def test_the_same_spec_gives_the_same_bytes(folder, tmp_path):
    again = new_model(SPEC, tmp_path / "again")
    names = sorted(path.name for path in folder.iterdir())
    assert names == sorted(path.name for path in again.iterdir()) and "chat_template.jinja" in names
    assert all((folder / name).read_bytes() == (again / name).read_bytes() for name in names)


def test_another_seed_gives_other_weights(folder, tmp_path):
    other, _ = load_model(str(new_model(NewModelSpec((ENV_ID,), 32, vocab_size=1024, num_episodes=20, seed=1),
                                        tmp_path / "other")))  # fmt: skip
    model, _ = load_model(str(folder))
    name = "model.layers.0.mlp.up_proj.weight"
    assert not torch.equal(model.get_parameter(name), other.get_parameter(name))


def test_sizes_are_those_of_the_spec(folder):
    model, tokenizer = load_model(str(folder))
    config = model.config
    assert (config.model_type, config.hidden_size, config.num_hidden_layers) == ("qwen3", 32, 2)
    assert config.tie_word_embeddings and config.vocab_size == len(tokenizer) <= 1024
    assert tokenizer.eos_token_id == config.eos_token_id


def test_any_text_comes_back():
    tokenizer = train_tokenizer(["a few words", "a few [SEP] more"], 512)
    choices = random.Random(0)
    ranges = [(1, 127), (1, 127), (128, 0xD7FF), (0x1F300, 0x1F700)]
    for _ in range(500):
        span = [choices.choice(ranges) for _ in range(choices.randrange(30))]
        text = "".join(chr(choices.randrange(*bounds)) for bounds in span)
        assert tokenizer.decode(tokenizer(text)["input_ids"]) == text


def test_what_is_clicked_has_the_ids_that_it_has_on_the_page(folder):
    _, tokenizer = load_model(str(folder))
    num_clicks = 0
    for seed in range(5):
        for observation, action in played(ChatRenderer(tokenizer), seed):
            if not action.startswith("click["):
                continue
            opening, *copied, closing = tokenizer(action)["input_ids"]
            page = tokenizer(observation)["input_ids"]
            assert (tokenizer.decode([opening]), tokenizer.decode([closing])) == ("click[", "]")
            assert any(page[at : at + len(copied)] == copied for at in range(len(page))), action
            num_clicks += 1
    assert num_clicks >= 10


def test_the_new_template_is_known_with_and_without_tools(folder):
    _, tokenizer = load_model(str(folder))
    assert ChatRenderer(tokenizer, observation_role="tool").tool_format == "json"


def test_a_folder_that_exists_is_left_alone(folder):
    before = (folder / "config.json").read_bytes()
    with pytest.raises(ValueError, match="exists; choose another folder"):
        new_model(SPEC, folder)
    assert (folder / "config.json").read_bytes() == before


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (NewModelSpec(("CartPole-v1",)), "no environment of text tasks"),
        (NewModelSpec(("molt/WebShap-v0",)), "WebShap-v0 cannot be made"),
        (NewModelSpec((ENV_ID,), vocab_size=100, num_episodes=1), "at least 512"),
    ],
)
def test_a_model_that_cannot_be_made_leaves_nothing(spec, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        new_model(spec, tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({"env_ids": ()}, "env_ids is empty"),
        ({"num_heads": 3, "num_kv_heads": 2}, "no multiple of num_kv_heads"),
        ({"num_layers": 0}, "num_layers is 0"),
        ({"head_dim": 33}, "head_dim is 33"),
    ],
)
def test_sizes_that_do_not_fit_are_refused(sizes, message):
    with pytest.raises(ValueError, match=message):
        NewModelSpec(**{"env_ids": (ENV_ID,), **sizes})


def test_making_a_model_does_not_touch_the_random_state(tmp_path):
    torch.manual_seed(3)
    expected = torch.rand(1)
    torch.manual_seed(3)
    new_model(NewModelSpec((ENV_ID,), 32, vocab_size=512, num_episodes=1), tmp_path / "model")
    assert torch.equal(torch.rand(1), expected)


@pytest.mark.parametrize(("architecture", "kind"), [("qwen3_moe", "Qwen3Moe"), ("deepseek_v3", "DeepseekV3")])
def test_architectures_with_experts_are_made_and_loaded(architecture, kind, tmp_path):
    spec = NewModelSpec(
        (ENV_ID,), 32, vocab_size=512, num_episodes=1, architecture=architecture, num_experts=4
    )
    model, _ = load_model(str(new_model(spec, tmp_path / "model")))
    assert type(model).__name__ == f"{kind}ForCausalLM"
    with pytest.raises(ValueError, match="is none of qwen3, qwen3_moe, deepseek_v3"):
        NewModelSpec((ENV_ID,), architecture="llama")
