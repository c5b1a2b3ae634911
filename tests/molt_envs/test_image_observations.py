"""Environments that show images: spaces, rendering, refusals, workers, tokens, vectors, controls."""

from __future__ import annotations

import socket
from contextlib import closing

import gymnasium
import numpy as np
import pytest

from molt_envs import ByteRenderer, InfrastructureError, Message, TokenEnv, describe, images_of
from molt_envs.checks import check_env, check_token_env
from molt_envs.workers.frames import receive_frame, send_frame
from molt_envs.wrappers import HiddenImages, SwappedImages
from tests.molt_envs.pictured import SIZE, Misshapen, PicturedEnv, Telling, Unblinded
from tests.molt_envs.toy import ToyEnv


def test_the_kit_accepts_it() -> None:
    findings = check_env(PicturedEnv)
    findings.assert_ok()
    shown = {finding.name: finding.message for finding in findings}
    assert shown["the text alone does not tell what to do"].startswith("the same is right in 0% of")


@pytest.mark.parametrize(
    ("broken", "name"),
    [
        (Telling, "the text alone does not tell what to do"),
        (Unblinded, "policies without skill solve next to nothing"),
    ],
)
def test_a_fault_is_caught_by_name(broken: type[PicturedEnv], name: str) -> None:
    failed = [finding.name for finding in check_env(broken, groups=["skill"]) if not finding.ok]
    assert name in failed


def test_an_observation_lies_in_its_space() -> None:
    env = PicturedEnv()
    observation, _ = env.reset(seed=0)
    assert env.observation_space.contains(observation)
    assert observation["image"].shape == (*SIZE, 3) and observation["image"].dtype == np.uint8
    assert env.observation_space.contains(env.step("wrong")[0])


def test_a_turn_without_an_image_shows_zeros() -> None:
    env = PicturedEnv()
    env.reset(seed=0)
    observation = env.step("wrong")[0]
    assert images_of(observation) == () and not observation["image"].any()


def test_an_image_of_another_size_is_the_environments_fault() -> None:
    with pytest.raises(InfrastructureError, match=r"uint8 \(6, 4, 3\), the card says \(4, 6, 3\)"):
        Misshapen().reset(seed=0)


def test_who_is_shown_an_image_may_write_to_it() -> None:
    env = PicturedEnv()
    first, _ = env.reset(seed=0)
    expected = describe(first)
    first["image"][:] = 0
    assert describe(env.reset(seed=0)[0]) == expected


def test_it_renders_text_or_pixels() -> None:
    env = PicturedEnv("rgb_array")
    observation, _ = env.reset(seed=0)
    assert (env.render() == observation["image"]).all()
    env = PicturedEnv("ansi")
    env.reset(seed=0)
    assert env.render() == "How bright?"


def test_pixels_cross_to_a_worker_and_back_and_can_be_written_to() -> None:
    observation, _ = PicturedEnv().reset(seed=0)
    near, far = socket.socketpair()
    with closing(near), closing(far):
        send_frame(near, (observation, 1.0), 5)
        arrived, _ = receive_frame(far, 5)
    assert describe(arrived) == describe(observation)
    arrived["image"][0, 0, 0] = 1


def test_over_tokens_an_image_is_a_run_of_placeholders_of_its_own_turn() -> None:
    renderer = ByteRenderer()
    env = TokenEnv(PicturedEnv(), renderer)
    prompt, _ = env.reset(seed=0)
    assert prompt.count(renderer.image_id) == 1
    assert env.messages[1].images[0].pixels.shape == (*SIZE, 3)
    step = env.step(renderer.write(Message("assistant", "wrong")))
    assert renderer.image_id not in step.token_ids
    assert env.messages[-1].images == ()
    check_token_env(TokenEnv(PicturedEnv(), renderer)).assert_ok()


@pytest.mark.parametrize(
    ("height", "width", "num"), [(28, 28, 1), (29, 28, 2), (112, 112, 16), (112, 224, 32)]
)
def test_a_larger_image_is_a_longer_run(height: int, width: int, num: int) -> None:
    observation = {"text": "", "image": np.ones((height, width, 3), np.uint8)}
    ids = ByteRenderer().encode([Message("user", "", images=images_of(observation))])
    assert ids == [257, *[266] * num, 260, 258]


def test_a_blind_token_env_hides_text_and_image() -> None:
    env = TokenEnv(PicturedEnv(), ByteRenderer(), blind=True)
    env.reset(seed=0)
    assert env.messages[1] == Message("user", "(nothing to see)")


def test_hidden_images_leave_the_text_and_the_reward() -> None:
    env = HiddenImages(PicturedEnv())
    observation, _ = env.reset(seed=0, options={"task_id": "train:4"})
    assert observation["text"] == "How bright?" and images_of(observation) == ()
    assert env.step("5")[1] == 1.0
    assert HiddenImages(ToyEnv()).reset(seed=0)[0] == ToyEnv().reset(seed=0)[0]


def test_swapped_images_are_those_of_other_tasks_and_follow_from_the_seed() -> None:
    def shown() -> list[int]:
        env: gymnasium.Env = SwappedImages(PicturedEnv(), PicturedEnv())
        return [
            int(env.reset(seed=seed, options={"task_id": "train:4"})[0]["image"][0, 0, 0])
            for seed in range(50)
        ]

    first = shown()
    assert 5 not in first and len(set(first)) > 20
    assert shown() == first


def test_a_swapped_image_takes_the_place_of_images_alone() -> None:
    env = SwappedImages(PicturedEnv(), PicturedEnv())
    env.reset(seed=0, options={"task_id": "train:4"})
    observation, *_ = env.step("wrong")
    assert images_of(observation) == ()
    assert env.step("5")[1] == 1.0
