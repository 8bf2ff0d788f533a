"""The shape of the code: who may name an agent, what the quick path loads, how long files get. Rooms: test_house."""

from __future__ import annotations

import ast
import re
import statistics
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import ROOT

SOURCE = ROOT / "src" / "segue"

SHARED_BY_FACES = (["render"], ["screens"], ["encode"], ["fast_json"])
QUICK_FILES = {"__main__.py", "__init__.py", "faces/hook.py", "faces/fast_statusline.py"}
QUICK_IMPORTS = {"sys", "os", "gc", "json", "time", "_sqlite3", "sqlite3", "segue", "__future__"}
AGENT_NAMES = re.compile(r"\b(claude|codex|gemini|opencode|copilot|aider|qwen)\b", re.IGNORECASE)
LONGEST_FILE, LONGEST_FUNCTION, MEDIAN_FILE = 600, 60, 200


def imports_in(tree: ast.AST) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level:
            yield node.lineno, "segue.a_relative_import"
        elif isinstance(node, ast.ImportFrom) and node.module:
            if node.module == "segue":
                yield from ((node.lineno, f"segue.{alias.name}") for alias in node.names)
            else:
                yield node.lineno, node.module


def violations(root: Path) -> list[str]:
    """Everything in a source tree that is not as it should be."""
    found = []
    for path in sorted(root.rglob("*.py")):
        name = path.relative_to(root).as_posix()
        text = path.read_text()
        tree = ast.parse(text)
        found += [f"{name}:{line} {what}" for line, what in _wrong_imports(name, tree)]
        if not name.startswith("agents/"):
            found += [
                f"{name}:{number} names an agent"
                for number, line in enumerate(text.splitlines(), 1)
                if AGENT_NAMES.search(line)
            ]
        if len(text.splitlines()) > LONGEST_FILE:
            found.append(f"{name} is too long")
        found += [
            f"{name}:{node.lineno} {node.name} is too long"
            for node in ast.walk(tree)
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            and (node.end_lineno or 0) - node.lineno >= LONGEST_FUNCTION
        ]
        found += [f"{name}:{line} starts a shell" for line in _shells(tree)]
    return found


def _wrong_imports(name: str, tree: ast.Module) -> Iterator[tuple[int, str]]:
    for line, module in imports_in(tree):
        face, other = name.split("/")[1:2], module.split(".")[2:3]
        if (
            name.startswith("faces/")
            and module.startswith("segue.faces.")
            and other not in (face, *SHARED_BY_FACES)
        ):
            yield line, f"one face imports another: {module}"
        if name.startswith("faces/") and module.startswith(("segue.store", "segue.agents")):
            yield line, f"a face imports {module}"
        if module == "segue.a_relative_import":
            yield line, "a relative import"
    if name in QUICK_FILES:
        for node in tree.body:
            for line, module in imports_in(node) if isinstance(node, ast.Import | ast.ImportFrom) else ():
                if module.split(".")[0] not in QUICK_IMPORTS:
                    yield line, f"the quick path imports {module}"


def _shells(tree: ast.AST) -> Iterator[int]:
    for node in ast.walk(tree):
        if isinstance(node, ast.keyword) and node.arg == "shell":
            yield node.value.lineno
        if isinstance(node, ast.Attribute) and ast.unparse(node) in ("os.system", "os.popen"):
            yield node.lineno


def test_the_source_keeps_to_its_layers() -> None:
    assert violations(SOURCE) == []


def test_most_files_are_small() -> None:
    lengths = [len(path.read_text().splitlines()) for path in SOURCE.rglob("*.py")]
    assert statistics.median(lengths) < MEDIAN_FILE


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("faces/cli/x.py", "from segue.store import Shared", "a face imports segue.store"),
        ("faces/web/x.py", "from segue.faces.mcp import serve", "one face imports another"),
        ("faces/hook.py", "import click", "the quick path imports click"),
        ("__main__.py", "from msgspec import Struct", "the quick path imports msgspec"),
        ("ops/x.py", "NAME = 'Claude Code'", "names an agent"),
        ("store/x.py", "from ..ops import desk", "a relative import"),
        ("ops/x.py", "import subprocess\nsubprocess.run('ls', shell=True)", "starts a shell"),
        ("ops/x.py", "import os\nos.system('ls')", "starts a shell"),
        ("ops/x.py", "x = 1\n" * 601, "is too long"),
        ("ops/x.py", "def f():\n" + "    x = 1\n" * 61, "f is too long"),
    ],
)
def test_each_rule_can_be_broken(tmp_path: Path, name: str, text: str, says: str) -> None:
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text + "\n")
    assert any(says in violation for violation in violations(tmp_path))


def test_the_version_is_told_without_loading_anything() -> None:
    code = "import sys; sys.argv = ['segue', '--version']; import segue.__main__ as m; m.main(); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.splitlines()[1].split())
    assert {name for name in loaded if name.startswith("segue")} == {"segue", "segue.__main__"}
    assert not loaded & {"click", "msgspec", "sqlite3", "psycopg", "zstandard", "tomllib", "pathlib"}


def test_a_plain_run_does_not_load_what_only_others_need(tmp_path: Path) -> None:
    code = (
        "import sys; sys.argv = ['segue']; from segue.faces.cli import main; main([]); "
        "print(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={"SEGUE_HOME": str(tmp_path / "home")},
    )
    assert done.returncode == 0, done.stderr
    assert not set(done.stderr.split()) & {"psycopg", "tomlkit", "rich", "platformdirs", "tomllib", "asyncio"}
    assert not (tmp_path / "home").exists()
