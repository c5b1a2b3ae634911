"""How each kind of problem is solved: its numbers in, the answer out.

The environment calls these functions outside of the sandbox to know the answer; the oracle sends their source
into it. So each stands alone, with the standard library's modules under their full names.
"""

import datetime
import fractions
import itertools
import math
import statistics

Rows = list[dict[str, str]]


def subset_sums(numbers: list[int], target: int) -> int:
    """Number of subsets with a given sum."""
    ways = {0: 1}
    for number in numbers:
        longer = dict(ways)
        for total, count in ways.items():
            longer[total + number] = longer.get(total + number, 0) + count
        ways = longer
    return ways.get(target, 0)


def coin_ways(coins: list[int], amount: int) -> int:
    """Number of ways to pay an amount."""
    ways = [1] + [0] * amount
    for coin in coins:
        for total in range(coin, amount + 1):
            ways[total] += ways[total - coin]
    return ways[amount]


def grid_paths(width: int, height: int, walls: list[tuple[int, int]]) -> int:
    """Number of ways right and down through a grid, around its walls."""
    paths: dict[tuple[int, int], int] = {(0, 0): 1}
    for column, row in itertools.product(range(width), range(height)):
        if (column, row) in walls:
            paths[column, row] = 0
        elif (column, row) != (0, 0):
            paths[column, row] = paths.get((column - 1, row), 0) + paths.get((column, row - 1), 0)
    return paths[width - 1, height - 1]


def digit_primes(low: int, high: int, divisor: int) -> int:
    """Number of primes in a range whose sum of digits a number divides."""
    primes = (n for n in range(low, high + 1) if all(n % d for d in range(2, math.isqrt(n) + 1)))
    return sum(sum(map(int, str(prime))) % divisor == 0 for prime in primes)


def power_tail(base: int, exponent: int, modulus: int) -> int:
    """What is left of a power after division."""
    return pow(base, exponent, modulus)


def factorial_digits(number: int, digit: int) -> int:
    """How often a digit occurs in a factorial."""
    return str(math.factorial(number)).count(str(digit))


def longest_chain(low: int, high: int) -> int:
    """The first start in a range with the most steps of n/2 and 3n+1 down to 1."""
    best, most = low, -1
    for start in range(low, high + 1):
        number, steps = start, 0
        while number != 1:
            number = number // 2 if number % 2 == 0 else 3 * number + 1
            steps += 1
        if steps > most:
            best, most = start, steps
    return best


def recipe_count(start: int, factor: int, summand: int, modulus: int, rounds: int, limit: int) -> int:
    """How many values of a recipe are below a limit."""
    value, found = start, 0
    for _ in range(rounds):
        value = (factor * value + summand) % modulus
        found += value < limit
    return found


def determinant(matrix: list[list[int]]) -> int:
    """The determinant, by the permutations of the columns."""
    total = 0
    for order in itertools.permutations(range(len(matrix))):
        swaps = sum(a > b for a, b in itertools.combinations(order, 2))
        total += (-1) ** swaps * math.prod(row[column] for row, column in zip(matrix, order, strict=True))
    return total


def unknown_sum(matrix: list[list[int]], right: list[int]) -> float:
    """The sum of the unknowns of a system of linear equations."""
    rows = [
        [fractions.Fraction(value) for value in [*row, end]] for row, end in zip(matrix, right, strict=True)
    ]
    for column in range(len(rows)):
        pivot = next(n for n in range(column, len(rows)) if rows[n][column])
        rows[column], rows[pivot] = rows[pivot], rows[column]
        first = rows[column] = [value / rows[column][column] for value in rows[column]]
        for n, row in enumerate(rows):
            if n != column:
                rows[n] = [value - row[column] * part for value, part in zip(row, first, strict=True)]
    return float(sum(row[-1] for row in rows))


def weekday_hits(day: int, weekday: int, first_year: int, last_year: int) -> int:
    """How often a day of the month is a given weekday (Monday is 0)."""
    months = itertools.product(range(first_year, last_year + 1), range(1, 13))
    return sum(datetime.date(year, month, day).weekday() == weekday for year, month in months)


