"""What all tests share: a clean place to run in, a clock that stands where it is put, both databases,
and a count of what ran on what."""

from __future__ import annotations

import contextlib
import io
import itertools
import os
import secrets
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from msgspec import Struct

from segue import store
from segue.base import clock, paths
from segue.faces.cli import main
from segue.faces.cli.frame import Frame
from segue.settings import Settings
from segue.store import Shared
from tests import postgres

START = "2026-11-16T09:30:00.000000Z"

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # As a shell does to what it runs in the background, and every program that the tests start would inherit it.
    signal.signal(signal.SIGINT, signal.default_int_handler)

# The same examples in every run, and no clock on them: a run of the tests tells of the code, not of luck or load. To look
# for new ones: HYPOTHESIS_PROFILE=search ./dev test
hypothesis.settings.register_profile("steady", derandomize=True, deadline=None)
hypothesis.settings.register_profile("search", deadline=None, max_examples=1000)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE") or "steady")


class StillClock:
    """A clock that a test sets; each look at it lets one second pass."""

    def __init__(self, start: str = START) -> None:
        self.time = start

    def __call__(self) -> str:
        now, self.time = self.time, clock.later(self.time, 1)
        return now


def numbered_ids() -> Callable[[str], str]:
    counts: Counter[str] = Counter()

    def new_id(prefix: str) -> str:
        counts[prefix] += 1
        return f"{prefix}-{counts[prefix]:012d}"

    return new_id


class Result(Struct, frozen=True):
    code: int
    out: str
    err: str


class CommandLine:
    """Segue's command line in this process, in a home of its own, with a still clock and numbered ids."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home = folder / "home"
        self.cwd = folder / "project"
        self.cwd.mkdir(parents=True)
        self.env = {
            "SEGUE_HOME": str(self.home),
            "HOME": str(folder),
            "PATH": str(folder / "bin"),
            "SEGUE_USER_NAME": "ada",
        }
        self.clock = StillClock()
        self.new_id = numbered_ids()

    def __call__(self, *arguments: str, **env: str) -> Result:
        out, err = io.StringIO(), io.StringIO()
        frame = Frame(env={**self.env, **env}, cwd=self.cwd, clock=self.clock, new_id=self.new_id)
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main(list(arguments), frame)
        return Result(code, self._tidy(out.getvalue()), self._tidy(err.getvalue()))

    def _tidy(self, text: str) -> str:
        return text.replace(str(self.folder), "/ada")


@pytest.fixture
def cli(tmp_path: Path) -> CommandLine:
    return CommandLine(tmp_path / "ada")


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """No setting of whoever runs the tests reaches them."""
    for name in list(os.environ):
        if name.startswith("SEGUE_") or name == "NO_COLOR":
            monkeypatch.delenv(name)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    monkeypatch.setattr(paths, "policy_file", lambda: Path("/etc/segue/policy-of-the-tests.toml"))


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    with postgres.server() as url:
        yield url


@pytest.fixture
def postgres_url(postgres_server: str) -> Iterator[str]:
    """The address of a database that is this test's own."""
    with postgres.database(postgres_server) as url:
        yield url


class Place(Struct, frozen=True):
    """Where a shared store is, so that a test can open it as often as it likes, from any process."""

    data: Path
    url: str

    @property
    def settings(self) -> Settings:
        return Settings(store_url=self.url, store_busy_seconds=60)

    def open(self, **more: Any) -> Shared:
        options = {"actor": "ada", "clock": StillClock(), "new_id": _unique_ids, **more}
        return store.open_shared(self.data, self.settings, **options)


_counter = itertools.count()


def _unique_ids(prefix: str) -> str:
    return f"{prefix}-{next(_counter):06d}{secrets.token_hex(3)}"


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """A shared store that is not there yet, on each of the two databases."""
    url = request.getfixturevalue("postgres_url") if request.param == "postgres" else ""
    return Place(tmp_path / "data", url)


@pytest.fixture
def shared(place: Place) -> Iterator[Shared]:
    opened = place.open()
    yield opened
    opened.close()


# Counting what ran on what


RAN: Counter[str] = Counter()
LEFT_OUT: set[str] = set()
ISOLATION: set[str] = set()
"""How agent programs were kept to loopback, in this process and in the workers of a parallel run."""


def _kinds_of(item: pytest.Item) -> list[str]:
    params = getattr(getattr(item, "callspec", None), "params", {})
    names = {"sqlite": "on SQLite", "postgres": "on PostgreSQL"}
    kinds = [names[value] for value in params.values() if isinstance(value, str) and value in names]
    if "postgres_url" in getattr(item, "fixturenames", ()) and "place" not in params:
        kinds.append("on PostgreSQL")
    kinds += [f"with {mark.args[0]}" for mark in item.iter_markers("program")]
    if item.get_closest_marker("needs_root"):
        kinds.append("as root")
    return kinds


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Tests that need root are left out, by name, for everyone else; nothing else ever is."""
    if os.getuid() != 0:
        rooted = [item for item in items if item.get_closest_marker("needs_root")]
        LEFT_OUT.update(item.nodeid for item in rooted)
        items[:] = [item for item in items if item not in rooted]
        config.hook.pytest_deselected(items=rooted)
    for item in items:
        item.user_properties += [("ran", kind) for kind in _kinds_of(item)]


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.when == "call" and report.passed:
        RAN["in all"] += 1
        RAN.update(str(kind) for name, kind in report.user_properties if name == "ran")


def pytest_sessionfinish(session: pytest.Session) -> None:
    if isolation := getattr(sys.modules.get("tests.programs.sandbox"), "ISOLATION", None):
        ISOLATION.add(isolation)
    if (output := getattr(session.config, "workeroutput", None)) is not None:
        output |= {"left_out": sorted(LEFT_OUT), "isolation": sorted(ISOLATION)}


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """A worker of a parallel run ended: take over what it counted."""
    output = getattr(node, "workeroutput", {})
    LEFT_OUT.update(output.get("left_out", ()))
    ISOLATION.update(output.get("isolation", ()))


def pytest_terminal_summary(terminalreporter: Any) -> None:
    order = [
        "in all",
        "on SQLite",
        "on PostgreSQL",
        *sorted(k for k in RAN if k.startswith("with ")),
        "as root",
    ]
    terminalreporter.section("what ran on what")
    for kind in order:
        terminalreporter.write_line(f"{kind:<16} {RAN[kind]:>5} passed")
    if LEFT_OUT:
        terminalreporter.write_line(f"{len(LEFT_OUT)} tests need root and were not run:")
        for nodeid in sorted(LEFT_OUT):
            terminalreporter.write_line(f"  {nodeid}")
    if ISOLATION:
        terminalreporter.write_line(f"agent programs were kept to loopback by: {', '.join(ISOLATION)}")
