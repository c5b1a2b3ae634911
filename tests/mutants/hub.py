"""Faults in the hub that a test must find. In: nothing. Out: `MUTANTS`."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

MUTANTS: list[Mutant] = [
    Mutant(
        "mask-short-by-one",
        "molt_envs/recorder.py",
        "            mask[start:end] = True",
        "            mask[start : end - 1] = True",
        "tests/molt_envs/test_token_accounting.py::test_the_ids_of_an_episode",
    ),
    Mutant(
        "range-starts-late",
        "molt_envs/recorder.py",
        "segment.ranges.append((start, start + len(token_ids)))",
        "segment.ranges.append((start + 1, start + len(token_ids)))",
        "tests/molt_envs/test_token_accounting.py::test_the_ids_of_an_episode",
    ),
    Mutant(
        "missing-logprob-accepted",
        "molt_envs/recorder.py",
        "if logprob is None or not math.isfinite(logprob):",
        "if logprob is not None and logprob != logprob:",
        "tests/molt_envs/test_token_accounting.py::test_a_missing_logprob_is_an_error_never_zero",
    ),
    Mutant(
        "appended-ids-have-a-version",
        "molt_envs/recorder.py",
        "segment.versions += [NOT_SAMPLED] * len(token_ids)",
        "segment.versions += [0] * len(token_ids)",
        "tests/molt_envs/test_token_accounting.py::test_the_ids_of_an_episode",
    ),
    Mutant(
        "answer-encoded-again",
        "molt_envs/token_env.py",
        "self.renderer.extend(visible[:-1], token_ids, [new], self.card.tools)",
        "self.renderer.extend(visible[:-1], self.renderer.write(visible[-2]), [new], self.card.tools)",
        "tests/molt_envs/test_token_accounting.py::test_a_stop_that_was_not_sampled_is_masked",
    ),
    Mutant(
        "rewrite-judged-by-length",
        "molt_envs/token_env.py",
        "if list(visible[:-2]) != self._shown:",
        "if len(visible) != len(self._shown) + 2:",
        "tests/molt_envs/test_token_accounting.py::test_a_history_that_rewrites_at_equal_length_opens_a_segment",
    ),
    Mutant(
        "window-starts-late",
        "molt_envs/history.py",
        "messages[actions[-self.num_turns] :]",
        "messages[actions[-self.num_turns] + 1 :]",
        "tests/molt_envs/test_rendering.py::test_a_window_shows_the_head_and_the_last_turns",
    ),
    Mutant(
        "stop-appended-twice",
        "molt_envs/rendering.py",
        "ids: list[int] = [] if sampled_ids and sampled_ids[-1] == _END else [_END]",
        "ids: list[int] = [_END]",
        "tests/molt_envs/test_token_accounting.py::test_bytes_of_an_episode",
    ),
    Mutant(
        "loss-outside-actions-accepted",
        "molt_envs/protocol/episode.py",
        "if bool((self.loss_mask & ~mask).any()):",
        "if False:",
        "tests/molt_envs/protocol/test_episode.py::test_a_broken_segment_cannot_be_built",
    ),
    Mutant(
        "zero-reward-counts-as-unscored",
        "molt_envs/protocol/episode.py",
        "if r is not None]",
        "if r]",
        "tests/molt_envs/protocol/test_episode.py::test_a_turn_scored_zero_is_scored",
    ),
    Mutant(
        "unknown-version-accepted",
        "molt_envs/protocol/plain.py",
        "if version != PROTOCOL_VERSION:",
        "if version > 9:",
        "tests/molt_envs/protocol/test_wire.py::test_another_version_is_named_before_its_fields",
    ),
    Mutant(
        "unknown-field-accepted",
        "molt_envs/protocol/fields.py",
        "        if self._left:\n",
        "        if False:\n",
        "tests/molt_envs/protocol/test_wire.py::test_a_wrong_field_is_named",
    ),
    Mutant(
        "lone-surrogates-not-escaped",
        "molt_envs/protocol/wire.py",
        "if _NEEDS_ESCAPE.search(text) is None:",
        "if True:",
        "tests/molt_envs/protocol/test_wire.py::test_json_round_trip_is_exact",
    ),
    Mutant(
        "async-texts-copied",
        "molt_envs/spaces.py",
        "    return SharedTexts(shared_memory, n, _slot_bytes(space))",
        "    return tuple(SharedTexts(shared_memory, n, _slot_bytes(space)))",
        "tests/molt_envs/test_spaces.py::test_sync_and_async_show_the_same",
    ),
    Mutant(
        "last-turn-success-truncated",
        "molt_envs/env.py",
        "truncated = self._turn >= self.card.max_turns and not turn.terminated",
        "truncated = self._turn >= self.card.max_turns",
        "tests/molt_envs/test_env.py::test_success_in_the_last_turn_is_not_truncation",
    ),
    Mutant(
        "task-depends-on-hash-seed",
        "molt_envs/env.py",
        "draw % self.card.splits[split]",
        "hash(str(draw)) % self.card.splits[split]",
        "tests/molt_envs/test_determinism.py::test_same_seed_same_episodes_in_four_processes[molt-tests/Toy-v0]",
    ),
    Mutant(
        "plugin-clash-accepted",
        "molt_envs/registry.py",
        "if known is not None and known.entry_point != entry.entry_point:",
        "if False:",
        "tests/molt_envs/test_registry.py::test_two_plugins_with_one_id_clash",
    ),
    Mutant(
        "unforeseen-error-is-failed",
        "molt_envs/errors.py",
        'result.failure = Failure("unresolved", _reason(error))',
        'result.failure = Failure("failed", _reason(error))',
        "tests/molt_envs/test_errors.py::test_an_unforeseen_error_is_unresolved",
    ),
]
