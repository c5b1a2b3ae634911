"""After each of 20 updates with turns under way, vLLM's logprobs are the learner's: three kinds of model.

Tied embeddings, a mixture of experts and SmolLM2, updated by real optimizer steps; and a model that does not
change, synchronised 20 times with prefix caching, whose gap must stay flat. Needs vLLM (`make install-vllm`).
"""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from transformers import PreTrainedModel, Qwen3Config, Qwen3ForCausalLM, Qwen3MoeConfig, Qwen3MoeForCausalLM
from transformers.utils import logging

from benchmarks.report import record
from molt_train.model.load import load_model, model_folder
from molt_train.model.smollm2 import SMOLLM2_NAME
from molt_train.rollout.engine import Sampling
from molt_train.rollout.vllm.engine import VllmEngine
from molt_train.weight_sync import WeightPublisher

NAME = "weight_sync"
NUM_UPDATES = 20
MAX_GAP = 1e-4
FLAT_FACTOR = 2.0
TEMPERATURE = 0.7
MAX_CONTEXT_TOKENS = 512
LONG_TOKENS, SHORT_TOKENS, NUM_PROMPTS, PROMPT_TOKENS = 200, 16, 4, 40
_SIZES: dict[str, Any] = {
    "vocab_size": 256, "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "head_dim": 32, "intermediate_size": 96, "max_position_embeddings": 512,
    "initializer_range": 0.2,
}  # fmt: skip
_EXPERTS: dict[str, Any] = {"num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 32}


@dataclass(frozen=True)
class Agreement:
    """What was seen over the updates."""

    gaps: list[float]
    """Greatest |vLLM's − learner's logprob| after each update."""
    num_spanning: int
    """Updates after which a turn that had been under way held tokens of two versions."""


def main() -> None:
    """Three models that learn, and one that does not."""
    for name, lr in (("tied", 1e-3), ("experts", 1e-3), ("smollm2", 1e-5)):
        with model_of(name) as (model, folder):
            result = asyncio.run(agreement(model, folder, NUM_UPDATES, lr))
        spans = result.num_spanning == NUM_UPDATES
        record(
            f"{NAME}.{name}", f"gap of logprobs after {NUM_UPDATES} updates ≤ {MAX_GAP}, turns go on",
            max(result.gaps), spans and max(result.gaps) <= MAX_GAP,
            {"gaps": result.gaps, "num_spanning": result.num_spanning},
        )  # fmt: skip
    with model_of("tied") as (model, folder):
        still = asyncio.run(agreement(model, folder, NUM_UPDATES, lr=0.0)).gaps
    bound = FLAT_FACTOR * max(still[:3]) + 1e-6
    record(
        f"{NAME}.unchanged", f"at lr 0 the gap after {NUM_UPDATES} syncs ≤ {FLAT_FACTOR}× the first",
        max(still[-3:]), max(still[-3:]) <= bound, {"gaps": still},
    )  # fmt: skip


@contextlib.contextmanager
def model_of(name: str) -> Iterator[tuple[PreTrainedModel, Path]]:
    """A model of the kind and a folder that holds it."""
    if name == "smollm2":
        yield load_model(SMOLLM2_NAME)[0], model_folder(SMOLLM2_NAME)
        return
    torch.manual_seed(0)
    logging.disable_progress_bar()
    model: PreTrainedModel
    if name == "tied":
        model = Qwen3ForCausalLM(Qwen3Config(**_SIZES, tie_word_embeddings=True))
    else:
        model = Qwen3MoeForCausalLM(Qwen3MoeConfig(**_SIZES, **_EXPERTS, norm_topk_prob=True))
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        yield model.eval(), Path(folder)


async def agreement(
    model: PreTrainedModel, folder: Path, num_updates: int, lr: float, options: dict[str, Any] | None = None
) -> Agreement:
    """Update, synchronise with turns under way, sample, and score the samples with the learner."""
    engine = VllmEngine(
        folder, max_context_tokens=MAX_CONTEXT_TOKENS, num_slots=8, options=options, update_timeout_s=60
    )
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr)
    generator = torch.Generator().manual_seed(1)
    prompts = torch.randint(3, 200, (NUM_PROMPTS, PROMPT_TOKENS), generator=generator).tolist()
    gaps: list[float] = []
    num_spanning = 0
    with contextlib.closing(engine), WeightPublisher() as publisher:
        await engine.start()
        session = engine.open_session(0)
        for version in range(1, num_updates + 1):
            long = asyncio.create_task(
                session.generate(prompts[0], Sampling(LONG_TOKENS, TEMPERATURE, seed=version))
            )
            await asyncio.sleep(0.05)
            train(model, optimizer, generator)
            await engine.update_weights(publisher.publish(model, version))
            assert engine.policy_version == version
            num_spanning += len(set((await long).policy_versions)) == 2
            gaps.append(await _gap(engine, model, prompts, version))
    return Agreement(gaps, num_spanning)


def train(model: PreTrainedModel, optimizer: torch.optim.Optimizer, generator: torch.Generator) -> None:
    """One step towards random text."""
    ids = torch.randint(3, 200, (2, 32), generator=generator)
    optimizer.zero_grad()
    model(input_ids=ids, labels=ids).loss.backward()
    optimizer.step()


async def _gap(
    engine: VllmEngine, model: PreTrainedModel, prompts: Sequence[list[int]], version: int
) -> float:
    sessions = [engine.open_session(order) for order in range(len(prompts))]
    turns = await asyncio.gather(
        *(
            session.generate(prompt, Sampling(SHORT_TOKENS, TEMPERATURE, seed=version))
            for session, prompt in zip(sessions, prompts, strict=True)
        )
    )
    gap = 0.0
    for prompt, turn in zip(prompts, turns, strict=True):
        assert set(turn.policy_versions) == {version}
        scored = learner_logprobs(model, prompt, turn.token_ids)
        gap = max(gap, *(abs(a - b) for a, b in zip(scored, turn.logprobs, strict=True)))
    return gap


@torch.no_grad()
def learner_logprobs(model: PreTrainedModel, prompt: list[int], token_ids: list[int]) -> list[float]:
    """The sampled ids' logprobs by a plain forward."""
    logits = model(input_ids=torch.tensor([prompt + token_ids])).logits[0, len(prompt) - 1 : -1]
    logprobs = torch.log_softmax(logits.float() / TEMPERATURE, dim=-1)
    return logprobs.gather(1, torch.tensor(token_ids)[:, None])[:, 0].tolist()


if __name__ == "__main__":
    main()
