"""Grids that do not fit a model are refused with the size that does not; those that do become plans."""

from __future__ import annotations

import pytest
from transformers import DeepseekV3Config, PreTrainedConfig, Qwen3Config, Qwen3MoeConfig

from molt_train.config import ConfigError, ParallelConfig, load_config
from molt_train.model.layout import layout, number_of_experts, partial_gradients

DENSE = Qwen3Config(num_attention_heads=8, num_key_value_heads=4, intermediate_size=96)
SPARSE = Qwen3MoeConfig(num_attention_heads=8, num_key_value_heads=4, num_experts=12)
LATENT = DeepseekV3Config(n_routed_experts=16)


@pytest.mark.parametrize(
    ("model", "grid", "message"),
    [
        (DENSE, {"tp_size": 8}, "tp_size = 8 does not divide the 4 key-value heads"),
        (DENSE, {"fsdp_size": 2, "ep_size": 2}, "qwen3 has no experts"),
        (DENSE, {"fsdp_size": 3, "sp_size": 3}, "sp_size = 3 does not divide the 8 heads"),
        (SPARSE, {"fsdp_size": 8, "ep_size": 8}, "ep_size = 8 does not divide the 12 experts"),
        (LATENT, {"tp_size": 2}, "leaves attention whole"),
    ],
)
def test_a_grid_that_does_not_fit_is_refused(
    model: PreTrainedConfig, grid: dict[str, int], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        layout(model, ParallelConfig(**grid))


@pytest.mark.parametrize(
    ("grid", "message"),
    [
        ("parallel.ep_size=2", "does not divide fsdp_size"),
        ("parallel.sp_size=2", "does not divide fsdp_size"),
        ("parallel.tp_size=2 parallel.fsdp_size=3 parallel.ep_size=3", "no multiple of tp_size"),
        ("parallel.fsdp_size=2 parallel.sp_size=2 algorithm.correction=seq", "needs whole sequences"),
    ],
)
def test_sizes_that_do_not_fit_each_other_are_told_when_the_recipe_is_read(grid: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        load_config("webshop", grid.split())


def test_a_plan_leaves_the_output_matrix_whole_and_lets_us_sum_partial_gradients() -> None:
    plan = layout(SPARSE, ParallelConfig(fsdp_size=2, tp_size=2, ep_size=4))
    assert (plan.fsdp_size, plan.tp_size, plan.ep_size) == (2, 2, 4)
    assert isinstance(plan.tp_plan, dict)
    assert plan.tp_plan["lm_head"] == plan.tp_plan["model.layers.*.self_attn.q_norm"] == "replicate"
    assert partial_gradients(SPARSE) == (".self_attn.q_norm.weight", ".self_attn.k_norm.weight")


def test_experts_are_counted_in_each_architecture() -> None:
    assert [number_of_experts(model) for model in (DENSE, SPARSE, LATENT)] == [0, 12, 16]
