"""`molt/SearchQA-v0`: answer a question of several hops from an encyclopedia with a search.

In: calls of `search`, `read` and `answer` as JSON. Out: titles, documents; at the end whether it was right.
"""

import numpy as np

from molt_envs.env import AgentEnv, EnvCard, Task, Turn
from molt_envs.families.search_qa.answers import is_right
from molt_envs.families.search_qa.encyclopedia import encyclopedia
from molt_envs.families.search_qa.policies import FollowSearch, guess, oracle
from molt_envs.families.search_qa.questions import NUM_QUESTIONS, questions
from molt_envs.policy import FixedScript, Policy
from molt_envs.protocol.messages import ToolCall
from molt_envs.tools.calls import Tool, Toolbox, ToolError, call_grammar, show
from molt_envs.tools.schema import suggestion

SUMMARY = "Answer questions of two to four hops from a small encyclopedia with a search"
SYSTEM_PROMPT = (
    "Answer the question from the encyclopedia, which describes an invented world. Search for titles, read "
    "the documents one after the other, and give a short answer: a name, a word or a number alone."
)
GRAMMAR = call_grammar(ToolCall("search", {"query": "mayor of Amadale"}))
NUM_QUERY_CHARS = 500
NUM_SNIPPET_CHARS = 60


class SearchQAEnv(AgentEnv):
    """Questions over one encyclopedia, which all environments of a process share.

    Args:
        num_results: titles that a search shows.
        max_turns: steps after which an episode is truncated.
        render_mode: `ansi` or None.
    """

    def __init__(self, num_results: int = 5, max_turns: int = 15, render_mode: str | None = None) -> None:
        if num_results < 1:
            raise ValueError(f"num_results is {num_results}; a search shows at least one title")
        self._num_results = num_results
        self._encyclopedia = encyclopedia()
        self._box = Toolbox([Tool.of(self.search), Tool.of(self.read), Tool.of(self.answer, ends=True)])
        limits = (0.0, 1.0), NUM_QUESTIONS, max_turns
        card = EnvCard(SUMMARY, SYSTEM_PROMPT, GRAMMAR, *limits, "tool", self._box.schemas, bounded=True)
        super().__init__(card, render_mode)

    def search(self, query: str) -> str:
        """Find documents by words; shows titles and how the documents begin, best first."""
        rows = self._encyclopedia.search.top(query[:NUM_QUERY_CHARS], self._num_results)
        titles = [self._encyclopedia.titles[row] for row in rows]
        begins = [self._encyclopedia.entities[title].text[:NUM_SNIPPET_CHARS] for title in titles]
        pairs = zip(titles, begins, strict=True)
        return "\n".join(f"{title}: {begin}…" for title, begin in pairs) or "nothing found"

    def read(self, title: str) -> str:
        """Show the document with this exact title."""
        entity = self._encyclopedia.entities.get(title)
        if entity is None:
            near = suggestion(title, self._encyclopedia.entities)
            raise ToolError(f"there is no document {title[:60]!r}{near or '; search for its title'}")
        return entity.text

    def answer(self, text: str) -> str:
        """Give the answer, which ends the episode: a name, a word or a number alone."""
        self._answer = text
        return "answered"

    def _begin(self, task: Task, rng: np.random.Generator) -> Turn:
        self._question = questions(task.split)[task.index]
        return Turn(self._question.text)

    def _act(self, action: str) -> Turn:
        results = self._box.run(action)
        if not results[-1].ended:
            return Turn(show(results))
        right = is_right(self._answer, self._question.answers)
        return Turn(show(results), float(right), True, float(right), right)

    def oracle(self, seed: int = 0, noise: float = 0.0) -> FixedScript:
        """A policy that answers the running question; `noise` leaves out hops."""
        self.running_task()
        return oracle(self._question, seed, noise)

    def baselines(self, seed: int = 0) -> dict[str, Policy]:
        """See `AgentEnv.baselines`; the script follows the search for two documents."""
        found = {"script": FollowSearch(), "random": guess(self._encyclopedia.titles, seed)}
        return super().baselines(seed) | found
