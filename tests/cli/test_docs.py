"""Documents that can fail: generated pages are current, links lead somewhere, examples name real commands."""

from __future__ import annotations

import inspect
import json
import re
import subprocess
import tomllib
from pathlib import Path

import click
import pytest

import segue
from docs import generate
from segue import agents, errors, model
from segue.faces import cli
from segue.model import Value
from tests import ROOT

PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "CHANGELOG.md",
    *sorted((ROOT / "docs").glob("*.md")),
]


@pytest.mark.parametrize("path", generate.pages(), ids=lambda path: path.name)
def test_generated_pages_are_current(path: Path) -> None:
    assert path.read_text() == generate.pages()[path], "run ./dev docs"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target, heading in re.findall(r"\]\(([^)#]*)(?:#([^)]+))?\)", page.read_text()):
        found = page.parent / target if target else page
        assert found.exists(), target
        assert not heading or heading in headings_of(found), f"{target}#{heading}"


def headings_of(page: Path) -> list[str]:
    """Headings as links name them."""
    titles = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return [re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_that_a_page_names_exists(page: Path) -> None:
    text = page.read_text()
    examples = re.findall(r"(?:^ {4}|`|^)segue ([a-z]+)(?: ([a-z]+))?([^`\n]*)", text, re.MULTILINE)
    for name, inner, rest in examples:
        assert name in cli.COMMANDS, name
        command = cli.command_line.get_command(None, name)  # type: ignore[arg-type]
        known = getattr(command, "commands", None)
        if known and inner and inner not in ("alone",):
            assert inner in known, f"segue {name} {inner}"
        under = named(known, inner, command) if known else command
        assert unknown_options(under, rest) == [], f"segue {name} {inner}{rest}"


def named(known: dict[str, click.Command], inner: str, group: click.Command | None) -> click.Command | None:
    """The command of a group that an example calls: a task after `segue run` starts a run."""
    return known.get(inner) or known.get("start", group)


def unknown_options(command: click.Command | None, text: str) -> list[str]:
    """Options in an example that a command does not have. Behind two spaces, or --, are other words."""
    known = {option for parameter in getattr(command, "params", ()) for option in parameter.opts}
    own = re.split(r"  | -- |;|\|", text)[0]
    named = re.findall(r"(?:^|\s|\[)(--[a-z-]+)", own)
    return [name for name in named if name not in {*known, "--help"} and not name.endswith("-limit")]


HINT = re.compile(r"next=f?[\"']segue ([a-z]+)(?: ([a-z]+))?([^\"']*)")


def test_every_command_that_a_message_names_exists() -> None:
    """What to do next is named where something is refused: with the options it takes."""
    for path in sorted((ROOT / "src").rglob("*.py")):
        for name, inner, rest in HINT.findall(path.read_text()):
            assert name in cli.COMMANDS, f"{path.name}: segue {name}"
            command = cli.command_line.get_command(None, name)  # type: ignore[arg-type]
            known = getattr(command, "commands", {})
            assert unknown_options(named(known, inner, command), rest) == [], (
                f"{path.name}: segue {name} {inner}{rest}"
            )


def test_every_command_that_a_hint_names_exists() -> None:
    for name, error in inspect.getmembers(errors, inspect.isclass):
        for command, inner in re.findall(r"segue ([a-z]+)(?: ([a-z]+)\b)?", getattr(error, "hint", "")):
            assert command in cli.COMMANDS, f"{name}: segue {command}"
            known = getattr(cli.command_line.get_command(None, command), "commands", None)  # type: ignore[arg-type]
            if known and inner and inner not in ("first", "shows", "to", "the"):
                assert inner in known, f"{name}: segue {command} {inner}"


def test_the_glossary_has_every_noun() -> None:
    words = set(re.findall(r"^\| (\w+) \|", (ROOT / "docs" / "glossary.md").read_text(), re.MULTILINE))
    nouns = {name for name, value in inspect.getmembers(model, inspect.isclass) if issubclass(value, Value)}
    assert nouns - words == {"Value", "ReceiptLine"}


def test_the_page_on_python_has_every_public_name() -> None:
    page = (ROOT / "docs" / "python.md").read_text()
    assert sorted(re.findall(r"^\| `(\w+)", page, re.MULTILINE)) == sorted(segue.__all__)


def test_the_page_on_agents_names_every_place_that_is_looked_in() -> None:
    page = (ROOT / "docs" / "agents.md").read_text()
    places = [place for places in agents.PLACES.values() for place in places]
    variables = {place[1:].partition("/")[0] for place in places if place.startswith("$")}
    assert {name for name in variables if name not in page} == set()
    assert [
        agents.get(name).title for name in agents.NAMES if f"| {agents.get(name).title} |" not in page
    ] == ["Demonstration agent"]


def test_the_changelog_speaks_of_this_version() -> None:
    first = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert first is not None and first.group(1) == segue.__version__


def test_the_public_names_are_there() -> None:
    assert all(hasattr(segue, name) for name in segue.__all__)


def test_every_page_is_reachable_from_the_readme() -> None:
    readme = (ROOT / "README.md").read_text()
    assert [
        page.name for page in PAGES if page.parent.name == "docs" and f"docs/{page.name}" not in readme
    ] == []


def test_every_command_of_dev_is_in_contributing() -> None:
    source = (ROOT / "dev").read_text()
    names = re.findall(r"^    \./dev (\w+)", source, re.MULTILINE)
    contributing = (ROOT / "CONTRIBUTING.md").read_text() + (ROOT / "README.md").read_text()
    assert [name for name in names if f"./dev {name}" not in contributing and name != "setup"] == []


def test_the_limits_name_every_command_that_is_not_there_yet() -> None:
    limits = (ROOT / "docs" / "limits.md").read_text()
    missing = [name for name, entry in cli.COMMANDS.items() if not entry.module]
    assert [name for name in missing if f"`segue {name}`" not in limits] == []


def test_every_bench_is_in_contributing() -> None:
    contributing = (ROOT / "CONTRIBUTING.md").read_text()
    names = sorted(path.stem for path in (ROOT / "bench").glob("[a-z]*.py"))
    assert [name for name in names if f"./dev bench {name} " not in contributing] == []


def test_the_tree_in_the_design_names_every_file_at_its_top() -> None:
    design = (ROOT / "docs" / "design.md").read_text()
    found = {path.name for path in (ROOT / "src" / "segue").glob("*.py")}
    assert {name for name in found if name not in design} == set()


def test_samples_are_claimed_only_of_agents_that_are_read() -> None:
    rows = [row.strip("| ").split(" | ") for row in generate.agents_table().split("\n")[2:]]
    assert [row for row in rows if row[2] != "yes" and "samples" in row[3] + row[5]] == []


# Pins


def files_of_the_project() -> list[Path]:
    listed = ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, capture_output=True, text=True, check=True).stdout.split("\0")
    return [ROOT / name for name in names if name and (ROOT / name).is_file()]


