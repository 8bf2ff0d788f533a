"""The rules of the house: rooms import in order, names say what they are, and pages read as plain English."""

from __future__ import annotations

import ast
import functools
import re
import tokenize
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from token import COMMENT, STRING

import pytest

from tests import ROOT

SOURCE = ROOT / "src" / "segue"
ROOMS = (
    *(
        "errors",
        "base",
        "model",
        "settings",
        "shell",
        "usage",
        "routing",
        "redact",
        "tiers",
        "protocol",
        "hooks",
    ),
    *("facts", "briefs", "assertions", "prohibitions", "conversation", "store", "agents"),
    *(
        f"ops/{room}"
        for room in ("common", "index", "work", "usage", "briefs", "handoff", "verify", "run", "setup")
    ),
    *("ops/overview", "ops", "faces", "testing"),
)
"""Each room imports only rooms before it."""
APART = {("store", "agents"), ("agents", "store"), ("testing", "faces"), ("testing", "ops")}
"""Rooms that never import each other, whatever their order."""
UNIFORM = {
    *(
        "reader",
        "target",
        "tool_calls",
        "compaction",
        "limits",
        "exit_reason",
        "project_config",
        "hook_settings",
    ),
    *("mcp_settings", "records", "messages", "parts", "usage", "session", "target"),
}
"""File names that every agent's folder may have."""
MAY_END_SO = {"testing", "routing", "grading", "read_only", "shared"}
"""Nouns of the field that end in -ing, -ed or -ly."""
NOT_YET = 125
BANNED = re.compile(
    r"\b(gone on with|goes on with|bears? out|heed|heeds|anew|(?<![-.])mend|mended|(?:is|are|was) told|is no way|are none|stands as"
    r"|what of|whatever is|is of another)\b",
    re.IGNORECASE,
)


def room_of(name: str) -> str:
    """The room of a module, by its path below the source."""
    parts = name.removesuffix("/__init__").split("/")
    return next((room for room in ("/".join(parts[:2]), parts[0]) if room in ROOMS), "")


@functools.cache
def modules() -> dict[str, ast.Module]:
    return read_modules(SOURCE)


def read_modules(root: Path) -> dict[str, ast.Module]:
    paths = sorted(root.rglob("*.py"))
    return {
        path.relative_to(root).as_posix().removesuffix(".py"): ast.parse(path.read_text()) for path in paths
    }


def imported(tree: ast.Module, known: Iterable[str]) -> Iterator[tuple[int, str]]:
    """Every module of Segue that another one imports: lazily and for types too."""
    names = set(known)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "segue":
            base = (node.module or "").removeprefix("segue").lstrip(".").replace(".", "/")
            for alias in node.names:
                full = f"{base}/{alias.name}".lstrip("/")
                yield node.lineno, next((one for one in (full, f"{full}/__init__") if one in names), base)
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.startswith("segue."):
                    yield node.lineno, alias.name.removeprefix("segue.").replace(".", "/")


def wrong_imports(found: dict[str, ast.Module]) -> list[str]:
    wrong = []
    for name, tree in found.items():
        own = room_of(name)
        for line, other in imported(tree, found):
            room = room_of(other)
            if not own or not room or own == room:
                continue
            if ROOMS.index(room) > ROOMS.index(own) or (own, room) in APART:
                wrong.append(
                    f"{name}.py:{line} imports {other}: the room '{own}' comes before '{room}', or is apart from it"
                )
    return wrong


def test_rooms_import_only_rooms_before_them() -> None:
    assert wrong_imports(modules()) == []


def test_every_file_is_in_a_room_that_says_what_it_is_for() -> None:
    homeless = [name for name in modules() if not room_of(name) and name not in ("__init__", "__main__")]
    assert not homeless, f"no room in ROOMS has {homeless}"
    silent = [
        name for name, tree in modules().items() if name.endswith("__init__") and not ast.get_docstring(tree)
    ]
    assert not silent, f"say in their docstrings what these rooms are for: {silent}"


