"""One line of text for a step or an evaluation. In: values by name. Out: text, the main numbers."""

from __future__ import annotations

from collections.abc import Mapping

from molt_train.metrics import OUTCOMES

_STEP_PARTS: tuple[tuple[str, str, str], ...] = (
    ("sft_loss", "loss", "{:.4f}"),
    ("reward_mean", "reward", "{:.3f}"),
    ("success_rate", "success", "{:.1%}"),
    ("score_mean", "score", "{:.3f}"),
    ("turns_mean", "turns", "{:.1f}"),
    ("entropy", "entropy", "{:.3f}"),
    ("kl", "kl", "{:.4f}"),
    ("grad_norm", "|grad|", "{:.2f}"),
    ("tokens_per_s", "tok/s", "{:,.0f}"),
    ("step_s", "s", "{:.1f}"),
)


def step_line(values: Mapping[str, float]) -> str:
    """The step's main numbers; those that are absent are left out."""
    parts = [f"{label} {form.format(values[name])}" for name, label, form in _STEP_PARTS if name in values]
    counts = outcome_counts(values)
    return "  ".join([*parts, counts] if counts else parts)


def eval_line(temperature: float, values: Mapping[str, float]) -> str:
    """An evaluation's main numbers."""
    kind = "greedy" if temperature == 0 else f"sampled at {temperature:g}"
    parts = [f"({kind})"]
    if "eval_success_rate" in values:
        parts.append(f"success {values['eval_success_rate']:.1%}")
    if "eval_score_mean" in values:
        parts.append(f"score {values['eval_score_mean']:.3f}")
    if "eval_num_episodes" in values:
        parts.append(f"of {int(values['eval_num_episodes'])} episodes")
    counts = outcome_counts(values, prefix="eval_num_")
    return "  ".join([*parts, counts] if counts else parts)


def outcome_counts(values: Mapping[str, float], prefix: str = "num_") -> str:
    """`3 truncated, 1 failed`: every outcome but the ordinary one, where there are any."""
    counts = [(name, int(values.get(prefix + name, 0))) for name in OUTCOMES if name != "terminated"]
    return ", ".join(f"{count} {name}" for name, count in counts if count)
