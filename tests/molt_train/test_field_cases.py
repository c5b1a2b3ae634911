"""Faults that users of systems like this one reported, each held off by a test.

A docstring says what went wrong elsewhere; the tag in front names the report. Rows that other files hold:
all chat templates (`rollout/test_chat_renderer.py`), an episode's ids (`molt_envs/test_token_accounting.py`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
import torch
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

from molt_envs import Episode, Message, ProtocolError, TokenEnv, Window
from molt_train.algorithms.advantage import EPISODE_ADVANTAGES
from molt_train.config import Config
from molt_train.data.packing import make_micro_batches
from molt_train.data.samples import assign_advantages, select
from molt_train.learner import Learner
from molt_train.loop.rollouts import is_informative
from molt_train.loop.statistics import rollout_metrics
from molt_train.rewards import Graded, env_reward, grade
from molt_train.rollout.chat_renderer import ChatRenderer
from molt_train.rollout.engine import Engine, EngineSession, Generation, Sampling
from molt_train.rollout.runner import RolloutRunner
from molt_train.rollout.transformers_engine import TransformersEngine
from molt_train.weight_sync import PublishedWeights
from tests.molt_train.episodes import make_episode, make_segment
from tests.molt_train.rollout.chat_templates import shipped_templates, tokenizer_for
from tests.molt_train.rollout.probe_env import (
    CARD,
    END,
    RENDERER,
    SAMPLING,
    ProbeEnv,
    Probes,
    play,
    play_one,
    request,
    scripted,
)

CHATML = (
    "{%- for m in messages -%}"
    "{{ '<|im_start|>' + m.role + '\\n' + m.content + '<|im_end|>\\n' }}{%- endfor -%}"
    "{%- if add_generation_prompt -%}{{ '<|im_start|>assistant\\n' }}{%- endif -%}"
)


class Answers:
    """An engine that answers with these turns and keeps the prompts."""

    policy_version = 0
    max_context_tokens = 4096

    def __init__(self, *turns: Sequence[int], logprobs: Sequence[float | None] | None = None) -> None:
        self._turns, self._logprobs = [list(turn) for turn in turns], logprobs
        self.prompts: list[list[int]] = []

    def open_session(self, order: int) -> EngineSession:
        return self

    async def start(self) -> None: ...

    async def update_weights(self, weights: PublishedWeights) -> None: ...

    async def generate(self, prompt_ids: Sequence[int], sampling: Sampling) -> Generation:
        ids = self._turns[len(self.prompts)]
        self.prompts.append(list(prompt_ids))
        logprobs = list(self._logprobs or [-0.5] * len(ids))
        return Generation(ids, logprobs, [0] * len(ids), "stop")  # type: ignore[arg-type]

    def close(self) -> None:
        pass


def run(engine: Engine, probes: Probes | None = None, renderer: ChatRenderer | None = None) -> Episode:
    def make_env() -> TokenEnv:
        return TokenEnv(ProbeEnv(), renderer) if renderer else (probes or Probes())()

    with RolloutRunner(engine, make_env, 1) as runner:
        return asyncio.run(runner.run([request(3)], SAMPLING))[0]


def merging_tokenizer() -> PreTrainedTokenizerFast:
    """Bytes that merge to `he`, `llo` and `hello`: text `hello` is one id, but two ids decode to it too."""
    parts = ["he", "ll", "llo", "hello"]
    vocab = {token: i for i, token in enumerate([*sorted(pre_tokenizers.ByteLevel.alphabet()), *parts])}
    merges = [("h", "e"), ("l", "l"), ("ll", "o"), ("he", "llo")]
    backend = Tokenizer(models.BPE(vocab=vocab, merges=merges))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    names = ["<|im_start|>", "<|im_end|>"]
    backend.add_special_tokens([AddedToken(name, special=True, normalized=False) for name in names])
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend, eos_token="<|im_end|>")
    tokenizer.chat_template = CHATML
    return tokenizer


# Tokens, templates and masks


def test_sampled_ids_are_kept_where_encoding_would_choose_others() -> None:
    """trl#5224: a turn was decoded and encoded again, and two sampled ids came back as one."""
    tokenizer = merging_tokenizer()
    he, llo, hello, end = tokenizer.convert_tokens_to_ids(["he", "llo", "hello", "<|im_end|>"])
    assert tokenizer("hello", add_special_tokens=False)["input_ids"] == [hello]
    engine = Answers([he, llo, end], [*tokenizer("win")["input_ids"], end])
    episode = run(engine, renderer=ChatRenderer(tokenizer, "chatml"))
    (segment,) = episode.segments
    first, second = engine.prompts
    assert second[: len(first) + 3] == [*first, he, llo, end]
    assert segment.token_ids.tolist()[: len(second)] == second
    start, stop = segment.action_ranges[0]
    assert segment.token_ids[start:stop].tolist() == [he, llo, end]


