"""Episodes of an oracle through the token path: what supervised fine-tuning learns from.

In: tasks and an environment over tokens. Out: `Episode`s whose action ids are what a policy would have
sampled to say the oracle's actions, with logprob 0 (the oracle is certain) and policy version 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from molt_envs import AgentEnv, Episode, EpisodeRecorder, Message, Policy, SamplingRecord, TokenEnv
from molt_train.data.tasks import derive_seed


def demonstrate(
    env: TokenEnv,
    env_id: str,
    task_ids: Sequence[str],
    seed: int,
    noise: float = 0.0,
    max_tokens: int | None = None,
    on_episode: Callable[[Episode], None] | None = None,
) -> Iterator[Episode]:
    """Play the tasks with the environment's oracle, one after another.

    Args:
        env: the environment over tokens.
        env_id: its registered id, for the record.
        task_ids: which tasks.
        seed: seeds resets and the oracle's choices.
        noise: share of needed steps that the oracle leaves out; 0 solves every task.
        max_tokens: episodes longer than this are left out; None keeps all.
        on_episode: called with each episode, also with those left out.

    Raises:
        ValueError: the environment has no oracle.
    """
    base = env.env.unwrapped
    assert isinstance(base, AgentEnv)
    for index, task_id in enumerate(task_ids):
        episode_seed = derive_seed(seed, "demonstration", index)
        prompt_ids, info = env.reset(seed=episode_seed, options={"task_id": task_id})
        policy = base.oracle(seed=episode_seed, noise=noise)
        if policy is None:
            raise ValueError(f"{env_id} has no oracle; demonstrations need one")
        episode = _play(env, policy, prompt_ids, dict(info), env_id, task_id, episode_seed)
        if on_episode is not None:
            on_episode(episode)
        if max_tokens is None or all(len(segment.token_ids) <= max_tokens for segment in episode.segments):
            yield episode


def _play(
    env: TokenEnv,
    policy: Policy,
    prompt_ids: list[int],
    info: dict[str, object],
    env_id: str,
    task_id: str,
    seed: int,
) -> Episode:
    recorder = EpisodeRecorder()
    recorder.open(prompt_ids)
    longest = 1
    while True:
        action = policy.act(env.messages[-1].text, info)
        ids = env.renderer.write(Message("assistant", action))
        longest = max(longest, len(ids))
        key = info.get("state_key")
        recorder.action(ids, [0.0] * len(ids), [0] * len(ids), key if isinstance(key, str) else None)
        step = env.step(ids)
        info = dict(step.info)
        recorder.reward(step.reward)
        if step.terminated or step.truncated:
            recorder.close(
                "terminated" if step.terminated else "truncated", None if step.terminated else step.token_ids
            )
            break
        if step.rewritten:
            recorder.close("rewritten")
            recorder.open(step.token_ids)
        else:
            recorder.append(step.token_ids)
    return Episode(
        episode_id=f"demo/{task_id}",
        env_id=env_id,
        task_id=task_id,
        seed=seed,
        split=task_id.partition(":")[0],
        group_id=task_id,
        outcome="terminated" if step.terminated else "truncated",
        score=float(step.info["score"]),
        success=bool(step.info["success"]),
        segments=recorder.segments(),
        sampling=SamplingRecord(temperature=0.0, max_tokens=longest, seed=seed),
        renderer_id=env.renderer.renderer_id,
    )
