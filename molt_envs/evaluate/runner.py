"""Plays many episodes at once, and goes on where an earlier start stopped.

In: environments, a policy source, settings, a folder. Out: `episodes.jsonl` in it, one line per episode.
Every worker is a thread that builds, steps and closes its own environments; an episode that outlasts its
time is unresolved, and its thread is left behind. Environments that are not `bounded` run in processes.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import gymnasium

from molt_envs.evaluate.player import Job, play_episode
from molt_envs.evaluate.policy import Limits, PolicySource
from molt_envs.evaluate.record import EpisodeRecord, RecordFile, read_records
from molt_envs.evaluate.workers import play_all

EPISODES, SETTINGS = "episodes.jsonl", "settings.json"


@dataclass(frozen=True)
class Settings:
    """What decides the results; a folder holds the results of one."""

    policy: str
    """As it was asked for."""
    env_ids: tuple[str, ...]
    """Which environments."""
    split: str
    """Which split."""
    num_episodes: int
    """Tasks of each environment, the first of the split; fewer where the split is smaller."""
    num_samples: int
    """Episodes of each task."""
    seed: int
    """Every episode's own seed follows from it."""
    temperature: float
    """For models."""
    max_tokens: int
    """Most tokens of a model's turn."""


OnEpisode = Callable[[EpisodeRecord], None]


def plan(settings: Settings, num_tasks: dict[str, int]) -> list[Job]:
    """All episodes. `num_tasks` has the size of the split in each environment."""
    return [
        Job(env_id, f"{settings.split}:{index}", sample, _seed(settings.seed, env_id, index, sample))
        for env_id in settings.env_ids
        for index in range(min(settings.num_episodes, num_tasks[env_id]))
        for sample in range(settings.num_samples)
    ]


def open_folder(folder: Path, settings: Settings) -> dict[str, EpisodeRecord]:
    """Make the folder, or look into it; gives the resolved episodes that it has, by id.

    Raises:
        ValueError: the folder holds the results of other settings; the message says which differ.
    """
    folder.mkdir(parents=True, exist_ok=True)
    wanted = json.loads(json.dumps(asdict(settings)))
    path = folder / SETTINGS
    if path.exists():
        known = json.loads(path.read_text(encoding="utf-8"))
        changed = [
            f"{key} was {known.get(key)!r}, now {wanted[key]!r}"
            for key in wanted
            if known.get(key) != wanted[key]
        ]
        if changed:
            raise ValueError(
                f"{folder} holds an evaluation with other settings: {'; '.join(changed)}; "
                "go on with the settings it has, or name another folder with --out"
            )
    else:
        partial = path.with_name(f".{SETTINGS}.{os.getpid()}.part")
        partial.write_text(json.dumps(wanted, indent=2) + "\n", encoding="utf-8")
        partial.replace(path)
    if not (folder / EPISODES).exists():
        return {}
    return {record.episode_id: record for record in latest(folder) if record.outcome != "unresolved"}


def latest(folder: Path) -> list[EpisodeRecord]:
    """The folder's episodes, the last try of each, in order of environment, task and sample."""
    found = {record.episode_id: record for record in read_records(folder / EPISODES)}
    return sorted(found.values(), key=_order)


def run(
    jobs: Sequence[Job],
    source: PolicySource,
    settings: Settings,
    folder: Path,
    num_workers: int,
    timeout_s: float,
    on_episode: OnEpisode,
) -> None:
    """Play the jobs and append each episode to the folder's file as it ends.

    Args:
        jobs: those that are still to be played.
        source: gives the policies.
        settings: see `Settings`.
        folder: as `open_folder` left it.
        num_workers: episodes that run at once.
        timeout_s: longest time of one episode, its environment's making included.
        on_episode: called after each one.
    """
    limits = Limits(settings.temperature, settings.max_tokens)

    def play(env: gymnasium.Env[str, str], job: Job) -> EpisodeRecord:
        return play_episode(env, source, job, limits, settings.policy)

    with RecordFile(folder / EPISODES) as file:
        for job, record in play_all(jobs, play, num_workers, timeout_s):
            if isinstance(record, str):
                record = _unresolved(job, settings.policy, record)
            file.append(record)
            on_episode(record)


def _unresolved(job: Job, policy: str, reason: str) -> EpisodeRecord:
    return EpisodeRecord(
        job.episode_id,
        job.env_id,
        job.task_id,
        job.sample,
        job.seed,
        policy,
        "unresolved",
        None,
        None,
        reason,
        "",
        "",
        (),
    )


def _seed(*parts: int | str) -> int:
    """A 31-bit seed from its parts; equal in every process."""
    return int.from_bytes(hashlib.blake2b(repr(parts).encode(), digest_size=4).digest(), "little") >> 1


def _order(record: EpisodeRecord) -> tuple[str, str, int, int]:
    split, _, index = record.task_id.partition(":")
    return record.env_id, split, int(index), record.sample