@pytest.mark.parametrize("field", ["logprobs", "policy_versions", "loss_mask"])
def test_an_array_of_another_length_is_refused(field: str) -> None:
    """trl#5144: the completion's tokens and its mask differed in length and the crash came in training."""
    segment = make_segment([1, 2], [([3, 4], [5])])
    with pytest.raises(ProtocolError, match=rf"{field} has shape \(4,\)"):
        replace(segment, **{field: vars(segment)[field][:-1]})


def test_the_newline_between_turns_is_there() -> None:
    """verl#6501: the newline that the template puts after a turn's end was lost between turns."""
    tokenizer = merging_tokenizer()
    renderer = ChatRenderer(tokenizer, "chatml")
    wait, win = (renderer.write(Message("assistant", word)) for word in ("wait", "win"))
    (segment,) = run(Answers(wait, win), renderer=renderer).segments
    messages = [Message("system", CARD.system_prompt), Message("user", "room 3")]
    messages += [Message("assistant", "wait"), Message("user", "after wait")]
    chat = [message.to_chat() for message in messages]
    full = tokenizer.apply_chat_template(chat, add_generation_prompt=True, return_dict=False)
    assert segment.token_ids.tolist() == [*full, *win]
    assert "<|im_end|>\n<|im_start|>user" in tokenizer.decode(segment.token_ids)


def test_a_template_that_drops_thoughts_opens_segments_of_one_episode() -> None:
    """trl PR6250, ART#726: old thoughts vanish from the prompt; the parts then counted as episodes."""
    renderer = ChatRenderer(tokenizer_for(shipped_templates()["qwen3"]), "qwen3")
    turns = [renderer.write(Message("assistant", w, reasoning="so")) for w in ("wait", "win")]
    episode = run(Answers(*turns), renderer=renderer)
    assert [segment.stop_reason for segment in episode.segments] == ["rewritten", "terminated"]
    other = make_episode([make_segment([1], [([2], [])])], episode.group_id)
    samples = assign_advantages([(episode, 1.0), (other, 0.0)], "dr_grpo")
    assert [sample.advantages_T[-1] for sample in samples] == [0.5, 0.5, -0.5]


def test_masks_grow_with_the_tokens() -> None:
    """slime#1440: a resumed generation appended tokens and forgot their mask."""
    (segment,) = play_one("a", "b", "win").segments
    arrays = (segment.logprobs, segment.policy_versions, segment.loss_mask, segment.action_mask)
    assert {len(array) for array in arrays} == {len(segment.token_ids)}
    assert segment.action_mask.sum() == 2 + 2 + 4


@pytest.mark.parametrize("estimator", ["grpo", "reinforce"])
def test_an_advantage_is_spread_by_each_segments_own_mask(estimator: str) -> None:
    """SkyRL PR1507: the last step's masked advantages were copied to earlier steps, so most tokens got 0."""
    short, long = make_segment([1, 2, 3], [([4], [])]), make_segment([1], [([2, 3, 4, 5, 6], [7])])
    scored = [(make_episode([long, short, long]), 1.0), (make_episode([short]), 0.0)]
    samples = assign_advantages(scored, estimator)
    trained = [sample.advantages_T[sample.segment.loss_mask] for sample in samples]
    assert [len(advantages) for advantages in trained] == [5, 1, 5, 1]
    assert all((advantages > 0).all() for advantages in trained[:3]) and trained[3] < 0


