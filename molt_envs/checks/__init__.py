"""The conformance kit: run it on your own environment, renderer, token environment or episodes.

In: the thing to check. Out: `Findings`, a name, a verdict and a message each; `assert_ok()` raises.
"""

from molt_envs.checks.environment import check_env
from molt_envs.checks.episodes import check_episode
from molt_envs.checks.findings import Finding, Findings
from molt_envs.checks.renderer import check_renderer
from molt_envs.checks.tokens import check_token_env

__all__ = ["Finding", "Findings", "check_env", "check_episode", "check_renderer", "check_token_env"]
