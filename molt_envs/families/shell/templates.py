"""What the agent is asked to do: one function per kind of task.

In: a `Draft`, which a template adds to. Out: the words of the instruction (`phrasings.json`), the state that
is wanted, worked out here from the files, and commands that reach it, which only the oracle uses.
"""

import itertools
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeAlias

from molt_envs.families.shell.draft import LEVELS, Draft
from molt_envs.families.shell.state import Entry, text_file
from sandboxes import WORK_FOLDER

Task: TypeAlias = tuple[Mapping[str, object], dict[str, Entry], list[str]]


def rename(draft: Draft) -> Task:
    """Files elsewhere with the same extension keep it."""
    paths = draft.spread(draft.old, 4, 7)
    draft.add(f"{draft.other}/{draft.name()}.{draft.old}", draft.line())
    goal = {path: entry for path, entry in draft.files.items() if path not in paths}
    goal |= {f"{path.removesuffix(draft.old)}{draft.new}": draft.files[path] for path in paths}
    find = f"find {draft.folder} -name '*.{draft.old}'"
    move = f'while read -r f; do mv "$f" "${{f%.{draft.old}}}.{draft.new}"; done'
    return {"folder": draft.folder, "old": draft.old, "new": draft.new}, goal, [f"{find} | {move}"]


def make_executable(draft: Draft) -> Task:
    """Scripts are known by their first line alone."""
    paths = draft.spread("run", 2, 4, f"#!/bin/sh\necho {draft.word()}\n")
    paths += draft.spread(draft.old, 2, 4, f"#!/usr/bin/env python3\nprint('{draft.word()}')\n")
    draft.spread("run", 1, 3, f"see {draft.word()}\n#!/bin/sh\n")
    draft.add(f"{draft.other}/{draft.name()}.run", "#!/bin/sh\n")
    goal = draft.files | {path: text_file(draft.files[path].content, 0o744) for path in paths}
    find = f"for f in $(find {draft.folder} -type f)"
    command = f'{find}; do if head -n 1 "$f" | grep -q \'^#!\'; then chmod u+x "$f"; fi; done'
    return {"folder": draft.folder}, goal, [command]


def close_permissions(draft: Draft) -> Task:
    """The other bits stay as they are."""
    modes = (0o666, 0o646, 0o622, 0o777, 0o644, 0o664, 0o600)
    for path in draft.spread(draft.old, 6, 10):
        draft.add(path, draft.line(), draft.rng.choice(modes))
    for folder in (draft.inner, draft.other):
        draft.add(f"{folder}/{draft.name()}", draft.line(), 0o666)
    goal = dict(draft.files)
    for path in draft.below(draft.folder):
        goal[path] = replace(goal[path], mode=goal[path].mode & ~0o002)
    return {"folder": draft.folder}, goal, [f"find {draft.folder} -type f -perm -o+w -exec chmod o-w {{}} +"]


def delete_empty(draft: Draft) -> Task:
    """A line break is not nothing."""
    paths = draft.spread(draft.old, 3, 6, "")
    draft.spread(draft.old, 2, 4, "\n")
    draft.add(f"{draft.other}/{draft.name()}.{draft.old}", "")
    goal = {path: entry for path, entry in draft.files.items() if path not in paths}
    return {"folder": draft.folder}, goal, [f"find {draft.folder} -type f -empty -delete"]


def count_level(draft: Draft) -> Task:
    """Other words of a line, and files that are no logs, do not count."""
    level, out = draft.rng.choice(LEVELS), f"{draft.other}/{draft.name()}.count"
    logs = [draft.add(path, _joined(draft.log_lines(30))) for path in draft.spread("log", 2, 4)]
    draft.add(f"{draft.folder}/{draft.name()}.{draft.old}", _joined(draft.log_lines(20)))
    rows = [line.split() for path in logs for line in draft.files[path].content.splitlines()]
    count = sum(row[2] == level for row in rows)
    command = f"find {draft.folder} -name '*.log' -exec cat {{}} + | awk '$3 == \"{level}\"' | wc -l > {out}"
    goal = draft.files | {out: text_file(str(count))}
    return {"folder": draft.folder, "level": level, "out": out}, goal, [command, f"cat {out}"]