def test_an_end_that_was_not_sampled_is_masked() -> None:
    """SkyRL PR758: a turn's end was appended by hand, with mask 1 and logprob 0."""
    cut, win = [*b"wait\n"], [*b"win", END]
    (segment,) = run(Answers(cut, win)).segments
    start, end = segment.action_ranges[0]
    assert segment.token_ids[start : end + 1].tolist() == [*cut, END]
    assert not segment.action_mask[end] and not segment.loss_mask[end] and segment.logprobs[end] == 0
    assert END not in make_targets([segment])[: len(cut)]


def make_targets(segments: Sequence[object]) -> list[int]:
    scored = [(make_episode(segments), 1.0), (make_episode(segments), 0.0)]  # type: ignore[arg-type]
    batches = make_micro_batches(assign_advantages(scored, "grpo"), 4096)
    return batches[0].targets_N.tolist()


def test_only_sampled_tokens_are_targets() -> None:
    """RAGEN#71: the mask was inverted and the model learned to predict observations."""
    (segment,) = play_one("wait", "win").segments
    changed = segment.token_ids.copy()
    changed[~segment.action_mask] = 9
    expected = [*b"wait", END, *b"win", END] * 2
    assert make_targets([segment]) == make_targets([replace(segment, token_ids=changed)]) == expected


def test_a_template_that_loses_the_answer_is_refused_by_name() -> None:
    """marin#7237: a template without generation marks gave a mask of zeros, and training did nothing."""
    deaf = CHATML.replace("m.content", "(m.content if m.role != 'assistant' else '')")
    with pytest.raises(ValueError, match="deaf-template"):
        ChatRenderer(tokenizer_for(deaf), "deaf-template")


@pytest.mark.parametrize("num_turns", [1, 2])
@pytest.mark.parametrize("cut", [True, False])
def test_the_reason_of_the_last_turn_arrives(num_turns: int, cut: bool) -> None:
    """OpenRLHF PR1327: in several turns, `length` was lost on the way and the cut turn looked finished."""
    said = [*["go"] * (num_turns - 1), "win" if not cut else "a very long win"]
    episode = play_one(*said, max_tokens=6)
    expected = "length" if cut else "terminated"
    assert episode.outcome == episode.segments[-1].stop_reason == expected
    assert episode.num_turns == num_turns


def test_a_cut_turn_is_not_acted_upon() -> None:
    """tinker-cookbook PR506: a turn cut by its limit was graded as bad grammar."""
    probes = Probes()
    assert play_one("winter", max_tokens=3, probes=probes).outcome == "length"
    assert probes.built[0].acted == []


def test_a_finished_episode_does_not_overflow() -> None:
    """tinker-cookbook PR506: an episode that ended exactly at the context's end raised an overflow."""
    size = len(play_one("wait", "win").segments[0].token_ids)
    episode = play_one("wait", "win", max_context_tokens=size)
    assert episode.outcome == "terminated" and len(episode.segments[0].token_ids) == size


def byte_model() -> Qwen3ForCausalLM:
    """A random model over the byte renderer's ids."""
    torch.manual_seed(1)
    sizes = {
        "vocab_size": RENDERER.vocab_size,
        "hidden_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 8,
        "intermediate_size": 48,
        "max_position_embeddings": 512,
        "initializer_range": 0.2,
    }
    return Qwen3ForCausalLM(Qwen3Config(**sizes)).eval()


