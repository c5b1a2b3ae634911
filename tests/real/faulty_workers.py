"""vLLM workers with one of the two mends left out, without which CPU builds keep old weights."""
# pyright: reportMissingImports=false

from __future__ import annotations

import os

from molt_train.rollout.vllm import worker

FAULT = "MOLT_TESTS_FAULT"
"""Environment variable: the name of the mend that is left out."""


class WorkerExtension(worker.WorkerExtension):
    """Its import leaves the mend out."""


def _nothing(module: object) -> None:
    pass


if os.environ[FAULT] == "forget_packed_experts":
    worker.forget_packed_experts = _nothing
else:
    assert os.environ[FAULT] == "repack_head"
    worker.repack_head = _nothing
