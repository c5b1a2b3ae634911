"""Every number that a run records: name, unit, meaning, and which file it belongs to.

In: nothing. Out: the table `METRICS`. Writing a name that is not in it is an error, so docs/monitoring.md
stays true.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, get_args

from molt_envs.protocol.episode import Outcome

Stream = Literal["metrics", "timing", "eval"]


@dataclass(frozen=True)
class Metric:
    """One recorded number."""

    name: str
    """Key in the file."""
    unit: str
    """Unit, `1` for shares and pure numbers."""
    meaning: str
    """What it says, in one line."""
    stream: Stream
    """`metrics` holds no clock values; `timing` holds nothing else; `eval` is written once per evaluation."""


OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
_OUTCOMES: dict[Outcome, str] = {
    "terminated": "came to their own end",
    "truncated": "were cut by the limit on turns",
    "length": "were cut by the limit on tokens",
    "failed": "ended with an error that the policy caused; trained on",
    "unresolved": "ended with an error of ours; never trained on",
}


def _metrics(stream: Stream, rows: Iterable[tuple[str, str, str]]) -> list[Metric]:
    return [Metric(name, unit, meaning, stream) for name, unit, meaning in rows]


_ROLLOUT = _metrics(
    "metrics",
    [
        ("num_episodes", "episodes", "sampled in this step"),
        ("num_excluded", "episodes", "not trained on: unresolved, unscored or without an action token"),
        *((f"num_{name}", "episodes", f"that {meaning}") for name, meaning in _OUTCOMES.items()),
        ("num_groups_dropped", "groups", "left out by dynamic sampling"),
        ("reward_mean", "reward", "mean reward of the scored episodes, after shaping"),
        ("reward_std", "reward", "population standard deviation of the same"),
        ("score_mean", "score", "mean of the environment's own score"),
        ("success_rate", "1", "share of the resolved episodes that solved their task"),
        ("turns_mean", "turns", "mean turns of an episode"),
        ("episode_tokens_mean", "tokens", "mean tokens of an episode, prompts and observations included"),
        ("action_tokens_mean", "tokens", "mean sampled tokens of an episode"),
        ("num_retried", "episodes", "played again because they were unresolved"),
        ("num_action_tokens", "tokens", "sampled in this step"),
        (
            "zero_advantage_group_share",
            "1",
            "share of groups with all rewards equal: no gradient from them",
        ),
        ("policy_version", "version", "of the weights that sampled, the newest of the batch"),
        (
            "staleness",
            "versions",
            "mean distance of the tokens' versions to the weights being trained",
        ),
        ("staleness_max", "versions", "greatest of the same; bounded by `rollout.mode`"),
    ],
)
_UPDATE = _metrics(
    "metrics",
    [
        ("loss", "1", "whole objective, mean over the step's optimizer steps"),
        ("policy_loss", "1", "clipped policy loss alone"),
        ("kl", "nat", "estimated divergence to the reference model, mean per action token"),
        ("entropy", "nat", "mean entropy of the policy at action tokens"),
        ("clip_share", "1", "share of action tokens whose ratio was clipped"),
        ("ratio_max", "1", "greatest probability ratio"),
        ("approx_kl", "nat", "k3 of the step's own change of the policy, mean per action token"),
        ("grad_norm", "1", "norm of the gradient before clipping, mean over optimizer steps"),
        ("lr", "1", "learning rate of the last optimizer step"),
        ("num_optimizer_steps", "steps", "optimizer steps since the start of the run"),
        ("num_skipped_updates", "steps", "optimizer steps left out because the gradient was not finite"),
        ("num_masked_tokens", "tokens", "left out of the loss as too old (`algorithm.mask_older_than`)"),
        ("num_trained_tokens", "tokens", "action tokens that entered the loss"),
        (
            "logprob_gap_mean",
            "nat",
            "mean |trainer's − rollout's logprob| of action tokens, before the update",
        ),
        ("logprob_gap_max", "nat", "greatest of the same"),
        ("correction_weight_mean", "1", "mean weight of the rollout correction"),
    ],
)
_SFT = _metrics(
    "metrics",
    [
        ("sft_loss", "nat", "mean cross-entropy per action token of the demonstrations"),
        ("sft_epoch", "epochs", "passes over the demonstrations, with a fraction"),
    ],
)
_EVAL = _metrics(
    "eval",
    [
        ("eval_success_rate", "1", "share of the resolved episodes that solved their task"),
        ("eval_success_low", "1", "lower end of its 95 % interval"),
        ("eval_success_high", "1", "upper end of its 95 % interval"),
        (
            "eval_score_mean",
            "score",
            "mean of the environment's own score, unresolved episodes left out",
        ),
        ("eval_reward_mean", "reward", "mean sum of the environment's rewards"),
        ("eval_num_episodes", "episodes", "asked for"),
        ("eval_num_success", "episodes", "that solved their task"),
        ("eval_num_resolved", "episodes", "that count: all but the unresolved"),
        *(
            (f"eval_num_{name}", "episodes", f"that {meaning.split(';')[0]}")
            for name, meaning in _OUTCOMES.items()
        ),
        ("eval_turns_mean", "turns", "mean turns of an episode"),
        ("eval_action_tokens_mean", "tokens", "mean sampled tokens of an episode"),
    ],
)
_TIMING = _metrics(
    "timing",
    [
        ("elapsed_s", "s", "since the process began this run"),
        ("step_s", "s", "the whole step"),
        ("rollout_s", "s", "in which episodes ran, beside the update or not"),
        ("update_s", "s", "advantages, packing, forward and backward passes, optimizer"),
        ("tokens_per_s", "tokens/s", "trained tokens, prompts included, per second of the step"),
        ("rollout_tokens_per_s", "tokens/s", "sampled tokens per second of the rollout"),
        ("episodes_per_s", "episodes/s", "per second of the step"),
        ("learner_waits_share", "1", "share of the step in which the learner waited for episodes"),
        ("engine_waits_learner_share", "1", "share of the step in which no episode ran"),
        ("engine_waits_env_share", "1", "share in which episodes ran and all were in their environments"),
        ("episode_env_share", "1", "share of the episodes' time that was not the engine's"),
        ("memory_peak_bytes", "bytes", "greatest resident memory of the process so far"),
    ],
)

METRICS: dict[str, Metric] = {m.name: m for m in (*_ROLLOUT, *_UPDATE, *_SFT, *_EVAL, *_TIMING)}
"""All metrics by name, in the order of the documentation."""


def metrics_markdown() -> str:
    """The tables of docs/monitoring.md, one per stream."""
    titles: dict[Stream, str] = {
        "metrics": "`metrics.jsonl`: no clock values",
        "timing": "`timing.jsonl`: clock values",
        "eval": "`evals.jsonl`: one line per evaluation",
    }
    lines: list[str] = []
    for stream, title in titles.items():
        lines += [f"### {title}", "", "| name | unit | meaning |", "|---|---|---|"]
        lines += [f"| `{m.name}` | {m.unit} | {m.meaning} |" for m in METRICS.values() if m.stream == stream]
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


if __name__ == "__main__":
    print(metrics_markdown(), end="")
