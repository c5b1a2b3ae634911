"""The score of a purchase: type, attributes, options and price, as in the original.

In: the bought product, the chosen options, the goal and its product. Out: the parts and their combination
R = r_type * (num_attributes + num_options + [price <= limit]) / (|attributes| + |options| + 1).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from rapidfuzz.fuzz import token_set_ratio

from molt_envs.families.webshop.goals import Goal
from molt_envs.families.webshop.language import plain_color
from molt_envs.families.webshop.products import Product

SIMILAR = 85.0


@dataclass(frozen=True, slots=True)
class RewardParts:
    """What a purchase was paid for."""

    total: float
    """The reward, from 0 to 1."""
    r_type: float
    """Whether it is the right kind of product: 0, 0.1, 0.5 or 1."""
    title_score: float
    """Share of the wanted title's nouns that the bought one's has; 0.2 if there are none."""
    num_attributes: int
    """Wanted attributes that the product has."""
    num_options: int
    """Wanted options that were chosen."""
    price_ok: bool
    """Whether the price is within the limit."""


def score_purchase(bought: Product, options: Iterable[str], goal: Goal, wanted: Product) -> RewardParts:
    """Score buying `bought` with `options` for `goal`, which was made from `wanted`."""
    r_type, title_score = _type_score(bought, wanted)
    texts = (bought.title.lower(), " ".join(bought.bullets).lower(), bought.description.lower())
    num_attributes = sum(
        any(_similar(mine, attribute) for mine in bought.attributes)
        or any(attribute in text for text in texts)
        for attribute in goal.attributes
    )
    chosen = [plain_color(option) for option in options]
    wishes = [plain_color(option.lower()) for option in goal.options]
    num_options = sum(any(_similar(wish, option) for option in chosen) for wish in wishes)
    price_ok = bought.price <= goal.price_upper
    total = r_type * (num_attributes + num_options + price_ok) / (len(goal.attributes) + len(wishes) + 1)
    return RewardParts(total, r_type, title_score, num_attributes, num_options, price_ok)


def _similar(one: str, other: str) -> bool:
    """Both in lower case; signs count, so that sizes 5.5 and 7.5 differ."""
    return one == other or token_set_ratio(one, other) > SIMILAR


def _type_score(bought: Product, wanted: Product) -> tuple[float, float]:
    shared = len(wanted.nouns & bought.nouns)
    title_score = shared / len(wanted.nouns) if wanted.nouns else 0.2
    if title_score == 0.0:
        return 0.0, title_score
    if title_score < 0.1:
        return 0.1, title_score
    alike = bought.query == wanted.query or len(bought.path & wanted.path) >= 2
    return (1.0 if alike or title_score > 0.2 else 0.5), title_score
