"""The command line: `python -m sandboxes doctor | attack BACKEND | image | engine COMMAND…`.

In: arguments; out: tables or JSON, and exit code 1 when an attack was not contained.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict

from sandboxes.attack.catalogue import load_snippets
from sandboxes.attack.report import left_behind, run_attack, table
from sandboxes.attack.suite import Verdict
from sandboxes.backends import BACKENDS, find_backend
from sandboxes.base import SandboxError
from sandboxes.doctor import examine
from sandboxes.images.build import ensure_image
from sandboxes.images.engine import run_beside_engine


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; out: the exit code."""
    parser = argparse.ArgumentParser(prog="python -m sandboxes", description="Isolation of untrusted code.")
    commands = parser.add_subparsers(dest="command", required=True)
    doctor = commands.add_parser("doctor", help="what works on this machine, and how to get the rest")
    attack = commands.add_parser("attack", help="run the attack suite on a backend")
    attack.add_argument("backend", choices=sorted(BACKENDS))
    attack.add_argument("--only", default="", help="names or groups of attacks, separated by commas")
    for command in (doctor, attack):
        command.add_argument("--json", action="store_true", help="JSON instead of a table")
    commands.add_parser("image", help="make the docker backend's image from this machine's files")
    engine = commands.add_parser("engine", help="run a command beside a Docker Engine of its own (root)")
    engine.add_argument("argv", nargs=argparse.REMAINDER, metavar="COMMAND")
    options = parser.parse_args(arguments)
    try:
        if options.command == "doctor":
            return _doctor(options.json)
        if options.command == "attack":
            return _attack(options.backend, options.only, options.json)
        if options.command == "image":
            print(ensure_image())
            return 0
        return run_beside_engine(options.argv)
    except (SandboxError, ValueError) as error:
        print(f"sandboxes: {error}", file=sys.stderr)
        return 2


def _doctor(as_json: bool) -> int:
    findings = examine()
    if as_json:
        print(json.dumps([asdict(finding) for finding in findings], indent=2))
        return 0
    for finding in findings:
        print(f"{'yes' if finding.works else 'no ':3}  {finding.name:<18} {finding.says}")
        if not finding.works:
            print(f"     {'':<18} -> {finding.mend}")
    return 0


def _attack(backend: str, only: str, as_json: bool) -> int:
    names = set(filter(None, only.split(",")))
    snippets = [each for each in load_snippets() if not names or names & {each.name, each.group}]
    if not snippets:
        raise ValueError(f"--only {only}: no attack is named so; leave it out to see all names")
    find_backend(backend).probe()
    report = run_attack(find_backend(backend), snippets, None if as_json else _show)
    if as_json:
        print(json.dumps(asdict(report), indent=2))
    else:
        print(left_behind(report))
    return 0 if report.held else 1


def _show(verdict: Verdict) -> None:
    print(table([verdict]), flush=True)


if __name__ == "__main__":
    sys.exit(main())
