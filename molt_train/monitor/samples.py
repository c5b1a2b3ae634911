"""Sample episodes kept for people: the whole record, and the text of every token.

In: episodes and a tokenizer's decoder. Out: `episodes/step-00000010-rl.jsonl`, and back; no
tokenizer is needed to read it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from molt_envs import Episode, episode_from_json, episode_to_json

Decode = Callable[[Sequence[int]], str]
"""Token ids to text, control tokens included."""

FOLDER = "episodes"
_CONTEXT = 8
_HALF_CHARACTER = "\ufffd"


@dataclass(frozen=True)
class Sample:
    """An episode that can be shown."""

    step: int
    """Training steps done when it was played."""
    label: str
    """What was judged, as in the evaluation's row."""
    episode: Episode
    """The record."""
    pieces: tuple[tuple[str, ...], ...]
    """Text of every token, by segment; their concatenation is the segment's text."""


def token_pieces(token_ids: Sequence[int], decode: Decode) -> tuple[str, ...]:
    """The text that each token adds to what stands before it.

    A token that ends within a character adds nothing; the one that completes it adds the character.
    """
    pieces: list[str] = []
    begin, shown = 0, 0
    for index in range(len(token_ids)):
        before = decode(token_ids[begin:shown]) if shown > begin else ""
        now = decode(token_ids[begin : index + 1])
        is_last = index + 1 == len(token_ids)
        if now.endswith(_HALF_CHARACTER) and not is_last and index - shown < 4:
            pieces.append("")
            continue
        pieces.append(now[len(before) :])
        shown = index + 1
        begin = max(begin, shown - _CONTEXT)
    return tuple(pieces)


def make_sample(step: int, label: str, episode: Episode, decode: Decode) -> Sample:
    """A sample of an episode; `decode` turns ids into text."""
    pieces = tuple(token_pieces(segment.token_ids.tolist(), decode) for segment in episode.segments)
    return Sample(step, label, episode, pieces)


def write_samples(run_dir: Path, samples: Sequence[Sample]) -> Path | None:
    """Write the samples of one evaluation (one step, one label); the file appears when it is complete."""
    if not samples:
        return None
    folder = run_dir / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"step-{samples[0].step:08d}-{samples[0].label}.jsonl"
    rows = [
        {
            "step": sample.step,
            "label": sample.label,
            "episode": json.loads(episode_to_json(sample.episode)),
            "pieces": sample.pieces,
        }
        for sample in samples
    ]
    temporary = path.with_name(path.name + ".tmp")
    temporary.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    os.replace(temporary, path)
    return path


def read_samples(path: Path) -> list[Sample]:
    """The samples in a file. Raises `ValueError` naming file and line."""
    samples: list[Sample] = []
    with path.open(encoding="utf-8") as file:
        for number, line in enumerate(file, start=1):
            try:
                row = json.loads(line)
                episode = episode_from_json(json.dumps(row["episode"]))
                pieces = tuple(tuple(map(str, segment)) for segment in row["pieces"])
                samples.append(Sample(int(row["step"]), str(row["label"]), episode, pieces))
            except (ValueError, KeyError, TypeError) as error:
                raise ValueError(f"{path}, line {number} is no sample episode: {error}") from error
    return samples


def sample_files(run_dir: Path) -> list[Path]:
    """The run's files of sample episodes, oldest step first."""
    return sorted((run_dir / FOLDER).glob("step-*.jsonl"))
