"""The kinds of problems: a random generator in, the numbers and tables of one problem out."""

import datetime
import itertools
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from molt_envs.families.python_tool import solutions

REGIONS = ("north", "south", "east", "west", "centre")
PRODUCTS = ("lamp", "chair", "kettle", "mirror", "shelf", "rug", "clock")
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
FIRST_DAY = datetime.date(2021, 1, 1)


@dataclass(frozen=True)
class Drawing:
    """What a template drew."""

    solve: Callable[..., int | float]
    """The function that solves it; a problem of this kind bears its name."""
    arguments: tuple[Any, ...]
    """Its arguments, after the rows of the tables."""
    tables: Mapping[str, str] = field(default_factory=dict[str, str])
    """CSV files by name."""
    words: Mapping[str, str] = field(default_factory=dict[str, str])
    """Further words of the question."""


def subset_sums(rng: random.Random) -> Drawing:
    """A sum that some subset has."""
    numbers = sorted(rng.sample(range(10, 90), rng.randrange(16, 21)))
    return Drawing(solutions.subset_sums, (numbers, sum(rng.sample(numbers, len(numbers) // 2))))


def coin_ways(rng: random.Random) -> Drawing:
    """Odd coins."""
    coins = sorted(rng.sample(range(2, 40), rng.randrange(4, 7)))
    return Drawing(solutions.coin_ways, (coins, rng.randrange(150, 600)))


def grid_paths(rng: random.Random) -> Drawing:
    """Walls in the middle, so that both corners are free."""
    width, height = rng.randrange(7, 13), rng.randrange(7, 13)
    cells = list(itertools.product(range(1, width - 1), range(1, height - 1)))
    return Drawing(solutions.grid_paths, (width, height, sorted(rng.sample(cells, rng.randrange(5, 10)))))


def digit_primes(rng: random.Random) -> Drawing:
    """A few thousand numbers."""
    low = rng.randrange(1000, 40000)
    return Drawing(
        solutions.digit_primes, (low, low + rng.randrange(1000, 5000), rng.choice((4, 5, 7, 8, 10)))
    )


def power_tail(rng: random.Random) -> Drawing:
    """Too large to be written down."""
    sizes = ((100, 999), (10**5, 10**6), (10**4, 10**6))
    return Drawing(solutions.power_tail, tuple(rng.randrange(*size) for size in sizes))


def factorial_digits(rng: random.Random) -> Drawing:
    """Some thousand digits."""
    return Drawing(solutions.factorial_digits, (rng.randrange(200, 1500), rng.randrange(1, 10)))


def longest_chain(rng: random.Random) -> Drawing:
    """A range somewhere."""
    low = rng.randrange(1000, 500_000)
    return Drawing(solutions.longest_chain, (low, low + rng.randrange(200, 800)))


def recipe_count(rng: random.Random) -> Drawing:
    """A linear congruence."""
    modulus = rng.randrange(10_000, 100_000)
    parts = (rng.randrange(modulus), rng.randrange(2, modulus), rng.randrange(modulus))
    rounds = rng.randrange(500, 5000)
    return Drawing(solutions.recipe_count, (*parts, modulus, rounds, rng.randrange(modulus // 4, modulus)))


def determinant(rng: random.Random) -> Drawing:
    """Five rows."""
    return Drawing(solutions.determinant, ([[rng.randrange(-9, 10) for _ in range(5)] for _ in range(5)],))


def unknown_sum(rng: random.Random) -> Drawing:
    """A large diagonal, so that there is one solution."""
    rows = [[rng.randrange(-9, 10) for _ in range(5)] for _ in range(5)]
    for number, row in enumerate(rows):
        row[number] = rng.randrange(50, 80)
    return Drawing(solutions.unknown_sum, (rows, [rng.randrange(20, 999) for _ in rows]))


def weekday_hits(rng: random.Random) -> Drawing:
    """A few centuries."""
    day, weekday, year = rng.randrange(1, 29), rng.randrange(7), rng.randrange(1800, 2000)
    words = {"weekday": WEEKDAYS[weekday]}
    return Drawing(solutions.weekday_hits, (day, weekday, year, year + rng.randrange(30, 250)), words=words)


def last_left(rng: random.Random) -> Drawing:
    """A large circle."""
    return Drawing(solutions.last_left, (rng.randrange(200, 4000), rng.randrange(3, 60)))


def spaced_orders(rng: random.Random) -> Drawing:
    """Both bounds leave out some pairs."""
    numbers = sorted(rng.sample(range(1, 50), 7))
    return Drawing(solutions.spaced_orders, (numbers, rng.randrange(3, 8), rng.randrange(24, 38)))


def work_days(rng: random.Random) -> Drawing:
    """Some years with some days off, which may be a Sunday."""
    start = FIRST_DAY + datetime.timedelta(rng.randrange(3000))
    length = rng.randrange(200, 1500)
    free = sorted(rng.sample(range(length), 6))
    days = [(start + datetime.timedelta(number)).isoformat() for number in (0, length, *free)]
    return Drawing(solutions.work_days, (days[0], days[1], days[2:]))


def revenue(rng: random.Random) -> Drawing:
    """A month of a region."""
    month = f"2021-{rng.randrange(1, 13):02}"
    return Drawing(solutions.revenue, (rng.choice(REGIONS), month), _sales(rng))


def best_seller(rng: random.Random) -> Drawing:
    """The units alone are asked for: a name could be guessed."""
    return Drawing(solutions.best_seller, (rng.choice(REGIONS),), _sales(rng))


def median_value(rng: random.Random) -> Drawing:
    """All regions together."""
    return Drawing(solutions.median_value, (rng.choice(PRODUCTS),), _sales(rng))


def longest_pause(rng: random.Random) -> Drawing:
    """A product in a region."""
    return Drawing(solutions.longest_pause, (rng.choice(PRODUCTS), rng.choice(REGIONS)), _sales(rng))


def square_sums(rng: random.Random) -> Drawing:
    """A range of some thousands."""
    low = rng.randrange(1000, 50_000)
    return Drawing(solutions.square_sums, (low, low + rng.randrange(1000, 9000)))


def living_cells(rng: random.Random) -> Drawing:
    """A small torus, a third of it alive."""
    width, height = rng.randrange(12, 20), rng.randrange(10, 16)
    picture = ["".join(rng.choice("..#") for _ in range(width)) for _ in range(height)]
    return Drawing(solutions.living_cells, (picture, rng.randrange(8, 30)))


def decimal_period(rng: random.Random) -> Drawing:
    """Reciprocals of numbers with three digits."""
    low = rng.randrange(100, 900)
    return Drawing(solutions.decimal_period, (low, low + rng.randrange(20, 90)))


def priced_units(rng: random.Random) -> Drawing:
    """The prices are in a table of their own."""
    sales = _sales(rng)
    lines = [f"{product},{rng.randrange(300, 9000)}" for product in PRODUCTS]
    name = f"prices_{rng.randrange(10_000)}.csv"
    tables = {**sales, name: "\n".join(["product,cents", *lines]) + "\n"}
    return Drawing(solutions.priced_units, (rng.choice(REGIONS),), tables)


def clean_mean(rng: random.Random) -> Drawing:
    """Some rows repeat an id, with another quantity; some cells are empty."""
    ((name, text),) = _sales(rng).items()
    head, *lines = text.splitlines()
    cells = [line.split(",") for line in lines]
    for row in rng.sample(cells, 30):
        row[4] = ""
    cells += [[*row[:4], str(rng.randrange(50, 90)), row[5]] for row in rng.sample(cells, 25)]
    table = "\n".join([head, *map(",".join, cells)]) + "\n"
    return Drawing(solutions.clean_mean, (rng.choice(REGIONS),), {name: table})


def _sales(rng: random.Random) -> dict[str, str]:
    """A table of the sales of 2021, of each product in each region several, in no order."""
    pairs = list(itertools.product(REGIONS, PRODUCTS)) * 7
    rng.shuffle(pairs)
    lines = ["sale,day,region,product,quantity,price"]
    for number, (region, product) in enumerate(pairs, start=rng.randrange(1000, 9000)):
        day = FIRST_DAY + datetime.timedelta(rng.randrange(365))
        lines.append(
            f"{number},{day},{region},{product},{rng.randrange(1, 40)},{rng.randrange(300, 9000) / 100}"
        )
    return {f"sales_{rng.randrange(10_000)}.csv": "\n".join(lines) + "\n"}


TRAINED: tuple[Callable[[random.Random], Drawing], ...] = (
    subset_sums,
    coin_ways,
    grid_paths,
    digit_primes,
    power_tail,
    factorial_digits,
    longest_chain,
    recipe_count,
    determinant,
    unknown_sum,
    weekday_hits,
    last_left,
    spaced_orders,
    work_days,
    revenue,
    best_seller,
    median_value,
    longest_pause,
)
HELD_OUT = (square_sums, living_cells, decimal_period, priced_units, clean_mean)
"""Of the test split alone."""