def users_in_trouble(draft: Draft) -> Task:
    """Each name once, sorted."""
    level, out = draft.rng.choice(LEVELS), f"{draft.third}/{draft.name()}.users"
    log = draft.add(f"{draft.folder}/{draft.name()}.log", _joined(draft.log_lines(40)))
    rows = [line.split() for line in draft.files[log].content.splitlines()]
    users = sorted({row[3].removeprefix("user=") for row in rows if row[2] == level})
    command = f"awk '$3 == \"{level}\" {{print $4}}' {log} | cut -d= -f2 | sort -u > {out}"
    goal = draft.files | {out: text_file("\n".join(users))}
    return {"log": log, "level": level, "out": out}, goal, [f"head -n 5 {log}", command, f"cat {out}"]


def top_address(draft: Draft) -> Task:
    """The address with most requests of one status, which is not the one with most requests."""
    addresses = [f"10.0.{draft.rng.randrange(256)}.{number}" for number in draft.rng.sample(range(256), 5)]
    status = draft.rng.choice(("404", "403", "500"))
    weights = dict(zip(addresses, (9, 7, 5, 3, 2), strict=True))
    rows = [(address, status) for address, weight in weights.items() for _ in range(weight)]
    rows += [(addresses[1], "200")] * 12 + [(draft.rng.choice(addresses), "200") for _ in range(15)]
    draft.rng.shuffle(rows)
    lines = [f"{address} GET /{draft.word()}/{draft.rng.randrange(100, 600)} {end}" for address, end in rows]
    log, out = draft.add(f"{draft.inner}/access.log", _joined(lines)), f"{draft.other}/{draft.name()}.address"
    count = f"awk '$4 == {status} {{print $1}}' {log} | sort | uniq -c | sort -rn"
    command = f"{count} | head -n 1 | awk '{{print $2}}' > {out}"
    goal = draft.files | {out: text_file(addresses[0])}
    return {"log": log, "status": status, "out": out}, goal, [f"head -n 3 {log}", command, f"cat {out}"]


def change_setting(draft: Draft) -> Task:
    """Each section has the same keys."""
    sections, keys = draft.draw("words", 7)[:3], draft.draw("words", 14)[:4]
    values = {pair: draft.rng.randrange(10, 99) for pair in itertools.product(sections, keys)}
    section, key, value = draft.rng.choice(sections), draft.rng.choice(keys), draft.rng.randrange(100, 999)

    def written() -> str:
        texts = (f"[{one}]\n" + "".join(f"{k} = {values[one, k]}\n" for k in keys) for one in sections)
        return "\n".join(texts)

    path = draft.add(f"{draft.folder}/{draft.name()}.cfg", written())
    values[section, key] = value
    command = f"sed -i '/^\\[{section}\\]/,/^\\[/ s/^{key} = .*/{key} = {value}/' {path}"
    words = {"path": path, "section": section, "key": key, "value": value}
    return words, draft.files | {path: text_file(written())}, [f"cat {path}", command, f"cat {path}"]


def replace_word(draft: Draft) -> Task:
    """Longer words that hold the word stay."""
    old, new = draft.draw("words", 2)
    for path in draft.spread("md", 3, 5):
        draft.add(path, f"{old} {draft.word()}\n{draft.word()} {old}s {old}, my{old}\n{draft.line()}\n")
    draft.add(f"{draft.folder}/{draft.name()}.{draft.old}", f"{old}\n")
    draft.add(f"{draft.other}/{draft.name()}.md", f"{old}\n")
    goal = dict(draft.files)
    for path in draft.below(draft.folder):
        if path.endswith(".md"):
            goal[path] = text_file(re.sub(rf"\b{old}\b", new, draft.files[path].content))
    command = f"find {draft.folder} -name '*.md' -exec sed -i 's/\\b{old}\\b/{new}/g' {{}} +"
    return {"folder": draft.folder, "old": old, "new": new}, goal, [command]


def archive(draft: Draft) -> Task:
    """The folder stays; the names in the archive begin with it."""
    draft.spread(draft.old, 2, 5)
    out = f"{draft.other}/{draft.name()}.tar.gz"
    packed = {path: draft.files[path].content for path in draft.below(draft.folder)}
    goal = draft.files | {out: Entry("archive", 0, json.dumps(packed, sort_keys=True))}
    return {"folder": draft.folder, "out": out}, goal, [f"tar -czf {out} {draft.folder}", f"tar -tzf {out}"]


