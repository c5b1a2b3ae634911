"""How a model is laid out over processes: transformers' own plans, mended, and what cannot be is refused.

In: a model's configuration and section `parallel`. Out: transformers' `DistributedConfig`.
"""

from __future__ import annotations

from typing import Any

from torch.distributed.fsdp import FSDPModule
from transformers import AutoModelForCausalLM, PreTrainedConfig, PreTrainedModel
from transformers.distributed.configuration_utils import DistributedConfig

from molt_train.config.parallel import ParallelConfig

_SUMS_ITSELF = "replicated_with_grad_allreduce"
"""Style of weights that each tensor-parallel process uses on its own heads: transformers sums their gradient
at every backward pass, which counts earlier passes again when gradients accumulate. We sum once."""


def layout(config: PreTrainedConfig, parallel: ParallelConfig) -> DistributedConfig:
    """The plan for this grid.

    Raises:
        ValueError: the grid does not fit the model; says which size and why.
    """
    check_fit(config, parallel)
    return DistributedConfig(
        fsdp_size=parallel.fsdp_size,
        dp_replicate_size=parallel.replicas,
        tp_size=parallel.tp_size,
        ep_size=parallel.ep_size,
        tp_plan=_tensor_plan(config) if parallel.tp_size > 1 else None,
        fsdp_cpu_offload=parallel.cpu_offload,
    )


def partial_gradients(config: PreTrainedConfig) -> tuple[str, ...]:
    """Ends of the names of weights whose gradients must be summed over tensor-parallel processes."""
    plan: dict[str, str] = config.base_model_tp_plan or {}
    return tuple(
        f".{rule.rpartition('*.')[2]}.weight" for rule, style in plan.items() if style == _SUMS_ITSELF
    )


def check_fit(config: PreTrainedConfig, parallel: ParallelConfig) -> None:
    """Raise ValueError for a grid that would fail later, or silently train another model."""
    text = config.get_text_config()
    heads, kv_heads = text.num_attention_heads, text.num_key_value_heads
    kind, tp_size, plan = text.model_type, parallel.tp_size, text.base_model_tp_plan or {}
    if tp_size > 1:
        if not any("attn" in rule for rule in plan):
            raise ValueError(
                f"parallel.tp_size = {tp_size}: the plan of {kind} leaves attention whole on every process; "
                "set tp_size=1 and raise fsdp_size or ep_size"
            )
        _divides(tp_size, "parallel.tp_size", kv_heads, f"key-value heads of {kind}")
        _divides(tp_size, "parallel.tp_size", heads, f"heads of {kind}")
        _divides(tp_size, "parallel.tp_size", text.intermediate_size, f"intermediate size of {kind}")
    num_experts = number_of_experts(text)
    if parallel.ep_size > 1:
        if not num_experts:
            raise ValueError(f"parallel.ep_size = {parallel.ep_size}, but {kind} has no experts; set it to 1")
        _divides(parallel.ep_size, "parallel.ep_size", num_experts, f"experts of {kind}")
    if parallel.sp_size > 1:
        _divides(parallel.sp_size, "parallel.sp_size", heads, f"heads of {kind}")


def share_tied_shards(model: PreTrainedModel) -> None:
    """Make every sharding group that has a tied weight gather the same shard; after a first forward pass.

    The output layer is tied after the groups are made, so that two of them have the weight. Where its rows do
    not divide evenly, each keeps a padded copy, of which the optimizer would change one alone.
    """
    holders: dict[int, list[Any]] = {}
    for module in model.modules():
        if isinstance(module, FSDPModule):
            group = module._get_fsdp_state()._fsdp_param_group
            for held in group.fsdp_params if group is not None else ():
                holders.setdefault(id(held.sharded_param), []).append(held)
    for tied in holders.values():
        place = tied[0].sharded_param.to_local().untyped_storage().data_ptr()
        shard = [held for held in tied if held._sharded_param_data.untyped_storage().data_ptr() == place]
        assert shard, "one of the groups gathers what the optimizer changes"
        for held in tied:
            held._sharded_param_data = shard[0]._sharded_param_data


def number_of_experts(config: PreTrainedConfig) -> int:
    """Routed experts of each sparse layer; 0 for a dense model."""
    values = config.to_dict()
    names = ("num_experts", "n_routed_experts", "num_local_experts")
    return next((int(values[name]) for name in names if values.get(name)), 0)


def _divides(size: int, name: str, count: int, what: str) -> None:
    if count % size:
        raise ValueError(f"{name} = {size} does not divide the {count} {what}; take a divisor")


def _tensor_plan(config: PreTrainedConfig) -> dict[str, str]:
    """What differs from transformers' plan: the output matrix is whole, for tokens are scored in chunks."""
    model: Any = AutoModelForCausalLM._model_mapping[type(config)]
    base = model.base_model_prefix
    plan = {"lm_head": "replicate"}
    if config.tie_word_embeddings:
        plan[f"{base}.embed_tokens"] = "replicate"
    rules: dict[str, str] = config.base_model_tp_plan or {}
    return plan | {f"{base}.{rule}": "replicate" for rule, style in rules.items() if style == _SUMS_ITSELF}