def test_everything_is_pinned_with_hashes_and_no_host() -> None:
    for lock in sorted((ROOT / "requirements").glob("*.txt")):
        text = lock.read_text()
        pins = re.split(r"^(?=[a-z0-9-]+==)", text, flags=re.MULTILINE)[1:]
        assert len(pins) > 4 and all("--hash=sha256:" in pin for pin in pins)
        assert "://" not in text and "--index" not in text
    for lock in (ROOT / "tests" / "programs").glob("package-lock.json"):
        packages = json.loads(lock.read_text())["packages"]
        for name, package in packages.items():
            assert "resolved" not in package, name
            # Builds for other platforms that no hash could be had for are refused by install.py there.
            elsewhere = package.get("optional") and package.get("os")
            assert not name or package.get("integrity") or elsewhere, name


def test_a_plain_run_installs_what_the_project_says_it_needs() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lock = (ROOT / "requirements" / "run.txt").read_text()
    for needed in project["dependencies"]:
        assert re.search(rf"^{re.split('[<>=]', needed)[0]}==", lock, re.MULTILINE)


def test_the_agent_programs_of_the_tests_are_the_versions_that_segue_names() -> None:
    wanted = json.loads((ROOT / "tests" / "programs" / "package.json").read_text())["dependencies"]
    newest = [version for version in wanted.values() if not version.startswith("npm:")]
    assert sorted(newest) == sorted(agent.tested for agent in agents.all_programs() if agent.tested)


def test_no_file_names_a_registry_or_this_machine() -> None:
    hosts = ("registry.npmjs" + ".org", "pypi" + ".org", "pythonhosted" + ".org", "deb.debian" + ".org")
    for path in files_of_the_project():
        text = path.read_bytes()
        for host in hosts:
            assert host.encode() not in text, f"{path} names {host}"
        assert str(ROOT).encode() not in text, f"{path} names this folder"
