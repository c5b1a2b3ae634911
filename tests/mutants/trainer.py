"""Faults in the trainer that a test must find. In: nothing. Out: `MUTANTS`."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_ADVANTAGE, _LOSS = "molt_train/algorithms/advantage.py", "molt_train/algorithms/loss.py"
_CORRECTION, _AGGREGATE = "molt_train/algorithms/correction.py", "molt_train/algorithms/aggregate.py"
_PACKING, _SAMPLES = "molt_train/data/packing.py", "molt_train/data/samples.py"
_EPISODE, _RUNNER = "molt_train/rollout/episode.py", "molt_train/rollout/runner.py"
_LEARNER, _LOGPROBS = "molt_train/learner.py", "molt_train/model/logprobs.py"

_TESTS = "tests/molt_train"
_T_ADVANTAGE, _T_LOSS = f"{_TESTS}/algorithms/test_advantage.py", f"{_TESTS}/algorithms/test_loss.py"
_T_CORRECTION = f"{_TESTS}/algorithms/test_correction.py"
_T_PACKING, _T_SAMPLES = f"{_TESTS}/data/test_packing.py", f"{_TESTS}/data/test_samples.py"
_T_LEARNER, _T_FIELD = f"{_TESTS}/test_learner.py", f"{_TESTS}/test_field_cases.py"
_T_EPISODE, _T_RUNNER = f"{_TESTS}/rollout/test_episode.py", f"{_TESTS}/rollout/test_runner.py"
_T_ENGINE = f"{_TESTS}/rollout/test_transformers_engine.py"

MUTANTS: list[Mutant] = [
    Mutant(
        "predictor-off-by-one",
        _PACKING,
        "np.flatnonzero(sample.segment.loss_mask) - 1)",
        "np.flatnonzero(sample.segment.loss_mask))",
        f"{_T_PACKING}::test_the_predictor_is_the_position_before_the_target",
    ),
    Mutant(
        "predictor-ignores-the-row",
        _PACKING,
        "predictors.append(row * width + ",
        "predictors.append(",
        f"{_TESTS}/model/test_score.py::test_scores_equal_a_plain_forward",
    ),
    Mutant(
        "loss-on-observations",
        _PACKING,
        "masks = [sample.segment.loss_mask for sample in samples]",
        "masks = [~sample.segment.loss_mask for sample in samples]",
        f"{_T_FIELD}::test_only_sampled_tokens_are_targets",
    ),
    Mutant(
        "denominators-per-micro-batch",
        _PACKING,
        "batches.append(_micro_batch([used[i] for i in rows], [weights[i] for i in rows], rows, width, pad_id))",
        "batches.append(_micro_batch([used[i] for i in rows], "
        "_weights([used[i] for i in rows], aggregate, norm_tokens), rows, width, pad_id))",
        f"{_T_LEARNER}::test_the_gradient_is_that_of_a_plain_loop_for_every_split",
    ),
    Mutant(
        "groups-by-task-place",
        _SAMPLES,
        "groups = [names.index(episode.group_id) for episode, _ in scored]",
        "groups = [place // 2 for place, _ in enumerate(scored)]",
        f"{_T_SAMPLES}::test_groups_are_found_by_id_wherever_their_episodes_stand",
    ),
    Mutant(
        "swapped-group-ids",
        _SAMPLES,
        "Sample(segment, advantages_T, number, groups[number])",
        "Sample(segment, advantages_T, groups[number], number)",
        f"{_T_LEARNER}::test_the_gradient_is_that_of_a_plain_loop_for_every_split",
    ),
    Mutant(
        "segments-count-as-episodes",
        _SAMPLES,
        "        for number, (episode, _) in enumerate(scored)\n"
        "        for segment, advantages_T in zip(episode.segments, per_episode[number], strict=True)",
        "        for number, (episode, _) in enumerate(scored)\n"
        "        for segment, advantages_T in zip(episode.segments[-1:], per_episode[number][-1:], strict=True)",
        f"{_T_SAMPLES}::test_an_episode_of_two_segments_counts_once",
    ),
    Mutant(
        "unscored-counts-as-zero",
        _SAMPLES,
        "(item.episode, item.reward)\n        for item in graded\n        if item.reward is not None\n",
        "(item.episode, item.reward or 0.0)\n        for item in graded\n        if True\n",
        f"{_T_FIELD}::test_an_unscored_episode_is_no_zero",
    ),
    Mutant(
        "unresolved-is-trained-on",
        _SAMPLES,
        "and item.episode.outcome in TRAINABLE",
        "and item.episode.outcome != 'failed'",
        f"{_T_SAMPLES}::test_unresolved_unscored_and_untrained_episodes_are_left_out_and_counted",
    ),
    Mutant(
        "biased-std",
        _ADVANTAGE,
        "np.sqrt(squares_G / np.maximum(counts_G - 1, 1))",
        "np.sqrt(squares_G / counts_G)",
        f"{_T_ADVANTAGE}::test_literal_values",
    ),
    Mutant(
        "equality-by-rounding",
        _ADVANTAGE,
        "np.where(_flat_group(rewards_E, groups_E)[groups_E], 0.0, rewards_E - means_G[groups_E])",
        "rewards_E - means_G[groups_E]",
        f"{_T_ADVANTAGE}::test_equal_rewards_give_exactly_zero",
    ),
    Mutant(
        "returns-without-discount",
        _ADVANTAGE,
        "following = rewards_T[t] + gamma * following",
        "following = rewards_T[t] + following",
        f"{_T_ADVANTAGE}::test_reinforce_returns",
    ),
    Mutant(
        "nan-times-mask",
        _ADVANTAGE,
        "rewards_T[action_mask_T] = -kl_coef * kl_T[action_mask_T]",
        "rewards_T -= kl_coef * kl_T * action_mask_T",
        f"{_T_ADVANTAGE}::test_nan_outside_the_mask_is_not_read",
    ),
    Mutant(
        "clip-bounds-swapped",
        _LOSS,
        "clamp(1.0 - clip_low, 1.0 + clip_high)",
        "clamp(1.0 - clip_high, 1.0 + clip_low)",
        f"{_T_LOSS}::test_the_bounds_are_not_symmetric",
    ),
    Mutant(
        "dual-clip-for-every-sign",
        _LOSS,
        "(advantages_N < 0) & (loss_N > bound_N)",
        "loss_N > bound_N",
        f"{_T_LOSS}::test_ppo_on_random_tokens_equals_the_slow_loop",
    ),
    Mutant(
        "geometric-mean-as-sum",
        _CORRECTION,
        'if level == "geo":',
        "if False:",
        f"{_T_CORRECTION}::test_literal_values",
    ),
    Mutant(
        "correction-the-wrong-way-round",
        _CORRECTION,
        "(old_logprobs_N - rollout_logprobs_N)",
        "(rollout_logprobs_N - old_logprobs_N)",
        f"{_T_CORRECTION}::test_literal_values",
    ),
    Mutant(
        "kl-the-wrong-way-round",
        "molt_train/algorithms/kl.py",
        "return bounded_exp(-d_N) - 1 + d_N",
        "return bounded_exp(d_N) - 1 - d_N",
        f"{_T_LOSS}::test_kl_estimators",
    ),
    Mutant(
        "aggregation-by-prompt-counts-sequences",
        _AGGREGATE,
        "tokens_of_prompt_N, num_prompts = _sizes(prompt_N)",
        "tokens_of_prompt_N, num_prompts = _sizes(sequence_N)",
        f"{_TESTS}/algorithms/test_aggregate.py::test_literal_values",
    ),
    Mutant(
        "group-kept-at-the-bound",
        "molt_train/algorithms/shaping.py",
        "low < sum(scores)",
        "low <= sum(scores)",
        f"{_TESTS}/algorithms/test_shaping.py::test_a_group_is_kept_strictly_between_the_bounds",
    ),
    Mutant(
        "training-drops-the-temperature",
        _LEARNER,
        "score_tokens(model, batch, self._config.rollout.temperature, self._autocast)",
        "score_tokens(model, batch, 1.0, self._autocast)",
        f"{_T_FIELD}::test_sampling_and_training_score_the_same_distribution",
    ),
    Mutant(
        "engine-drops-the-temperature",
        "molt_train/rollout/sampler.py",
        "divisors = [temperature or 1.0 for temperature in temperatures]",
        "divisors = [1.0 for _ in temperatures]",
        f"{_T_FIELD}::test_sampling_and_training_score_the_same_distribution",
    ),
    Mutant(
        "gradient-without-the-temperature",
        _LOGPROBS,
        "grad_logits_CV = (grad_logits_CV * ctx.scale)",
        "grad_logits_CV = (grad_logits_CV * 1.0)",
        f"{_TESTS}/model/test_logprobs.py::test_values_and_gradients_equal_a_full_log_softmax",
    ),
    Mutant(
        "gradient-of-the-last-chunk-only",
        _LOGPROBS,
        "grad_weight_VD += (",
        "grad_weight_VD = (",
        f"{_TESTS}/model/test_logprobs.py::test_values_and_gradients_equal_a_full_log_softmax",
    ),
    Mutant(
        "reference-follows-the-model",
        _LEARNER,
        "reference = copy.deepcopy(model)\n    reference.requires_grad_(False)",
        "reference = model",
        f"{_T_LEARNER}::test_the_reference_is_the_model_of_the_start",
    ),
    Mutant(
        "old-logprobs-of-each-minibatch",
        _LEARNER,
        "logprobs_N, scored.old_logprobs_N, batch.advantages_N,",
        "logprobs_N, logprobs_N.detach(), batch.advantages_N,",
        f"{_T_LEARNER}::test_minibatches_are_whole_episodes_and_use_old_logprobs_of_the_start",
    ),
    Mutant(
        "infinite-gradient-is-applied",
        _LEARNER,
        "if math.isfinite(norm):\n            self.optimizer.step()",
        "if True:\n            self.optimizer.step()",
        f"{_T_LEARNER}::test_an_infinite_gradient_is_skipped_and_counted",
    ),
    Mutant(
        "stop-reason-lost",
        _EPISODE,
        'if generation.stop_reason == "length":',
        'if generation.stop_reason == "length" and turn == 0:',
        f"{_T_FIELD}::test_the_reason_of_the_last_turn_arrives",
    ),
    Mutant(
        "reward-on-the-wrong-turn",
        _EPISODE,
        "        state.info = step.info\n        recorder.reward(step.reward)\n",
        "        state.info = step.info\n        if step.terminated:\n            recorder.reward(step.reward)\n",
        f"{_T_EPISODE}::test_terminated",
    ),
    Mutant(
        "bootstrap-lost",
        _EPISODE,
        'recorder.close("truncated", bootstrap_ids=step.token_ids)',
        'recorder.close("truncated")',
        f"{_T_EPISODE}::test_truncated_keeps_what_the_policy_would_have_seen",
    ),
    Mutant(
        "one-seed-for-all-turns",
        _EPISODE,
        "seed=derive_seed(request.seed, turn)",
        "seed=derive_seed(request.seed, 0)",
        f"{_T_EPISODE}::test_the_next_prompt_is_what_was_said_and_each_turn_has_its_seed",
    ),
    Mutant(
        "sampled-ids-encoded-again",
        _EPISODE,
        "context = [*context, *generation.token_ids, *step.token_ids]",
        "context = [*context, *env.renderer.write(env.renderer.parse(generation.token_ids)), *step.token_ids]",
        f"{_T_FIELD}::test_sampled_ids_are_kept_where_encoding_would_choose_others",
    ),
    Mutant(
        "score-not-checked",
        _EPISODE,
        "    if not math.isfinite(score):",
        "    if False:",
        f"{_T_EPISODE}::test_a_fault_of_the_environment_is_unresolved_and_unscored",
    ),
    Mutant(
        "session-left-open",
        _RUNNER,
        "                session.close()",
        "                pass",
        f"{_T_RUNNER}::test_no_session_stays_open_and_the_runner_can_go_on",
    ),
    Mutant(
        "episodes-in-order-of-completion",
        _RUNNER,
        "return [results[index] for index in range(len(requests))]",
        "return list(results.values())",
        f"{_T_RUNNER}::test_episodes_come_back_in_the_order_asked_for",
    ),
    Mutant(
        "stale-engine-cache",
        "molt_train/rollout/transformers_engine.py",
        "            seat.cached_ids = []",
        "            pass",
        f"{_T_ENGINE}::test_new_weights_are_followed",
    ),
    Mutant(
        "cache-longer-than-computed",
        "molt_train/rollout/turn.py",
        "min(common_prefix(self.prompt_ids, cached_ids), len(self.prompt_ids) - 1)",
        "min(len(cached_ids), len(self.prompt_ids) - 1)",
        f"{_T_ENGINE}::test_a_rewritten_history_is_computed_from_the_common_prefix",
    ),
    Mutant(
        "action-mask-covers-what-is-appended",
        "molt_envs/recorder.py",
        "        segment.token_ids += token_ids\n        segment.logprobs += [0.0] * len(token_ids)\n",
        "        segment.token_ids += token_ids\n        segment.logprobs += [0.0] * len(token_ids)\n"
        "        segment.ranges[-1] = (segment.ranges[-1][0], len(segment.token_ids))\n",
        f"{_T_FIELD}::test_an_end_that_was_not_sampled_is_masked",
    ),
    Mutant(
        "grader-failure-is-zero",
        "molt_train/rewards.py",
        "    if result.failure is not None:",
        "    if result.failure is not None and reward is None:",
        f"{_TESTS}/test_rewards.py::test_a_grader_that_fails_makes_its_episode_unresolved",
    ),
    Mutant(
        "sampler-repeats-after-resume",
        "molt_train/data/tasks.py",
        "taken = order[position : position + count - len(task_ids)]",
        "taken = order[max(0, position - 1) : position + count - len(task_ids)]",
        f"{_TESTS}/data/test_tasks.py::test_each_task_comes_once_per_epoch",
    ),
    Mutant(
        "demonstration-has-no-end",
        "molt_train/demonstrations.py",
        'ids = env.renderer.write(Message("assistant", action))',
        'ids = env.renderer.write(Message("assistant", action))[:-1]',
        f"{_TESTS}/test_demonstrations.py::test_ids_masks_and_rewards",
    ),
    Mutant(
        "evaluation-counts-the-unresolved",
        "molt_train/loop/evaluate.py",
        'resolved = [episode for episode in episodes if episode.outcome != "unresolved"]',
        "resolved = list(episodes)",
        f"{_TESTS}/loop/test_evaluate.py::test_the_unresolved_are_counted_and_enter_no_mean",
    ),
]
