"""Which groups are kept, and what length costs.

In: rewards and lengths of episodes. Out: decisions and adjusted rewards.
"""

from __future__ import annotations

from collections.abc import Sequence


def keeps_group(scores: Sequence[float], low: float, high: float) -> bool:
    """Dynamic sampling: whether low < mean score < high; each episode counts once (arXiv:2503.14476)."""
    return bool(scores) and low < sum(scores) / len(scores) < high


def overlong_penalty(num_tokens: int, max_tokens: int, buffer_tokens: int, factor: float) -> float:
    """f · clamp(length − (L_max − B), 0, B) / B: what is taken from the reward (arXiv:2503.14476)."""
    over = min(max(num_tokens - (max_tokens - buffer_tokens), 0), buffer_tokens)
    return factor * over / buffer_tokens
