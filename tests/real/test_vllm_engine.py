"""vLLM behind the seam: what it samples, new weights with turns under way, engines that die."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest
import torch

pytest.importorskip("vllm", reason="vLLM is not installed: make install-vllm")

from benchmarks.weight_sync import MAX_GAP, agreement, learner_logprobs, model_of, train
from molt_train.rollout.engine import EngineError, PromptTooLong, Sampling
from molt_train.rollout.vllm.engine import VllmEngine
from molt_train.weight_sync import PublishedWeights, WeightPublisher
from sandboxes.attack import leftovers

pytestmark = pytest.mark.real
PROMPT = list(range(10, 50))
_Result = TypeVar("_Result")


class Served:
    """One engine on one event loop, which all tests of the module share."""

    def __init__(self) -> None:
        self.stack = contextlib.ExitStack()
        self.model, folder = self.stack.enter_context(model_of("tied"))
        self.engine = VllmEngine(folder, max_context_tokens=256, num_slots=8)
        self.publisher = self.stack.enter_context(WeightPublisher())
        self.runner = self.stack.enter_context(asyncio.Runner())
        self.stack.callback(self.engine.close)
        self.run(self.engine.start())

    def run(self, work: Coroutine[Any, Any, _Result]) -> _Result:
        """On the loop."""
        return self.runner.run(work)

    def sample(self, sampling: Sampling, prompt: list[int] = PROMPT) -> Any:
        """One turn of a session of its own."""
        with contextlib.closing(self.engine.open_session(0)) as session:
            return self.run(session.generate(prompt, sampling))


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    served = Served()
    with served.stack:
        yield served


def test_logprobs_are_those_of_the_distribution_that_is_sampled(served: Served) -> None:
    turn = served.sample(Sampling(32, 0.7, seed=1))
    assert len(turn.token_ids) == len(turn.logprobs) == len(turn.policy_versions) == 32
    assert turn.logprobs == pytest.approx(learner_logprobs(served.model, PROMPT, turn.token_ids), abs=MAX_GAP)


def test_a_turn_depends_on_its_seed(served: Served) -> None:
    first, again, other = (served.sample(Sampling(16, 1.0, seed=seed)).token_ids for seed in (1, 1, 2))
    assert first == again != other


def test_a_stop_id_ends_the_turn_and_is_part_of_it(served: Served) -> None:
    ids = served.sample(Sampling(16, 1.0, seed=3)).token_ids
    stop = ids[5]
    turn = served.sample(Sampling(16, 1.0, (stop,), seed=3))
    assert turn.token_ids == ids[: ids.index(stop) + 1] and turn.stop_reason == "stop"
    assert len(turn.policy_versions) == len(turn.token_ids)


def test_banned_ids_leave_the_distribution(served: Served) -> None:
    banned = tuple(served.sample(Sampling(8, 0.0)).token_ids)
    turn = served.sample(Sampling(32, 1.0, banned_ids=banned, seed=4))
    assert not set(turn.token_ids) & set(banned)
    plain = learner_logprobs(served.model, PROMPT, turn.token_ids[:1])
    assert turn.logprobs[0] > plain[0]


def test_what_does_not_fit_is_refused(served: Served) -> None:
    with pytest.raises(PromptTooLong, match="300 prompt tokens leave no room in a context of 256"):
        served.sample(Sampling(4), [5] * 300)
    with pytest.raises(ValueError, match="prompt id 9999"):
        served.sample(Sampling(4), [9999])
    assert served.sample(Sampling(50), [5] * 250).stop_reason == "length"


def test_a_session_that_is_closed_in_a_turn_fails_it_and_the_engine_goes_on(served: Served) -> None:
    async def close_it() -> None:
        session = served.engine.open_session(0)
        turn = asyncio.create_task(session.generate(PROMPT, Sampling(200, 1.0, seed=5)))
        await asyncio.sleep(0.05)
        session.close()
        with pytest.raises(EngineError, match="closed in the middle of a turn"):
            await turn

    served.run(close_it())
    assert len(served.sample(Sampling(4)).token_ids) == 4


def update(served: Served) -> PublishedWeights:
    version = served.engine.policy_version + 1
    optimizer = torch.optim.AdamW(served.model.parameters(), lr=1e-3)
    train(served.model, optimizer, torch.Generator().manual_seed(version))
    weights = served.publisher.publish(served.model, version)
    served.run(served.engine.update_weights(weights))
    return weights


def test_an_incomplete_file_is_refused_by_name_and_the_next_turn_starts_again(served: Served) -> None:
    from safetensors.torch import load_file, save_file

    weights = update(served)
    tensors = load_file(weights.path)
    lost = sorted(name for name in tensors if name.endswith("down_proj.weight"))[0]
    del tensors[lost]
    path = weights.path.with_name("incomplete.safetensors")
    save_file(tensors, path)
    shapes = {name: tuple(tensor.shape) for name, tensor in tensors.items()}
    broken = PublishedWeights(weights.version + 1, path, shapes)
    with pytest.raises(EngineError, match=lost):
        served.run(served.engine.update_weights(broken))
    served.run(served.engine.update_weights(weights))
    turn = served.sample(Sampling(16, 0.7, seed=6))
    assert set(turn.policy_versions) == {weights.version}
    assert turn.logprobs == pytest.approx(learner_logprobs(served.model, PROMPT, turn.token_ids), abs=MAX_GAP)


def engine_processes() -> set[tuple[int, str]]:
    return leftovers.descendants(os.getpid())


def test_a_killed_engine_fails_its_turns_and_comes_back_with_the_latest_weights(served: Served) -> None:
    version = update(served).version

    async def kill_it() -> None:
        session = served.engine.open_session(0)
        turn = asyncio.create_task(session.generate(PROMPT, Sampling(200, 1.0, seed=7)))
        await asyncio.sleep(0.05)
        for pid, _ in engine_processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        with pytest.raises(EngineError, match=r"vLLM: .*a turn"):
            async with asyncio.timeout(30):
                await turn

    served.run(kill_it())
    turn = served.sample(Sampling(16, 0.7, seed=8))
    assert served.engine.num_restarts >= 1
    assert set(turn.policy_versions) == {version}
    assert turn.logprobs == pytest.approx(learner_logprobs(served.model, PROMPT, turn.token_ids), abs=MAX_GAP)


def test_an_engine_that_dies_in_an_update_is_noticed_at_once(served: Served) -> None:
    weights = update(served)
    newer = served.publisher.publish(served.model, weights.version + 1)

    async def kill_it() -> float:
        for pid, _ in engine_processes():
            with contextlib.suppress(ProcessLookupError, OSError):
                if b"EngineCore" in Path(f"/proc/{pid}/cmdline").read_bytes():
                    os.kill(pid, signal.SIGSTOP)  # the update's calls wait
        update_task = asyncio.create_task(served.engine.update_weights(newer))
        await asyncio.sleep(0.5)
        begun = time.monotonic()
        for pid, _ in engine_processes():
            with contextlib.suppress(ProcessLookupError, OSError):
                if b"EngineCore" in Path(f"/proc/{pid}/cmdline").read_bytes():
                    os.kill(pid, signal.SIGKILL)
        await update_task
        return time.monotonic() - begun

    assert served.run(kill_it()) < 60
    assert set(served.sample(Sampling(4)).policy_versions) == {newer.version}


@pytest.mark.parametrize("kind", ["tied", "experts"])
def test_updates_by_optimizer_steps_with_turns_under_way_agree(kind: str) -> None:
    with model_of(kind) as (model, folder):
        result = asyncio.run(agreement(model, folder, 5, lr=1e-3))
    assert max(result.gaps) <= MAX_GAP
    assert result.num_spanning == 5


def test_without_an_update_the_gap_stays_flat() -> None:
    """open-instruct#1473, NeMo-RL PR4018: a prefix cache outlived refits, and the mismatch grew at lr 0."""
    with model_of("tied") as (model, folder):
        gaps = asyncio.run(agreement(model, folder, 20, lr=0.0)).gaps
    assert max(gaps) <= MAX_GAP and max(gaps[-3:]) <= 2 * max(gaps[:3]) + 1e-6