def last_left(people: int, step: int) -> int:
    """Who is left of a circle in which every step-th goes, counted from 1."""
    circle, at = list(range(1, people + 1)), 0
    while len(circle) > 1:
        at = (at + step - 1) % len(circle)
        circle.pop(at)
    return circle[0]


def spaced_orders(numbers: list[int], least: int, most: int) -> int:
    """Number of orders of some numbers in which neighbours are neither too near nor too far apart."""
    gaps = {(a, b): least <= abs(a - b) <= most for a in numbers for b in numbers}
    orders = itertools.permutations(numbers)
    return sum(all(gaps[pair] for pair in itertools.pairwise(order)) for order in orders)


def work_days(start: str, end: str, free: list[str]) -> int:
    """Number of days from Monday to Friday in a span of time, both ends included, without some."""
    first, last = datetime.date.fromisoformat(start), datetime.date.fromisoformat(end)
    days = [first + datetime.timedelta(number) for number in range((last - first).days + 1)]
    return sum(day.weekday() < 5 and day.isoformat() not in free for day in days)


def revenue(rows: Rows, region: str, month: str) -> float:
    """Quantity times price of a region's sales in a month."""
    chosen = [row for row in rows if row["region"] == region and row["day"].startswith(month)]
    return round(sum(int(row["quantity"]) * float(row["price"]) for row in chosen), 2)


def best_seller(rows: Rows, region: str) -> int:
    """Units of the product that a region buys most of."""
    units: dict[str, int] = {}
    for row in rows:
        if row["region"] == region:
            units[row["product"]] = units.get(row["product"], 0) + int(row["quantity"])
    return max(units.values())


def median_value(rows: Rows, product: str) -> float:
    """The median of quantity times price of a product's sales."""
    values = [int(row["quantity"]) * float(row["price"]) for row in rows if row["product"] == product]
    return round(statistics.median(values), 3)


def longest_pause(rows: Rows, product: str, region: str) -> int:
    """Most days between one sale of a product in a region and the next."""
    chosen = [row["day"] for row in rows if row["product"] == product and row["region"] == region]
    days = sorted(map(datetime.date.fromisoformat, chosen))
    return max((b - a).days for a, b in itertools.pairwise(days))


def square_sums(low: int, high: int) -> int:
    """Number of whole numbers in a range that are a sum of two squares above 0."""
    squares = [number * number for number in range(1, math.isqrt(high) + 1)]
    sums = {a + b for a in squares for b in squares}
    return sum(low <= total <= high for total in sums)


def living_cells(picture: list[str], generations: int) -> int:
    """Living cells of Conway's game on a torus."""
    height, width = len(picture), len(picture[0])
    living = {(x, y) for y in range(height) for x in range(width) if picture[y][x] == "#"}
    around = [shift for shift in itertools.product((-1, 0, 1), repeat=2) if shift != (0, 0)]
    for _ in range(generations):
        counts: dict[tuple[int, int], int] = {}
        for (x, y), (dx, dy) in itertools.product(living, around):
            place = (x + dx) % width, (y + dy) % height
            counts[place] = counts.get(place, 0) + 1
        living = {place for place, n in counts.items() if n == 3 or (n == 2 and place in living)}
    return len(living)


def decimal_period(low: int, high: int) -> int:
    """The number in a range, the first of several, whose reciprocal has the longest period."""
    best, most = low, 0
    for number in range(low, high + 1):
        seen: dict[int, int] = {}
        rest, place = 1, 0
        while rest and rest not in seen:
            seen[rest] = place
            rest, place = rest * 10 % number, place + 1
        period = place - seen[rest] if rest else 0
        if period > most:
            best, most = number, period
    return best


def priced_units(sales: Rows, prices: Rows, region: str) -> int:
    """What a region's sales cost by a list of prices in another table."""
    price = {row["product"]: int(row["cents"]) for row in prices}
    return sum(int(row["quantity"]) * price[row["product"]] for row in sales if row["region"] == region)


def clean_mean(rows: Rows, region: str) -> float:
    """The mean of a region's quantities, without repeated ids and empty cells."""
    kept = {row["sale"]: row for row in reversed(rows)}
    cells = [row["quantity"] for row in kept.values() if row["region"] == region]
    return round(statistics.fmean(int(cell) for cell in cells if cell), 6)
