"""The plugin in the real Claude Code: it is valid, its commands and hooks load, and its tools answer."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import segue
from segue.agents.claude import hook_settings
from tests.programs.household import Household
from tests.programs.model_server import Call, Reply, Step
from tests.programs.program import Run

ROOT = Path(__file__).parent.parent.parent
PLUGIN = ROOT / "plugins" / "segue"

with_claude = pytest.mark.program("claude")


@pytest.fixture
def house(programs: dict[str, Path], tmp_path: Path) -> Iterator[Household]:
    with Household(tmp_path) as house:
        # What the plugin asks of its user: `segue` on PATH.
        script = f'#!/bin/sh\nexec {sys.executable} -P -m segue "$@"\n'
        (house.bin / "segue").write_text(script)
        (house.bin / "segue").chmod(0o755)
        yield house


def run(house: Household, project: Path, prompt: str, *steps: Step) -> Run:
    done = house.programs["claude"].run(
        prompt,
        project,
        [*steps, Reply("Done.")],
        sandbox=house.sandbox,
        environment={**house.environment, "ENABLE_TOOL_SEARCH": "false"},
        arguments=["--plugin-dir", str(PLUGIN), "--include-hook-events"],
    )
    assert done.exit_code == 0, done.report
    return done


def news(done: Run, kind: str) -> list[dict[str, Any]]:
    """What it printed of one kind of system message."""
    told = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return [one for one in told if one.get("type") == "system" and one.get("subtype") == kind]


@with_claude
@pytest.mark.parametrize(
    ("folder", "arguments"),
    [(ROOT, ["--strict"]), (PLUGIN, ["--strict"]), (PLUGIN, ["--strict", "--profile", "directory"])],
    ids=["marketplace", "plugin", "directory"],
)
def test_it_is_valid(house: Household, tmp_path: Path, folder: Path, arguments: list[str]) -> None:
    process = house.sandbox.start(
        [str(house.programs["claude"].executable), "plugin", "validate", *arguments, str(folder)],
        cwd=tmp_path,
        environment=house.environment,
    )
    assert process.wait() == 0, process.stdout + process.stderr


def test_its_version_is_segues() -> None:
    manifest = json.loads((PLUGIN / ".claude-plugin" / "plugin.json").read_text())
    assert manifest["version"] == segue.__version__


def test_its_hooks_are_those_that_init_sets_up() -> None:
    hooks = json.loads((PLUGIN / "hooks" / "hooks.json").read_text())["hooks"]
    told = [
        (event, group.get("matcher", ""), one["command"].split()[-1], one["timeout"])
        for event, groups in hooks.items()
        for group in groups
        for one in group["hooks"]
    ]
    assert sorted(told) == sorted(
        (hook.event, hook.matcher, hook.what, hook.timeout) for hook in hook_settings.HOOKS
    )


@with_claude
def test_the_status_is_asked_for_by_the_tool_that_knows_who_asks(house: Household) -> None:
    project = house.project("invoices")
    done = run(house, project, "/segue:status", Call("mcp__plugin_segue_segue__status", {}))

    asked = done.requests[0].text
    assert "Call the tool `mcp__plugin_segue_segue__status` once" in asked, done.report
    assert "This folder  " not in asked
    assert str(project) in done.requests[-1].results[0].text, done.report
    (init,) = news(done, "init")
    assert {f"segue:{name}" for name in ("handoff", "save", "status", "to")} <= set(init["slash_commands"])
    assert not init.get("plugin_errors")


@with_claude
@pytest.mark.parametrize("command", ["to", "save", "handoff"])
def test_what_the_person_types_after_a_command_is_data_and_never_run(house: Household, command: str) -> None:
    project = house.project("invoices")
    typed = "codex !`touch ran` $(touch ran) `touch ran` ; touch ran #"
    done = run(house, project, f"/segue:{command} {typed}")

    assert typed in done.requests[0].text, done.report
    assert not (project / "ran").exists()


@with_claude
def test_its_tools_answer(house: Household) -> None:
    project = house.project("invoices")
    done = run(house, project, "How do things stand?", Call("mcp__plugin_segue_segue__status", {}))

    assert str(project) in done.requests[-1].results[0].text, done.report


@with_claude
def test_its_hooks_run_and_need_no_init(house: Household) -> None:
    project = house.project("invoices")
    done = run(house, project, "Hello", house.programs["claude"].shell("true"))

    ran = {one["hook_event"]: one for one in news(done, "hook_response")}
    assert {"SessionStart", "UserPromptSubmit", "PreToolUse"} <= set(ran), done.report
    assert all(one["exit_code"] == 0 and not one["stderr"] for one in ran.values()), ran
    data = house.home / ".local" / "share" / "segue"
    assert os.access(data / "hook.sh", os.X_OK)
    assert (data / "spool" / "moments").read_text().count(" end claude ") == 1
    assert not (house.home / ".claude" / "settings.json").exists()


@with_claude
def test_after_init_nothing_runs_twice(house: Household) -> None:
    project = house.project("invoices")
    assert house.segue("init", "claude", "--yes", cwd=project).exit_code == 0
    run(house, project, "Hello")

    moments = house.home / ".local" / "share" / "segue" / "spool" / "moments"
    assert moments.read_text().count(" end claude ") == 1


def hook(home: Path, event: str, **env: str) -> subprocess.CompletedProcess[str]:
    """The plugin's script as Claude Code runs it, on a machine with nothing but a shell."""
    tools = home / "tools"
    if not tools.exists():
        tools.mkdir(parents=True)
        for name in ("sh", "grep", "mkdir", "cat", "head", "date", "tr", "wc"):
            (tools / name).symlink_to(str(shutil.which(name)))
    return subprocess.run(
        ["/bin/sh", str(PLUGIN / "hooks" / "segue.sh"), event],
        env={"HOME": str(home), "PATH": str(tools), **env},
        cwd=home,
        input="{}",
        capture_output=True,
        text=True,
        timeout=30,
    )