@pytest.mark.parametrize(("kind", "mend"), [("tied", "repack_head"), ("experts", "forget_packed_experts")])
def test_each_silent_fault_of_the_cpu_build_is_seen(
    kind: str, mend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MOLT_TESTS_FAULT", mend)
    options = {"worker_extension_cls": "tests.real.faulty_workers.WorkerExtension"}
    with model_of(kind) as (model, folder):
        result = asyncio.run(agreement(model, folder, 1, lr=1e-2, options=options))
    assert max(result.gaps) > 100 * MAX_GAP


DRIVER = """
import asyncio, sys
from molt_train.rollout.vllm.engine import VllmEngine

async def main():
    engine = VllmEngine(sys.argv[1], max_context_tokens=256, num_slots=2)
    await engine.start()
    print("ready", flush=True)
    await asyncio.sleep(600)

if __name__ == "__main__":
    asyncio.run(main())
"""


@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_nothing_survives_the_driver(sent: signal.Signals, tmp_path: Path) -> None:
    """rllm PR568: Ctrl-C left engines behind."""
    script = tmp_path / "driver.py"
    script.write_text(DRIVER, encoding="utf-8")
    with model_of("tied") as (_, folder):
        driver = subprocess.Popen([sys.executable, str(script), str(folder)], stdout=subprocess.PIPE)
        assert driver.stdout is not None
        wait_for(lambda: driver.stdout.readline() == b"ready\n", 120)  # type: ignore[union-attr]
        below = leftovers.descendants(driver.pid)
        assert below
        driver.send_signal(sent)
        driver.wait(30)
        assert leftovers.settle(lambda: leftovers.still_alive(below), 15) == []


def wait_for(holds: Callable[[], bool], timeout_s: float) -> None:
    end = time.monotonic() + timeout_s
    while not holds():
        assert time.monotonic() < end
