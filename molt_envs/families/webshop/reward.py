"""The score of a purchase: type, attributes, options and price, as in the original.

In: the bought product, the chosen options, the goal and its product. Out: the parts and their combination
R = r_type * (num_attributes + num_options + [price <= limit]) / (|attributes| + |options| + 1).
"""

from collections.abc import Iterable

from rapidfuzz.fuzz import token_set_ratio

from molt_envs.families.webshop.goals import Goal
from molt_envs.families.webshop.language import plain_color
from molt_envs.families.webshop.products import Product

SIMILAR = 85.0


def score_purchase(bought: Product, options: Iterable[str], goal: Goal, wanted: Product) -> dict[str, float]:
    """Score buying `bought` with `options` for `goal`, which was made from `wanted`.

    Returns:
        `total`, the reward from 0 to 1; `r_type` (0, 0.1, 0.5 or 1), whether it is the right kind of product;
        `title_score`, the share of the wanted title's nouns that it has (0.2 if there are none);
        `num_attributes` and `num_options`, how many of the wanted ones it has; `price_ok`, 1 or 0.
    """
    r_type, title_score = _type_score(bought, wanted)
    text = "\n".join((bought.title, " ".join(bought.bullets), bought.description)).lower()
    mine = bought.attributes
    num_attributes = sum(wish in text or any(_similar(wish, one) for one in mine) for wish in goal.attributes)
    chosen = [plain_color(option) for option in options]
    wishes = [plain_color(option.lower()) for option in goal.options]
    num_options = sum(any(_similar(wish, option) for option in chosen) for wish in wishes)
    price_ok = bought.price <= goal.price_upper
    total = r_type * (num_attributes + num_options + price_ok) / (len(goal.attributes) + len(wishes) + 1)
    parts = dict(total=total, r_type=r_type, title_score=title_score, num_attributes=num_attributes)
    return parts | dict(num_options=num_options, price_ok=float(price_ok))


def _similar(one: str, other: str) -> bool:
    """Both in lower case; signs count, so that sizes 5.5 and 7.5 differ."""
    return one == other or token_set_ratio(one, other) > SIMILAR


def _type_score(bought: Product, wanted: Product) -> tuple[float, float]:
    shared = len(wanted.nouns & bought.nouns)
    title_score = shared / len(wanted.nouns) if wanted.nouns else 0.2
    if title_score < 0.1:
        return (0.1 if title_score else 0.0), title_score
    alike = bought.query == wanted.query or len(bought.path & wanted.path) >= 2
    return (1.0 if alike or title_score > 0.2 else 0.5), title_score
