"""What no file of the project may say: paths of one machine and hosts of package registries."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

# Written in pieces, so that this file does not hold what it looks for.
MACHINE_PATHS = ["/" + name for name in ("work/", "tmp/w/", "root/", "home/[a-z]", "Users/[a-z]")]
REGISTRY_HOSTS = [
    "pypi" + r"\.org",
    "python" + r"hosted\.org",
    "npm" + r"js\.(?:org|com)",
    "deb" + r"ian\.org",
]
INDEX_OPTIONS = ["--(?:extra-)?" + "index-url", "--find" + "-links"]
FORBIDDEN = re.compile(
    "|".join([r"(?<![\w.~-])(?:" + "|".join(MACHINE_PATHS) + ")", *REGISTRY_HOSTS, *INDEX_OPTIONS])
)


INSIDE_A_SANDBOX = "sandboxes/attack/snippets/"
"""Programs that run in a sandbox, whose paths are those of its inside."""


def names_no_machine(texts: Mapping[str, str]) -> Iterator[str]:
    """A line with a path of one machine, a registry's host or an option that names an index."""
    for path, text in texts.items():
        if path.startswith(INSIDE_A_SANDBOX):
            continue
        for number, line in enumerate(text.splitlines(), start=1):
            found = FORBIDDEN.search(line)
            if found:
                yield f"{path}:{number}: {found.group(0)!r} belongs to one machine, not to the project"