def merge_lists(draft: Draft) -> Task:
    """Lists that share lines."""
    lists = [draft.draw("words", 6) for _ in range(draft.rng.randrange(3, 6))]
    for number, words in enumerate(lists):
        folder = (draft.folder, draft.inner)[number % 2]
        draft.add(f"{folder}/{draft.name()}.{draft.old}", _joined(words))
    out = f"{draft.third}/{draft.name()}.all"
    goal = draft.files | {out: text_file("\n".join(sorted({word for words in lists for word in words})))}
    command = f"find {draft.folder} -name '*.{draft.old}' -exec cat {{}} + | sort -u > {out}"
    return {"folder": draft.folder, "old": draft.old, "out": out}, goal, [command, f"cat {out}"]


def move_large(draft: Draft) -> Task:
    """Files directly in the folder alone, by their size in bytes."""
    limit = draft.rng.randrange(200, 900)
    for path in draft.spread(draft.old, 6, 10):
        size = limit + draft.rng.choice((-1, 0, 1)) * draft.rng.randrange(1, 99)
        draft.add(path, (draft.word() * 200)[:size])
    draft.add(f"{draft.folder}/{draft.name()}.{draft.old}", "x" * (limit + 5))
    target, goal = f"{draft.other}/{draft.name()}", dict[str, Entry]()
    for path, entry in draft.files.items():
        is_moved = path.rpartition("/")[0] == draft.folder and len(entry.content) > limit
        goal[f"{target}/{path.rpartition('/')[2]}" if is_moved else path] = entry
    find = f"find {draft.folder} -maxdepth 1 -type f -size +{limit}c -exec mv {{}} {target}/ \\;"
    words = {"folder": draft.folder, "limit": limit, "target": target}
    return words, goal, [f"mkdir -p {target}", find, f"ls {target}"]


def sum_column(draft: Draft) -> Task:
    """The rows of one kind."""
    key, keys, out = draft.word(), draft.draw("people", 4), f"{draft.other}/{draft.name()}.sum"
    path = draft.add(f"{draft.folder}/{draft.name()}.csv", draft.sum_table(key, keys, 40))
    rows = [line.split(",") for line in draft.files[path].content.splitlines()[1:]]
    total = sum(int(row[2]) for row in rows if row[1] == keys[0])
    command = f"awk -F, '$2 == \"{keys[0]}\" {{s += $3}} END {{print s + 0}}' {path} > {out}"
    words = {"path": path, "key": key, "value": keys[0], "out": out}
    return words, draft.files | {out: text_file(str(total))}, [f"head -n 3 {path}", command, f"cat {out}"]


def link_latest(draft: Draft) -> Task:
    """Numbers, not letters, order versions."""
    versions = {f"1.{draft.rng.randrange(1, 30)}.{draft.rng.randrange(30)}" for _ in range(6)} | {"1.9.9"}
    for version in sorted(versions):
        draft.add(f"{draft.folder}/{version}/{draft.name()}.md", draft.line())
    latest = max(versions, key=lambda version: [int(part) for part in version.split(".")])
    link = f"{draft.other}/{draft.name()}"
    goal = draft.files | {link: Entry("link", 0, f"{WORK_FOLDER}/{draft.folder}/{latest}")}
    command = f"ln -s ../{draft.folder}/$(ls {draft.folder} | grep '^[0-9]' | sort -V | tail -n 1) {link}"
    return {"folder": draft.folder, "link": link}, goal, [f"ls {draft.folder}", command, f"readlink {link}"]


def drop_copies(draft: Draft) -> Task:
    """Of files with the same content, the first by name stays."""
    for _ in range(3):
        text = draft.lines(2)
        for _ in range(draft.rng.randrange(2, 4)):
            draft.add(f"{draft.inner}/{draft.name()}.{draft.old}", text)
    kept: dict[str, str] = {}
    for path in draft.below(draft.inner):
        kept.setdefault(draft.files[path].content, path)
    gone = [path for path in draft.below(draft.inner) if path not in kept.values()]
    goal = {path: entry for path, entry in draft.files.items() if path not in gone}
    command = f"md5sum {draft.inner}/* | sort -k1,1 -k2 | awk 'seen[$1]++ {{print $2}}' | xargs rm"
    return {"folder": draft.inner}, goal, [f"ls {draft.inner}", command]