def mismatch(sampled_at: float, trained_at: float) -> dict[str, float]:
    """Metrics of a training step on episodes that the engine sampled from the learner's own weights."""
    model = byte_model()
    engine = TransformersEngine(model, num_slots=4, max_context_tokens=400)
    stops = tuple(range(0, RENDERER.vocab_size, 3))
    sampling = Sampling(max_tokens=8, temperature=sampled_at, stop_ids=stops)
    config = Config.model_validate(
        {
            "model": {"path": "tiny"},
            "env": {"id": "molt-tests/Probe-v0"},
            "rollout": {"temperature": trained_at, "max_context_tokens": 400},
            "algorithm": {"correction_high": 1000.0},
        }
    )
    with RolloutRunner(engine, Probes(), 4) as runner:
        requests = [request(index, index) for index in range(6)]
        episodes = asyncio.run(runner.run(requests, sampling))
    assert max(episode.num_turns for episode in episodes) > 1
    engine.close()
    return Learner(model, config).train_step([Graded(e, float(n)) for n, e in enumerate(episodes)])


def test_sampling_and_training_score_the_same_distribution() -> None:
    """trl#4159, prime-rl PR697: at temperature .6 the ratio was 2 at the first token."""
    metrics = mismatch(sampled_at=0.6, trained_at=0.6)
    assert metrics["logprob_gap_max"] < 1e-4
    assert metrics["correction_weight_mean"] == pytest.approx(1.0, abs=1e-5)
    assert metrics["ratio_max"] == pytest.approx(1.0, abs=1e-5)


def test_a_difference_of_temperature_would_show() -> None:
    """The same check with the fault built in, so that the one above is known to see it."""
    assert mismatch(sampled_at=0.6, trained_at=1.0)["logprob_gap_max"] > 0.1


@pytest.mark.parametrize("missing", [None, float("nan")])
def test_a_missing_logprob_costs_its_episode_and_is_counted(missing: float | None) -> None:
    """A missing logprob was replaced by 0, that is by certainty."""
    episode = run(Answers([*b"win", END], logprobs=[-0.1, missing, -0.1, -0.1]))
    assert episode.outcome == "unresolved" and "logprob" in episode.reason
    assert rollout_metrics([grade(episode, env_reward)], 0)["num_unresolved"] == 1
    assert select([grade(episode, env_reward)]) == ([], 1)


# Advantage and loss


def advantages(name: str, rewards: list[float]) -> np.ndarray:
    count = len(rewards)
    return EPISODE_ADVANTAGES[name](np.array(rewards), np.zeros(count, dtype=int), np.ones(count, dtype=int))


@pytest.mark.parametrize("name", EPISODE_ADVANTAGES)
def test_leave_one_out_and_equal_rewards_stay_finite(name: str) -> None:
    """NeMo-RL#1518: a leave-one-out std of zero gave ±1e6; eight rewards of .3 had a std of 3e-8, not 0."""
    assert np.abs(advantages(name, [1.0, 0.0, 0.0, 0.0])).max() < 2
    assert np.abs(advantages(name, [0.3] * 8)).max() < 1e-9


def batch(*groups: tuple[str, list[float | None]]) -> list[Graded]:
    segment = make_segment([5], [([6, 7], [8])])
    return [
        Graded(make_episode([segment], name, score=reward, success=None), reward)
        for name, rewards in groups
        for reward in rewards
    ]


def test_a_group_without_signal_is_skipped_whole() -> None:
    """trl#5588: a group of equal rewards had no advantage but still pulled through its KL term."""
    assert not is_informative(batch(("dead", [1.0, 1.0])), 0.0, 1.0)
    assert is_informative(batch(("live", [0.0, 1.0])), 0.0, 1.0)


def test_groups_without_signal_count_in_the_denominator_unless_they_are_dropped() -> None:
    """trl#6367: dead groups diluted the mean, unasked. Here dynamic sampling is the choice."""
    graded = batch(("dead", [1.0, 1.0]), ("live", [0.0, 1.0]))
    kept = graded[2:]
    weights = []
    for items in (graded, kept):
        (micro,) = make_micro_batches(assign_advantages(select(items)[0], "grpo"), 64)
        weights.append(float(micro.weights_N[0]))
    assert weights == [1 / 8, 1 / 4]


