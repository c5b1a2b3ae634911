"""The environment: who solves it, what counts as done, and what an agent inside can find out or forge."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from molt_envs.families.shell.env import ShellEnv
from molt_envs.families.shell.policies import SUBMIT, run
from molt_envs.families.shell.state import changes
from molt_envs.families.shell.tasks import SPLITS, ShellTask, shell_task
from molt_envs.policy import Policy

pytestmark = pytest.mark.real

NUM_SAMPLES = 15
COUNT_LEVEL = 4
"""Index of a task whose result is one number in one file."""


@pytest.fixture(scope="module")
def env() -> Iterator[ShellEnv]:
    env = ShellEnv()
    yield env
    env.close()


def play(env: ShellEnv, task_id: str, who: str, noise: float = 0.0) -> tuple[float, bool]:
    observation, info = env.reset(seed=0, options={"task_id": task_id})
    policy: Policy = env.oracle(1, noise) if who == "oracle" else env.baselines(3)[who]
    over, reward = False, 0.0
    while not over:
        observation, reward, terminated, truncated, info = env.step(policy.act(observation, info))
        over = terminated or truncated
    return reward, info["success"]


def begin(env: ShellEnv, index: int = COUNT_LEVEL) -> ShellTask:
    env.reset(seed=0, options={"task_id": f"train:{index}"})
    return shell_task("train", index)


def end(env: ShellEnv, *commands: str) -> tuple[float, float]:
    """Reward and score after some commands and `submit`."""
    for command in commands:
        env.step(run(command))
    _, reward, terminated, _, info = env.step(SUBMIT)
    assert terminated
    return reward, info["score"]


def result_path(task: ShellTask) -> str:
    ((path, _),) = changes(task.start, task.goal)
    return path


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("noise", [0.0, 0.5])
def test_the_oracle_solves_every_template(env: ShellEnv, split: str, noise: float) -> None:
    plays = [play(env, f"{split}:{index}", "oracle", noise) for index in range(NUM_SAMPLES)]
    assert plays == [(1.0, True)] * NUM_SAMPLES


@pytest.mark.parametrize(("who", "most"), [("nothing", 0.0), ("random", 0.05), ("script", 0.3)])
def test_policies_without_skill_stay_low(env: ShellEnv, who: str, most: float) -> None:
    for split in SPLITS:
        solved = [play(env, f"{split}:{index}", who)[1] for index in range(NUM_SAMPLES)]
        assert sum(solved) / len(solved) <= most


def test_submitting_at_once_earns_nothing(env: ShellEnv) -> None:
    begin(env)
    assert end(env) == (0.0, 0.0)
    begin(env)
    assert end(env, "true") == (0.0, 0.0)


def test_a_file_too_many_costs_the_reward_and_a_part_of_the_score(env: ShellEnv) -> None:
    task = begin(env)
    assert end(env, *task.commands, "touch extra") == (0.0, 0.5)
    begin(env)
    assert end(env, *task.commands, "touch /tmp/extra") == (1.0, 1.0)


def test_a_wrong_result_earns_nothing(env: ShellEnv) -> None:
    task = begin(env)
    assert end(env, f"echo 987654 > {result_path(task)}") == (0.0, 0.0)


def test_changed_permissions_are_a_change(env: ShellEnv) -> None:
    task = begin(env)
    assert end(env, *task.commands, f"chmod 600 {sorted(task.start)[0]}")[0] == 0.0


def test_a_part_can_be_rewarded() -> None:
    env = ShellEnv(partial=True)
    task = begin(env)
    assert end(env, *task.commands, "touch extra") == (0.5, 0.5)
    env.close()


def test_a_late_change_by_a_child_in_the_background_does_not_count(env: ShellEnv) -> None:
    task = begin(env)
    assert (
        end(env, *task.commands, "(while :; do touch extra; rm extra; done) & (sleep 1; rm -r *) &")[1] >= 0.5
    )


def test_tampering_with_tools_does_not_change_what_is_seen(env: ShellEnv) -> None:
    task = begin(env)
    fake = "#!/bin/sh\\necho '{}'\\n"
    forge = f'for n in python3 find cat sh; do printf "{fake}" > /tmp/$n; chmod +x /tmp/$n; done'
    lines = "import builtins, sys; print(chr(123) + chr(125)); sys.exit(0)"
    poison = f"for n in json os stat zlib sitecustomize; do echo '{lines}' > /tmp/$n.py; done"
    home = (
        "printf 'PATH=/tmp\\nPYTHONPATH=/tmp\\n' | tee /tmp/.profile /tmp/.bashrc /tmp/.env > /tmp/.pythonrc"
    )
    assert end(env, *task.commands, forge, poison, home, "export PATH=/tmp PYTHONPATH=/tmp") == (1.0, 1.0)


def test_modules_in_the_work_folder_are_not_run_by_the_judge(env: ShellEnv) -> None:
    task = begin(env)
    (path,) = (entry for _, entry in changes(task.start, task.goal))
    assert path is not None
    print_goal = f"import sys; print('{{}}'); sys.exit(0) # {path.content}"
    assert end(env, f'echo "{print_goal}" | tee json.py os.py stat.py sitecustomize.py') == (0.0, 0.0)


@pytest.mark.parametrize(
    "command",
    [
        "bomb() { bomb | bomb & }; bomb",
        "for n in 1 2 3; do head -c 40000000 /dev/zero > big$n; done",
        "i=0; while touch f$i; do i=$((i+1)); done 2>/dev/null",
        "i=0; while [ $i -lt 3000 ]; do mkdir d && cd d; i=$((i+1)); done",
        "mkfifo pipe; ln -s loop loop; ln -s /etc/shadow shadow; truncate -s 60M sparse",
        "head -c 60000000 /dev/zero | gzip > bomb.tar.gz",
        "touch \"$(printf 'a\\nb')\" \"$(printf '\\377')\"; chmod 000 *",
        "rm -rf * .[a-z]*; chmod 000 .",
        "kill -9 -1; kill -9 $PPID",
    ],
)
def test_whatever_is_left_behind_is_judged(env: ShellEnv, command: str) -> None:
    begin(env)
    assert end(env, command)[0] == 0.0
    assert play(env, "train:1", "oracle") == (1.0, True)


def test_the_wanted_state_is_nowhere_inside(env: ShellEnv) -> None:
    task = begin(env, 7)  # a setting's new value is in the instruction alone
    (entry,) = (entry for _, entry in changes(task.start, task.goal))
    assert entry is not None
    line = next(one for one in entry.content.splitlines() if one not in str(task.start))
    hidden = "".join(f"[{char}]" if char.isalnum() else "." for char in line)  # does not match itself
    search = f"(cat $(find . /tmp /dev/shm /etc -type f) /proc/*/environ | grep -c '{hidden}') 2>/dev/null"
    assert env.step(run(search))[0].startswith("0\n")


def test_the_host_is_out_of_reach(env: ShellEnv) -> None:
    begin(env)
    observation = env.step(run("cat /etc/shadow; id -u; echo x > /usr/x"))[0]
    assert "root:x" not in observation and "cannot create /usr/x" in observation
    assert "\n0\n" not in observation