def sort_by_extension(draft: Draft) -> Task:
    """Files directly in the folder alone."""
    for extension in (draft.old, draft.new, "log", draft.old):
        draft.add(f"{draft.folder}/{draft.name()}.{extension}", draft.lines(2))
    goal: dict[str, Entry] = {}
    for path, entry in draft.files.items():
        folder, _, name = path.rpartition("/")
        goal[f"{folder}/{name.rpartition('.')[2]}/{name}" if folder == draft.folder else path] = entry
    move = 'd="$(dirname "$f")/${f##*.}"; mkdir -p "$d"; mv "$f" "$d/"'
    command = f"find {draft.folder} -maxdepth 1 -type f | while read -r f; do {move}; done"
    return {"folder": draft.folder}, goal, [command, f"ls -R {draft.folder}"]


def cut_window(draft: Draft) -> Task:
    """The lines of a span of time, both ends included."""
    rows = draft.log_lines(40)
    log, out = (
        draft.add(f"{draft.inner}/{draft.name()}.log", _joined(rows)),
        f"{draft.third}/{draft.name()}.log",
    )
    first = draft.rng.randrange(5, 20)
    start, end = (rows[number].split()[1] for number in (first, first + draft.rng.randrange(3, 15)))
    chosen = [row for row in rows if start <= row.split()[1] <= end]
    command = f'awk \'$2 >= "{start}" && $2 <= "{end}"\' {log} > {out}'
    words = {"log": log, "start": start, "end": end, "out": out}
    return words, draft.files | {out: text_file("\n".join(chosen))}, [f"head -n 3 {log}", command]


def split_table(draft: Draft) -> Task:
    """One file for each value, with the head of the table."""
    key, keys, target = draft.word(), draft.draw("people", 4), f"{draft.other}/{draft.name()}"
    path = draft.add(f"{draft.folder}/{draft.name()}.csv", draft.sum_table(key, keys, 24))
    head, *rows = draft.files[path].content.splitlines()
    goal = dict(draft.files)
    for value in {row.split(",")[1] for row in rows}:
        chosen = [row for row in rows if row.split(",")[1] == value]
        goal[f"{target}/{value}.csv"] = text_file("\n".join([head, *chosen]))
    split = f'NR == 1 {{h = $0; next}} {{f = "{target}/" $2 ".csv"; if (!s[f]++) print h > f; print > f}}'
    words = {"path": path, "key": key, "target": target}
    return words, goal, [f"head -n 3 {path}", f"mkdir -p {target}", f"awk -F, '{split}' {path}"]


def date_names(draft: Draft) -> Task:
    """The date stands in the first line."""
    goal: dict[str, Entry] = {}
    paths = draft.spread(draft.old, 4, 7)
    for path in paths:
        date = (
            f"20{draft.rng.randrange(10, 40)}-{draft.rng.randrange(1, 13):02}-{draft.rng.randrange(1, 29):02}"
        )
        draft.add(path, f"date: {date}\n{draft.line()}\n")
        folder, _, name = path.rpartition("/")
        goal[f"{folder}/{date}_{name}"] = draft.files[path]
    goal |= {path: entry for path, entry in draft.files.items() if path not in paths}
    move = 'mv "$f" "$(dirname "$f")/$(head -n 1 "$f" | cut -d" " -f2)_$(basename "$f")"'
    command = f"find {draft.folder} -name '*.{draft.old}' | while read -r f; do {move}; done"
    return {"folder": draft.folder, "old": draft.old}, goal, [command, f"ls -R {draft.folder}"]


def _joined(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


TRAINED: tuple[Callable[[Draft], Task], ...] = (
    rename,
    make_executable,
    close_permissions,
    delete_empty,
    count_level,
    users_in_trouble,
    top_address,
    change_setting,
    replace_word,
    archive,
    merge_lists,
    move_large,
    sum_column,
    link_latest,
    drop_copies,
)
HELD_OUT = (sort_by_extension, cut_window, split_table, date_names)
"""Of the test split alone."""