def test_an_episode_without_action_tokens_enters_no_mean() -> None:
    """OpenRLHF PR1239: rewards 100 and 1 with 0 and 2 action tokens; the empty one moved the baseline."""
    segment = make_segment([5], [([6, 7], [])])
    empty = replace(segment, loss_mask=np.zeros(3, dtype=np.bool_))
    graded = [Graded(make_episode([s]), r) for s, r in ((empty, 100.0), (segment, 1.0), (segment, 0.0))]
    kept, num_excluded = select(graded)
    assert num_excluded == 1
    assert [s.advantages_T[1] for s in assign_advantages(kept, "dr_grpo")] == [0.5, -0.5]


def test_an_unscored_episode_is_no_zero() -> None:
    """trl PR6427: an episode that nobody scored counted as 0 and beat one that earned −1."""
    kept, num_excluded = select(batch(("g", [-1.0, None, -3.0])))
    assert num_excluded == 1
    assert [s.advantages_T[1] for s in assign_advantages(kept, "dr_grpo")] == [1.0, -1.0]


def test_no_row_is_made_up() -> None:
    """agentcore PR122: failed episodes became padding rows with mask 1."""
    episodes = play({1: ["win"], 2: ["crash"], 3: ["blame"]})
    kept, num_excluded = select([grade(episode, env_reward) for episode in episodes])
    batches = make_micro_batches(assign_advantages(kept, "reinforce"), 4096)
    assert num_excluded == 1
    assert sum(len(micro.token_ids_BT) for micro in batches) == 2
    assert sum(len(micro.targets_N) for micro in batches) == len(b"win") + 1 + len(b"blame") + 1


def test_a_micro_batch_smaller_than_a_group_mixes_nothing() -> None:
    """tunix PR820: baselines were taken per micro-batch, over whatever prompts it held."""
    a1, a2, b1, b2 = batch(("a", [1.0, 0.0]), ("b", [9.0, 7.0]))
    samples = assign_advantages(select([a1, b1, a2, b2])[0], "dr_grpo")
    batches = make_micro_batches(samples, 4)
    assert len(batches) == 4
    assert [micro.advantages_N.tolist() for micro in batches] == [
        [0.5] * 2,
        [1.0] * 2,
        [-0.5] * 2,
        [-1.0] * 2,
    ]
    assert [micro.weights_N.tolist() for micro in batches] == [[1 / 8] * 2] * 4


@pytest.mark.parametrize("history", [None, Window(1)])
def test_a_time_limit_keeps_the_last_observation_and_an_end_does_not(history: Window | None) -> None:
    """RLlib PR59958: a cut by the time limit was treated as the end, or the next reset's view was used."""
    (*_, last) = play_one("a", "b", "c", probes=Probes(history=history)).segments
    assert last.stop_reason == "truncated" and last.bootstrap_ids is not None
    assert bytes(i for i in last.bootstrap_ids.tolist() if i < 256).decode().endswith("after c")
    (ended,) = play_one("win").segments
    assert ended.stop_reason == "terminated" and ended.bootstrap_ids is None


def test_nan_where_nothing_is_trained_is_selected_away() -> None:
    """SkyRL#1633: nan times a mask of 0 is nan."""
    samples = assign_advantages(select(batch(("g", [0.0, 1.0])))[0], "grpo")
    poisoned = [
        replace(s, advantages_T=np.where(s.segment.loss_mask, s.advantages_T, np.nan)) for s in samples
    ]
    (micro,) = make_micro_batches(poisoned, 64)
    assert torch.isfinite(micro.advantages_N).all() and len(micro.advantages_N) == 4


def test_the_version_that_sampled_is_the_one_announced() -> None:
    """A rollout served by other weights than the trainer believed: the version is in every token."""
    engine = scripted({3: ["win"]})
    engine.weights_updated(8)
    (segment,) = run(engine).segments
    assert set(segment.policy_versions[segment.action_mask].tolist()) == {8}
