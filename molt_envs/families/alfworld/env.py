"""`molt/ALFWorld-v0`: a household in text.

In: commands such as `go to fridge 1`. Out: what ALFWorld says to them, and reward 1 when the task is done.
"""

from functools import lru_cache
from hashlib import blake2b
from pathlib import Path

import numpy as np

from molt_envs.env import ActionGrammar, AgentEnv, EnvCard, Task, Turn
from molt_envs.families.alfworld.game import Game
from molt_envs.families.alfworld.household import goals
from molt_envs.families.alfworld.oracle import HouseholdOracle, RoutinePolicy
from molt_envs.families.alfworld.original import find_games, read_game
from molt_envs.families.alfworld.tasks import make_world
from molt_envs.policy import Policy

SUMMARY = "Find things in a household, clean, heat or cool them, and bring them where they belong, in text"
SYSTEM_PROMPT = (
    "You are in a household. Do the task that is set at the start. Each turn, write one command: {forms}. "
    "A command that cannot be done is answered with 'Nothing happens.'"
)
FORMS = (
    "go to R, open R, close R, take O from R, {move}, clean O with R, heat O with R, cool O with R, use O, "
    "slice O with O, examine O or R, look, inventory, help. O is an object and R a receptacle, with a number"
)
_NAME = r"[a-z]+ \d+"
PATTERN = (
    rf"(?m)\b(?:go to|open|close|use|examine) {_NAME}\b|\b(?:take {_NAME} from|move {_NAME} to"
    rf"|put {_NAME} in/on|(?:clean|heat|cool|slice) {_NAME} with) {_NAME}\b"
    r"|^[ \t]*(?:look|inventory|help)[ \t]*$"
)


class HouseholdEnv(AgentEnv):
    """One household task an episode; doing it ends the episode with reward 1.

    Args:
        data_dir: folder with the original's game files; None for the package's own tasks.
        put: whether things are `put O in/on R`, as before version 0.4 of the original, not `move O to R`.
        max_turns: steps after which an episode is truncated.
        render_mode: `ansi` or None.
    """

    def __init__(
        self,
        data_dir: str | Path | None = None,
        put: bool = False,
        max_turns: int = 50,
        render_mode: str | None = None,
    ) -> None:
        self._put = put
        self._games = None if data_dir is None else find_games(Path(data_dir))
        self._read = lru_cache(maxsize=512)(read_game)
        tasks = goals() if self._games is None else self._games
        splits = {name: len(of_split) for name, of_split in tasks.items()}
        forms = FORMS.format(move="put O in/on R" if put else "move O to R")
        grammar = ActionGrammar(forms, "go to cabinet 1", PATTERN)
        prompt = SYSTEM_PROMPT.format(forms=forms)
        card = EnvCard(SUMMARY, prompt, grammar, (0.0, 1.0), splits, max_turns, bounded=True)
        super().__init__(card, render_mode)

    def oracle(self, seed: int = 0, noise: float = 0.0) -> HouseholdOracle:
        """A policy that does the running task; `noise` leaves out steps that it needs."""
        self.running_task()
        return HouseholdOracle(self._world, self._put, seed, noise)

    def baselines(self, seed: int = 0) -> dict[str, Policy]:
        """See `AgentEnv.baselines`; the script carries the first thing of each place to the next one."""
        return super().baselines(seed) | {"script": RoutinePolicy()}

    def admissible(self) -> tuple[str, ...]:
        """The commands that do something now, in alphabetical order."""
        return self._game.admissible

    def _begin(self, task: Task, rng: np.random.Generator) -> Turn:
        if self._games is not None:
            self._world = self._read(self._games[task.split][task.index])
        else:
            self._world = make_world(goals()[task.split][task.index])
        self._game = Game(self._world, self._put)
        return self._turn_now(self._game.intro())

    def _act(self, action: str) -> Turn:
        return self._turn_now(self._game.act(action))

    def _turn_now(self, text: str) -> Turn:
        game = self._game
        score = float(game.won)
        # hashed, since the state tells where everything is
        key = blake2b(game.state_key.encode(), digest_size=8).hexdigest()
        return Turn(text, score, game.won, score, game.won, game.admissible, key)