@pytest.mark.parametrize("event", ["start", "prompt", "edit", "compact", "end", "unheard of"])
def test_without_segue_its_hooks_are_silent(tmp_path: Path, event: str) -> None:
    done = hook(tmp_path, event)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert [path.name for path in tmp_path.iterdir()] == ["tools"]


def test_without_segue_the_person_is_told_once(tmp_path: Path) -> None:
    kept = str(tmp_path / "kept")
    first, second = (hook(tmp_path, "start", CLAUDE_PLUGIN_DATA=kept) for _ in range(2))
    assert "no program of that name on PATH" in json.loads(first.stdout)["systemMessage"]
    assert (second.returncode, second.stdout, second.stderr) == (0, "", "")


@pytest.mark.parametrize(
    ("env", "where"),
    [
        ({}, ".local/share/segue"),
        ({"XDG_DATA_HOME": "{home}/xdg data"}, "xdg data/segue"),
        ({"SEGUE_HOME": "{home}/it's mine"}, "it's mine/data"),
        ({"SEGUE_HOME": "~/own"}, "own/data"),
    ],
)
def test_its_hooks_find_segues_folder(tmp_path: Path, env: dict[str, str], where: str) -> None:
    named = {key: value.format(home=tmp_path) for key, value in env.items()}
    script = tmp_path / where / "hook.sh"
    script.parent.mkdir(parents=True)
    script.write_text('#!/bin/sh\necho "ran $1 $2"\n')
    script.chmod(0o700)
    assert hook(tmp_path, "edit", **named).stdout == "ran edit claude\n"

    settings = tmp_path / ".claude" / "settings.json"
    settings.parent.mkdir()
    line = {"type": "command", "command": f"sh -c '[ -x \"$0\" ]' {shlex.quote(str(script))} ''"}
    settings.write_text(json.dumps({"statusLine": line}))
    assert hook(tmp_path, "edit", **named).stdout == "ran edit claude\n"
    for said in (f"{script} edit claude", f"[ ! -x '{script}' ] || '{script}' edit claude"):
        settings.write_text(json.dumps({"hooks": {"PreToolUse": [{"hooks": [{"command": said}]}]}}))
        assert hook(tmp_path, "edit", **named).stdout == ""


@pytest.mark.parametrize("name", ["SEGUE_HOME", "XDG_DATA_HOME"])
def test_its_hooks_run_nothing_that_lies_in_the_project(tmp_path: Path, name: str) -> None:
    script = tmp_path / "mine" / ("data" if name == "SEGUE_HOME" else "segue") / "hook.sh"
    script.parent.mkdir(parents=True)
    script.write_text("#!/bin/sh\necho ran\n")
    script.chmod(0o700)
    for event in ("start", "edit"):
        assert hook(tmp_path, event, **{name: "mine"}).stdout == ""
    assert hook(tmp_path, "edit", **{name: str(tmp_path / "mine")}).stdout == "ran\n"
