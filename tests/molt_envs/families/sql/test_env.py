"""The environment in a real sandbox: what is rewarded, and what an agent cannot reach."""

from __future__ import annotations

import gymnasium
import pytest

import molt_envs  # noqa: F401 - registers the id
from molt_envs import ToolCall
from molt_envs.families.sql.env import SQLEnv
from molt_envs.families.sql.policies import answer
from molt_envs.families.sql.problems import problem
from molt_envs.families.sql.query_program import open_script, run
from molt_envs.tools.calls import write_calls
from sandboxes import WORK_FOLDER, SandboxUnavailable

pytestmark = pytest.mark.real
QUESTION = {"task_id": "train:3"}


def look(query: str) -> str:
    return write_calls(ToolCall("sql", {"query": query}))


def test_the_right_query_is_rewarded_and_its_constant_result_is_not() -> None:
    item = problem("train", 3)
    rows = run(open_script(item.given), item.query)[1]
    values = ", ".join(f"({', '.join(repr(value) for value in row)})" for row in rows)
    env = SQLEnv()
    for query, earned in ((item.query, 1.0), (f"SELECT * FROM (VALUES {values})", 0.0)):
        env.reset(seed=0, options=QUESTION)
        assert env.step(answer(query))[1:3] == (earned, True)
    env.close()


@pytest.mark.parametrize("split", ["train", "validation", "test"])
def test_an_oracle_that_slips_solves_every_task(split: str) -> None:
    env = SQLEnv()
    for index in range(4):
        observation, info = env.reset(seed=0, options={"task_id": f"{split}:{index}"})
        policy, over, reward = env.oracle(noise=0.3), False, 0.0
        while not over:
            observation, reward, over, truncated, info = env.step(policy.act(observation, info))
            assert not truncated
        assert reward == 1.0
    env.close()


def test_a_query_that_fails_is_told_and_may_be_mended() -> None:
    env = SQLEnv()
    env.reset(seed=0, options=QUESTION)
    observation, reward, terminated, _, _ = env.step(answer("SELECT missing FROM (SELECT 1)"))
    assert observation.startswith("Error: no such column")
    assert (reward, terminated) == (0.0, False)
    assert env.step(answer(problem("train", 3).query))[1] == 1.0
    env.close()


def test_a_query_that_takes_all_memory_is_told_and_the_next_one_works() -> None:
    env = SQLEnv()
    env.reset(seed=0, options=QUESTION)
    huge = (
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 100000) "
        "SELECT i, printf('%.90000c', 'x') AS s FROM n ORDER BY s, i DESC LIMIT 1"
    )
    observation, _, terminated, _, _ = env.step(look(huge))
    assert not terminated
    assert len(observation) < 5000
    assert "(1 rows" in env.step(look("SELECT 1"))[0]
    env.close()


@pytest.mark.parametrize("path", ["/etc/passwd", "hidden.db", f"{WORK_FOLDER}/query_program.py"])
def test_no_file_can_be_reached(path: str) -> None:
    env = SQLEnv()
    env.reset(seed=0, options=QUESTION)
    for query in (f"ATTACH '{path}' AS x", f"SELECT readfile('{path}')", f"VACUUM INTO '{path}'"):
        assert env.step(look(query))[0].startswith("Error: ")
    assert "hidden" not in env.step(look("SELECT * FROM sqlite_master"))[0]
    env.close()


def test_text_of_a_query_cannot_become_code() -> None:
    env = SQLEnv()
    env.reset(seed=0, options=QUESTION)
    for text in ("')); print('{}') #", '"""', "\\", "' || '\n", "SELECT '\u2028'"):
        observation, _, terminated, _, _ = env.step(look(text))
        assert not terminated
        assert observation.startswith("Error: ") or "(1 rows)" in observation
    env.close()


def test_a_backend_that_is_not_there_is_refused() -> None:
    with pytest.raises((SandboxUnavailable, ValueError), match="backend"):
        gymnasium.make("molt/SQL-v0", backend="nowhere")
