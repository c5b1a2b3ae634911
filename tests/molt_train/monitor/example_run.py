"""A made-up run's folder for the tests of report, plots and inspector."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from molt_envs import Episode, SamplingRecord, Segment
from molt_train.config import config_to_toml, load_config
from molt_train.monitor.environment import write_environment
from molt_train.monitor.samples import make_sample, write_samples
from molt_train.monitor.writer import MetricsWriter

PROMPT = "system: Buy what is asked for. <b>&\n"
TURNS = (("search[red shoes]", "results:\n1. Red shoes\n", 0.0), ("click[buy now]", "thank you\n", 0.8))


def decode(token_ids: object) -> str:
    assert isinstance(token_ids, list | tuple)
    return bytes(token_ids).decode("utf-8", errors="replace")


def example_episode(task: int = 7, success: bool = True) -> Episode:
    ids: list[int] = list(PROMPT.encode())
    ranges: list[tuple[int, int]] = []
    for action, observation, _ in TURNS:
        ranges.append((len(ids), len(ids) + len(action)))
        ids += [*action.encode(), *observation.encode()]
    mask = np.zeros(len(ids), dtype=np.bool_)
    for start, end in ranges:
        mask[start:end] = True
    loss_mask = mask.copy()
    loss_mask[ranges[0][0]] = False
    logprobs = np.where(mask, -np.linspace(0.001, 3, len(ids)), 0).astype(np.float32)
    segment = Segment(
        token_ids=np.array(ids, dtype=np.int32),
        action_ranges=tuple(ranges),
        logprobs=logprobs,
        policy_versions=np.where(mask, 4, -1).astype(np.int32),
        rewards=tuple(reward for _, _, reward in TURNS),
        loss_mask=loss_mask,
        stop_reason="terminated",
    )
    return Episode(
        episode_id=f"eval/{task}", env_id="molt/WebShop-v0", task_id=f"test:{task}", seed=1, split="test",
        group_id=f"test:{task}", outcome="terminated", score=0.8, success=success, segments=(segment,),
        sampling=SamplingRecord(0.0, 32, 1), renderer_id="bytes",
    )  # fmt: skip


def training_values(progress: float, noise: float) -> dict[str, float]:
    success = 0.4 + 0.4 * progress + noise
    return {
        "num_episodes": 128,
        "num_terminated": 120,
        "num_truncated": 5,
        "num_length": 2,
        "num_failed": 1,
        "success_rate": success,
        "reward_mean": success * 0.9,
        "entropy": 0.5 / (1 + 10 * progress),
        "kl": 0.03 * progress,
        "grad_norm": 1 + noise,
        "lr": 5e-4,
        "zero_advantage_group_share": progress / 2,
        "num_action_tokens": 4000,
        "step_s": 2.0,
        "rollout_s": 1.2,
        "update_s": 0.7,
        "tokens_per_s": 21e3,
    }


def eval_values(rate: float) -> dict[str, float]:
    return {
        "eval_success_rate": rate,
        "eval_success_low": rate - 0.03,
        "eval_success_high": rate + 0.03,
        "eval_score_mean": rate + 0.1,
        "eval_num_episodes": 1000,
        "eval_num_terminated": 990,
        "eval_num_truncated": 10,
        "eval_turns_mean": 6.1,
    }


def write_example_run(run_dir: Path, num_steps: int = 30) -> Path:
    rng = np.random.default_rng(0)
    run_dir.mkdir(parents=True)
    (run_dir / "config.toml").write_text(config_to_toml(load_config("webshop")), encoding="utf-8")
    write_environment(run_dir)
    with MetricsWriter(run_dir) as writer:
        for step in range(num_steps + 1):
            if step:
                writer.write(step, training_values(step / num_steps, float(rng.normal(0, 0.02))))
            if step % 10 == 0:
                for temperature in (0.0, 1.0):
                    rate = 0.54 + 0.2 * step / num_steps - 0.1 * temperature
                    writer.write_eval(step, "rl", temperature, eval_values(rate))
    with MetricsWriter(run_dir / "sft") as writer:
        for step in range(1, 41):
            writer.write(step, {"sft_loss": 2 / step, "sft_epoch": step / 10})
    for step in (0, num_steps):
        samples = [
            make_sample(step, "rl", example_episode(task, success=step > 0), decode) for task in (7, 8)
        ]
        write_samples(run_dir, samples)
    return run_dir
