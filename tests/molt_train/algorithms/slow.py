"""The estimators, losses and aggregations again as plain Python loops: slow, written from the formulas.

In: lists of floats. Out: lists of floats. Nothing of `molt_train` is used here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

Floats = Sequence[float]
Ints = Sequence[int]


def mean(values: Floats) -> float:
    return math.fsum(values) / len(values)


def group_of(values: Floats, groups: Ints, index: int) -> list[float]:
    return [value for value, group in zip(values, groups, strict=True) if group == groups[index]]


def grpo(rewards: Floats, groups: Ints, lengths: Ints) -> list[float]:
    advantages: list[float] = []
    for index, reward in enumerate(rewards):
        members = group_of(rewards, groups, index)
        if len(set(members)) == 1:
            advantages.append(0.0)
            continue
        centre = mean(members)
        std = math.sqrt(math.fsum((r - centre) ** 2 for r in members) / (len(members) - 1))
        advantages.append((reward - centre) / (std + 1e-9))
    return advantages


def dr_grpo(rewards: Floats, groups: Ints, lengths: Ints) -> list[float]:
    return [reward - mean(group_of(rewards, groups, index)) for index, reward in enumerate(rewards)]


def rloo(rewards: Floats, groups: Ints, lengths: Ints) -> list[float]:
    advantages: list[float] = []
    for index, reward in enumerate(rewards):
        others = [
            other for place, other in enumerate(rewards) if place != index and groups[place] == groups[index]
        ]
        advantages.append(reward - mean(others) if others else reward)
    return advantages


def batch_baseline(rewards: Floats, groups: Ints, lengths: Ints) -> list[float]:
    return [reward - mean(rewards) for reward in rewards]


def reinforce_baseline(rewards: Floats, groups: Ints, lengths: Ints) -> list[float]:
    centred = dr_grpo(rewards, groups, lengths)
    tokens = [value for value, length in zip(centred, lengths, strict=True) for _ in range(length)]
    centre = mean(tokens)
    variance = mean([(token - centre) ** 2 for token in tokens])
    return [(value - centre) / math.sqrt(max(variance, 1e-8)) for value in centred]


def reinforce_returns(
    reward: float, mask: Sequence[bool], kl: Floats, gamma: float, coef: float
) -> list[float]:
    last = max(index for index, sampled in enumerate(mask) if sampled)
    rewards = [
        (-coef * kl[index] if sampled else 0.0) + (reward if index == last else 0.0)
        for index, sampled in enumerate(mask)
    ]
    return [
        math.fsum(gamma ** (later - t) * rewards[later] for later in range(t, len(mask)))
        for t in range(len(mask))
    ]


def ppo(
    logprobs: Floats, old: Floats, advantages: Floats, low: float, high: float, dual: float | None
) -> list[float]:
    losses: list[float] = []
    for new, before, advantage in zip(logprobs, old, advantages, strict=True):
        ratio = math.exp(min(max(new - before, -30.0), 30.0))
        objective = min(ratio * advantage, min(max(ratio, 1 - low), 1 + high) * advantage)
        if dual is not None and advantage < 0:
            objective = max(objective, dual * advantage)
        losses.append(-objective)
    return losses


def correction(
    old: Floats, rollout: Floats, sequences: Ints, level: str, mode: str, low: float, high: float
) -> list[float]:
    weights: list[float] = []
    for index, (trainer, engine) in enumerate(zip(old, rollout, strict=True)):
        ratio = math.exp(trainer - engine)
        logs = [a - b for a, b, s in zip(old, rollout, sequences, strict=True) if s == sequences[index]]
        statistic = {
            "token": ratio,
            "seq": math.exp(math.fsum(logs)),
            "geo": math.exp(mean(logs)),
        }[level]
        if mode == "mask":
            weights.append(ratio if low <= statistic <= high else 0.0)
        elif mode == "clip":
            weights.append(min(max(statistic, low), high))
        else:
            weights.append(min(statistic, high))
    return weights


def aggregate(kind: str, rows: Sequence[Floats], prompts: Ints, norm_tokens: int) -> float:
    """`rows` holds the trained tokens' losses of each sequence."""
    tokens = [loss for row in rows for loss in row]
    if kind == "token_mean":
        return mean(tokens)
    if kind == "seq_mean_token_mean":
        return mean([mean(row) for row in rows])
    if kind == "seq_mean_token_sum":
        return mean([math.fsum(row) for row in rows])
    if kind == "seq_mean_token_sum_norm":
        return mean([math.fsum(row) / norm_tokens for row in rows])
    assert kind == "prompt_mean_token_mean"
    of_prompt = [
        [loss for row, prompt in zip(rows, prompts, strict=True) if prompt == wanted for loss in row]
        for wanted in sorted(set(prompts))
    ]
    return mean([mean(losses) for losses in of_prompt])
