"""Sample episodes: texts of tokens, files, the inspector."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from molt_envs import episode_to_json, write_episodes
from molt_train.monitor.inspector import load_samples, print_samples, token_style
from molt_train.monitor.samples import make_sample, read_samples, token_pieces, write_samples
from molt_train.monitor.token_runs import Token, token_runs
from tests.molt_train.monitor.example_run import PROMPT, TURNS, decode, example_episode, write_example_run


@pytest.mark.parametrize("text", ["plain", "ä€😀 mixed", "", "😀"])
def test_pieces_join_to_the_text_whatever_the_tokens_cut(text: str) -> None:
    ids = list(text.encode())
    pieces = token_pieces(ids, decode)
    assert len(pieces) == len(ids) and "".join(pieces) == text


def test_bytes_that_are_no_text_do_not_hold_up_the_rest() -> None:
    pieces = token_pieces([0xFF, 0xFE, 0xFF, 0xFE, 0xFF, 0xFE, *b"after"], decode)
    assert "".join(pieces).endswith("after")


def test_pieces_take_little_text_at_a_time() -> None:
    longest = 0

    def counting(ids: object) -> str:
        nonlocal longest
        assert isinstance(ids, list)
        longest = max(longest, len(ids))
        return decode(ids)

    token_pieces(list(b"x" * 1000), counting)
    assert longest < 20


def test_samples_come_back_from_their_file(tmp_path: Path) -> None:
    sample = make_sample(3, "rl", example_episode(), decode)
    path = write_samples(tmp_path, [sample])
    assert path is not None and path.name == "step-00000003-rl.jsonl"
    (loaded,) = read_samples(path)
    assert episode_to_json(loaded.episode) == episode_to_json(sample.episode)
    assert (loaded.step, loaded.label, loaded.pieces) == (3, "rl", sample.pieces)


def test_a_broken_file_names_its_line(tmp_path: Path) -> None:
    path = write_samples(tmp_path, [make_sample(3, "rl", example_episode(), decode)])
    assert path is not None
    path.write_text(path.read_text() + '{"step": 1}\n')
    with pytest.raises(ValueError, match="line 2 is no sample"):
        read_samples(path)


def test_runs_hold_every_token_once_with_the_turns_reward() -> None:
    sample = make_sample(0, "rl", example_episode(), decode)
    runs = token_runs(sample.episode.segments[0], sample.pieces[0])
    assert [(run.text, run.is_action, run.reward) for run in runs] == [
        (PROMPT, False, None),
        (TURNS[0][0], True, TURNS[0][2]),
        (TURNS[0][1], False, None),
        (TURNS[1][0], True, TURNS[1][2]),
        (TURNS[1][1], False, None),
    ]
    assert all((token.logprob is not None) == run.is_action for run in runs for token in run.tokens)


def test_texts_of_another_episode_are_refused() -> None:
    with pytest.raises(ValueError, match="does not belong"):
        token_runs(example_episode().segments[0], ["a"])


@pytest.mark.parametrize(
    ("logprob", "trained", "style"),
    [
        (None, False, "dim"),
        (-0.01, True, "green"),
        (-0.5, True, "yellow"),
        (-5.0, True, "red"),
        (-5.0, False, "red strike"),
    ],
)
def test_colours(logprob: float | None, trained: bool, style: str) -> None:
    assert token_style(Token(1, "a", logprob, 0, trained)) == style


def shown(path: Path, index: int | None, as_table: bool = False) -> str:
    console = Console(file=io.StringIO(), width=200, color_system=None)
    print_samples(console, load_samples(path), index, as_table)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_the_inspector_lists_the_newest_samples_of_a_run(tmp_path: Path) -> None:
    text = shown(write_example_run(tmp_path / "run", num_steps=3), None)
    assert "test:7" in text and "test:8" in text and "terminated" in text


def test_the_inspector_shows_an_episode(tmp_path: Path) -> None:
    run = write_example_run(tmp_path / "run", num_steps=1)
    text = shown(run, 0)
    assert PROMPT + TURNS[0][0] + " [reward 0]" in text and "[reward 0.8]" in text
    table = shown(run, 0, as_table=True)
    assert "logprob" in table and "'s'" in table


def test_the_inspector_reads_bare_episodes_and_shows_ids(tmp_path: Path) -> None:
    path = tmp_path / "episodes.msgpack"
    write_episodes(path, [example_episode()])
    assert "⟨115⟩⟨121⟩" in shown(path, 0)


def test_the_inspector_explains_what_is_wrong(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no run folder and no file"):
        load_samples(tmp_path / "absent")
    with pytest.raises(ValueError, match=r"run\.num_samples"):
        load_samples(tmp_path)
    run = write_example_run(tmp_path / "run", num_steps=1)
    with pytest.raises(ValueError, match="there are 2"):
        shown(run, 9)
