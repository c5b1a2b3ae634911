"""States of the process's random generators. In: nothing, or captured states. Out: these, or their effect."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import torch


def capture_random_state() -> dict[str, Any]:
    """States of Python's, numpy's and torch's global generators (GPUs' too), ready for a checkpoint."""
    return {
        "python": random.getstate(),
        "numpy": np.random.get_state(legacy=False),
        "torch": torch.get_rng_state(),
        "cuda": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [],
    }


def restore_random_state(state: dict[str, Any]) -> None:
    """Set all generators back. Raises `ValueError` when the number of GPUs differs from the captured one."""
    num_gpus = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if len(state["cuda"]) != num_gpus:
        raise ValueError(
            f"the checkpoint holds random states of {len(state['cuda'])} GPUs, this machine has {num_gpus}; "
            "go on with as many, or start again"
        )
    random.setstate(state["python"])
    np.random.set_state(state["numpy"])
    torch.set_rng_state(state["torch"])
    if num_gpus:
        torch.cuda.set_rng_state_all(state["cuda"])
