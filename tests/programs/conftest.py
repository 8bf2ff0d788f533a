"""Fixtures for tests with the real agent programs.

`program` gives a test each of the four programs in turn. Every such test carries the marker `program(name)`
and the same as a user property, so that what ran can be counted: `item.get_closest_marker("program").args[0]`
while collecting, `dict(report.user_properties)["program"]` in a report. A test for some programs only says
`@pytest.mark.parametrize("program", ["claude"], indirect=True)`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from . import install
from .claude import Claude
from .codex import Codex
from .gemini import Gemini
from .household import Household
from .opencode import OpenCode
from .program import Program

PROGRAMS: dict[str, type[Program]] = {kind.name: kind for kind in (Claude, Codex, Gemini, OpenCode)}


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "program(name): runs this real agent program")


@pytest.hookimpl(tryfirst=True)  # whoever counts by marker finds it in place
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        callspec = getattr(item, "callspec", None)
        name = callspec.params.get("program") if callspec else None
        if name in PROGRAMS:
            item.add_marker(pytest.mark.program(name))
            item.user_properties.append(("program", name))


@pytest.fixture(scope="session")
def programs() -> dict[str, Path]:
    """The installed programs by name. Without them a test fails: a skipped one proves nothing."""
    if not install.is_installed():
        pytest.fail(
            f"the agent programs are not installed in {install.folder()}: run ./dev setup", pytrace=False
        )
    return {name: install.executable(name) for name in PROGRAMS}


@pytest.fixture(params=list(PROGRAMS))
def program(request: pytest.FixtureRequest, programs: dict[str, Path], tmp_path: Path) -> Program:
    """Each of the real programs in turn; its homes are in the test's temporary folder."""
    return PROGRAMS[request.param](tmp_path / "programs")


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """An empty folder to work in. Programs also read instructions and settings in the folders above it."""
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


@pytest.fixture
def household(tmp_path: Path, programs: dict[str, Path]) -> Iterator[Household]:
    """One home for all programs and Segue, with a model server that answers from a script."""
    with Household(tmp_path) as one:
        yield one
