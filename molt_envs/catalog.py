"""The hub's own environments as data: an id, where its class is, and one line about it.

In: nothing. Out: `BUILT_IN`, which the registry reads. No family is imported from here.
"""

from __future__ import annotations

from dataclasses import dataclass

import gymnasium.error
from gymnasium.envs.registration import parse_env_id


@dataclass(frozen=True, slots=True)
class EnvEntry:
    """One registered id."""

    env_id: str
    """`namespace/Name-vN`."""
    entry_point: str
    """`module:Class`, imported when the environment is made."""
    summary: str
    """One line for lists."""
    source: str = "molt-envs"
    """The distribution that brings it."""

    def __post_init__(self) -> None:
        try:
            namespace, _, version = parse_env_id(self.env_id)
        except gymnasium.error.Error as error:
            raise ValueError(f"{self.env_id!r} is not an environment id: {error}") from error
        if namespace is None or version is None:
            raise ValueError(f"{self.env_id!r} lacks a namespace or a version; an id reads namespace/Name-v0")
        module, _, name = self.entry_point.partition(":")
        if not all(part.isidentifier() for part in (*module.split("."), name)):
            raise ValueError(f"{self.env_id}: {self.entry_point!r} is not of the form module:Class")


BUILT_IN: tuple[EnvEntry, ...] = (
    EnvEntry(
        "molt/WebShop-v0",
        "molt_envs.families.webshop.env:WebShopEnv",
        "Find and buy the product that an instruction asks for, in a shop of text pages",
    ),
    EnvEntry(
        "molt/ALFWorld-v0",
        "molt_envs.families.alfworld.env:HouseholdEnv",
        "Find things in a household, clean, heat or cool them, and bring them where they belong",
    ),
    EnvEntry(
        "molt/KuhnPoker-v0",
        "molt_envs.families.games.kuhn:KuhnPokerEnv",
        "Matches of Kuhn poker, three cards and one bet, against a policy, a script or a person",
    ),
    EnvEntry(
        "molt/SearchQA-v0",
        "molt_envs.families.search_qa.env:SearchQAEnv",
        "Answer questions of two to four hops from a small encyclopedia with a search",
    ),
    EnvEntry(
        "molt/ToolCalls-v0",
        "molt_envs.families.tool_calls.env:ToolCallsEnv",
        "Do an errand in a small office by function calls; only the changes that were made count",
    ),
    EnvEntry(
        "molt/PythonTool-v0",
        "molt_envs.families.python_tool.env:PythonToolEnv",
        "Problems that need computing, with a Python interpreter that keeps its state in an episode",
    ),
    EnvEntry(
        "molt/Shell-v0",
        "molt_envs.families.shell.env:ShellEnv",
        "A terminal in a small file system: find, edit, count, rename, archive; its final state counts",
    ),
    EnvEntry(
        "molt/SQL-v0",
        "molt_envs.families.sql.env:SQLEnv",
        "Questions over a database, answered by a query that must be right on another database as well",
    ),
    EnvEntry(
        "molt/CodeRepair-v0",
        "molt_envs.families.code_repair.env:CodeRepairEnv",
        "Mend the fault in a small Python project by edits; hidden tests judge the source files",
    ),
    EnvEntry(
        "molt/Negotiation-v0",
        "molt_envs.families.games.negotiation:NegotiationEnv",
        "Share out a few things with a partner whose values are hidden, by proposals in text",
    ),
    EnvEntry(
        "molt/WordClues-v0",
        "molt_envs.families.games.word_clues:WordCluesEnv",
        "Give one-word clues, or guess which words of a board a clue means, together with a partner",
    ),
    EnvEntry(
        "molt/VisualCount-v0",
        "molt_envs.families.visual_count.env:VisualCountEnv",
        "Count the things of a colour or a shape in a small picture",
    ),
    EnvEntry(
        "molt/GridNav-v0",
        "molt_envs.families.grid_nav.env:GridNavEnv",
        "Walk over a small board to stars that appear one after the other; every move shows a new picture",
    ),
    EnvEntry(
        "molt/ChartQA-v0",
        "molt_envs.families.chart_qa.env:ChartQAEnv",
        "Read numbers off bars, lines, pies and tables, and compute with them",
    ),
    EnvEntry(
        "molt/VisualDiff-v0",
        "molt_envs.families.visual_diff.env:VisualDiffEnv",
        "Find the cells in which two boards of shapes differ",
    ),
    EnvEntry(
        "molt/Geometry-v0",
        "molt_envs.families.geometry.env:GeometryEnv",
        "Find an angle, a length or an area from the measures in a figure, with Python at hand",
    ),
    EnvEntry(
        "molt/ReasoningGym-v0",
        "molt_envs.families.reasoning_gym.env:ReasoningGymEnv",
        "Questions of any reasoning-gym data set, one answer each, scored by the library",
    ),
    EnvEntry(
        "molt/TextArena-v0",
        "molt_envs.families.textarena.env:TextArenaEnv",
        "A game of textarena, alone or from one seat against policies, scripts or people",
    ),
    EnvEntry(
        "molt/TextWorld-v0",
        "molt_envs.families.textworld.env:TextWorldEnv",
        "Text adventures of a given size, generated and compiled by textworld",
    ),
)
