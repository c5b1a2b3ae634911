"""Who waited for whom, with a clock of the test's."""

from __future__ import annotations

from molt_train.rollout.usage import Usage, Waits


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_seconds_go_to_whoever_was_waited_for() -> None:
    clock = Clock()
    usage = Usage(clock)
    clock.now = 3  # nothing runs
    with usage.episode(), usage.episode():
        clock.now = 5  # both in their environments
        with usage.turn():
            clock.now = 9  # one with the engine
        clock.now = 10
    clock.now = 12
    assert usage.waits() == Waits(wall_s=12, no_episode_s=5, no_turn_s=3, episodes_s=14, turns_s=4)


def test_the_difference_is_what_happened_between() -> None:
    clock = Clock()
    usage = Usage(clock)
    clock.now = 1
    before = usage.waits()
    with usage.episode():
        clock.now = 4
    assert usage.waits() - before == Waits(3, 0, 3, 3, 0)


def test_an_error_ends_what_was_counted() -> None:
    usage = Usage(Clock())
    try:
        with usage.episode(), usage.turn():
            raise KeyError
    except KeyError:
        pass
    assert usage.num_episodes == 0