def wrong_stems(names: Iterable[str]) -> list[str]:
    wrong, seen = [], defaultdict(list)
    for name in names:
        stem = name.rpartition("/")[2]
        if stem.startswith("__"):
            continue
        if stem.endswith(("ing", "ed", "ly")) and stem not in MAY_END_SO:
            wrong.append(f"{name}.py: name files by nouns, not in -ing, -ed or -ly")
        first = name.partition("/")[0]
        layer = first if first in ("agents", "store", "ops", "faces", "testing") else "values"
        if stem not in UNIFORM:
            seen[layer, stem].append(name)
    return wrong + [
        f"two files have one name: {' and '.join(same)}" for same in seen.values() if len(same) > 1
    ]


def test_files_are_named_by_nouns_and_once_in_a_layer() -> None:
    assert wrong_stems(modules()) == []


def wrong_names(found: dict[str, ast.Module]) -> list[str]:
    classes, helpers = defaultdict(set), defaultdict(set)
    for name, tree in found.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                classes[node.name].add(name)
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and re.match(r"_[a-z]", node.name):
                helpers[node.name].add(name)
    twice = [
        f"class {name} is defined in {', '.join(sorted(at))}" for name, at in classes.items() if len(at) > 1
    ]
    vague = [
        f"{name} is defined in {len(at)} modules: {', '.join(sorted(at))}"
        for name, at in helpers.items()
        if len(at) > 3
    ]
    return sorted(twice) + sorted(vague)


def test_no_more_names_are_used_twice_than_before() -> None:
    """A class is defined once, a private helper in three modules at most. Lower NOT_YET with each rename."""
    found = wrong_names(modules())
    assert len(found) <= NOT_YET, found


def pages() -> list[Path]:
    """Everything that people read. `brief_format` quotes the words of earlier versions."""
    folders = (
        ROOT.glob("*.md"),
        (ROOT / "docs").glob("*.md"),
        SOURCE.rglob("*.py"),
        (ROOT / "plugins").rglob("*.md"),
    )
    return [path for found in folders for path in found if path.name != "brief_format.py"]


def banned_phrases(text: str) -> list[str]:
    """The banned phrases of a text, outside of code and quotations."""
    plain = re.sub(r"^```.*?^```|`[^`\n]*`|“[^”]*”", "", text, flags=re.MULTILINE | re.DOTALL)
    return [found[0] for found in BANNED.finditer(plain)]


def prose_of(path: Path) -> str:
    """What people read of a file: of a program its comments and texts, not its names."""
    if path.suffix != ".py":
        return path.read_text()
    with path.open("rb") as file:
        tokens = [one.string for one in tokenize.tokenize(file.readline) if one.type in (STRING, COMMENT)]
    return "\n".join(tokens)


def test_no_page_and_no_source_uses_a_banned_phrase() -> None:
    found = {path.relative_to(ROOT).as_posix(): banned_phrases(prose_of(path)) for path in pages()}
    assert {name: phrases for name, phrases in found.items() if phrases} == {}


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("model/x", "from segue.briefs import select", "comes before"),
        ("ops/usage/x", "def f():\n    from segue.ops.run import control", "comes before"),
        ("agents/x", "from segue.store import index", "apart"),
    ],
)
def test_an_import_out_of_order_is_noticed(name: str, text: str, says: str) -> None:
    found = {name: ast.parse(text), "briefs/select": ast.parse(""), "ops/run/control": ast.parse("")}
    assert [says in one for one in wrong_imports({**found, "store/index/__init__": ast.parse("")})] == [True]


def test_a_bad_name_is_noticed() -> None:
    assert (
        wrong_stems(["facts/telling"])
        and wrong_stems(["facts/x", "briefs/x"])
        and not wrong_stems(["ops/x", "facts/x"])
    )
    same = {f"facts/{n}": ast.parse("class A: pass\ndef _said(): pass") for n in range(4)}
    assert len(wrong_names(same)) == 2
    assert banned_phrases("It is told.") and not banned_phrases("It says `is told`.")
