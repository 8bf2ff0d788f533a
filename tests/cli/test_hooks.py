"""What hooks tell and note: as agents run them, through a shell, without other programs."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from segue import agents
from segue.agents.codex import hook_settings
from segue.agents.shared.settings.settings_patch import SCRIPT
from segue.base import clock, fast_json
from segue.hooks import guard, limit_warnings, spool, waiting_handoffs
from segue.hooks.limit_warnings import Crossed
from segue.hooks.waiting_handoffs import Waiting
from segue.model import Brief, Origin, Section, Tier, Urgency
from segue.ops import background
from segue.ops.common.desk import open_desk
from segue.ops.handoff import waiting_list
from segue.ops.setup import hook_script
from tests.conftest import CommandLine
from tests.machine import furnish, tell_status
from tests.world import Conversation

NOW = "2026-11-16T09:30:00.000000Z"
FAR = "2999-01-01T00:00:00.000000Z"
SESSION = "6f0c1a52-0000-4000-8000-000000000001"
HOOKED = [name for name in agents.NAMES if agents.load(name).hooks]
TELL = {"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": "{said}"}}

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "my prøject"
    (folder / ".git").mkdir(parents=True)
    return folder


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "segue's home" / "data"


@pytest.fixture
def run(tmp_path: Path, data: Path, root: Path) -> Run:
    """Run a hook as an agent does; the refresher is not due."""
    env = {"SEGUE_HOME": str(data.parent), "HOME": str(tmp_path), "PATH": os.environ["PATH"]}
    desk = open_desk(env=env, cwd=tmp_path)
    for name in HOOKED:
        hook_script.write(desk, name)
    tended(data, 3600)

    def once(
        event: str, agent: str = "claude", given: Any = None, environment: Any = None, **more: str
    ) -> Any:
        usual = {
            "session_id": SESSION,
            "transcript_path": "/t.jsonl",
            "cwd": str(root),
            "hook_event_name": "X",
        }
        text = given if isinstance(given, str) else json.dumps({**usual, **(given or {})})
        return subprocess.run(
            ["sh", "-c", hook_script.reach(desk).hook(event, agent)],
            input=text,
            capture_output=True,
            text=True,
            cwd=root,
            env={**{key: env[key] for key in ("HOME", "PATH")}, **(environment or {}), **more},
            timeout=60,
        )

    return once


def tended(data: Path, ahead: float) -> None:
    (data / background.STAMP).write_text("\n")
    at = time.time() + ahead
    os.utime(data / background.STAMP, (at, at))


def without_python(data: Path) -> None:
    """Whoever starts Python fails from now on."""
    script = data / SCRIPT
    script.write_text(script.read_text().replace(sys.executable, "/nowhere"))


def assert_silent(done: subprocess.CompletedProcess[str]) -> None:
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


# All of them


@pytest.mark.parametrize("event", ["start", "prompt", "edit", "compact", "end", "line", "unknown", ""])
@pytest.mark.parametrize("agent", [*HOOKED, "nobody", "../x"])
def test_with_nothing_to_tell_a_hook_is_silent_and_starts_no_python(
    run: Run, data: Path, event: str, agent: str
) -> None:
    without_python(data)
    done = run(event, agent)
    if event != "line":  # which is no hook, and shown by Python
        assert_silent(done)
    assert guard.failures(data) == []


@pytest.mark.parametrize("given", ["", "no JSON", "[]", "{}", "[" * 100_000, '{"session_id": 5, "cwd": []}'])
def test_whatever_an_agent_gives_a_hook_it_goes_on(run: Run, data: Path, root: Path, given: str) -> None:
    waiting_handoffs.put(data, note(root))
    limit_warnings.put(data, "claude", SESSION, b"{}")
    for event in ("start", "prompt", "compact", "end"):
        assert_silent(run(event, given=given))
    assert len(guard.failures(data)) == 1  # of the start; the others ask for nothing that could fail
    assert spool.read_moments(data) == [] or given == "{}"


def test_the_data_folder_may_be_gone(run: Run, data: Path) -> None:
    script = (data / SCRIPT).read_text()
    aside = data.parent / "aside.sh"
    aside.write_text(script)
    for path in sorted(data.rglob("*"), reverse=True):
        path.unlink() if path.is_file() else path.rmdir()
    data.rmdir()
    for event in ("start", "prompt", "edit", "compact", "end"):
        done = subprocess.run(["sh", aside, event, "claude"], input="{}", capture_output=True, text=True)
        assert_silent(done)
    assert not data.exists()


def test_a_segue_that_is_gone_refuses_nothing_by_an_exit_code(run: Run, data: Path, root: Path) -> None:
    waiting_handoffs.put(data, note(root))
    now = clock.now()
    held = guard.Held(root=str(root), handoff="h", holder="X", since=now, expires=clock.later(now, 60))
    guard.put(data, held, now)
    script = data / SCRIPT
    kept = script.read_text()
    for gone in (
        kept.replace(str(hook_script.ROOT), "/nowhere"),
        kept.replace("-I -S", "--no-such-option"),
    ):
        script.write_text(gone)
        for event in ("start", "edit"):
            assert_silent(run(event))


def test_variables_of_the_person_are_not_taken_for_the_scripts_own(run: Run, data: Path) -> None:
    limit_warnings.put(data, "claude", SESSION, b"{}")
    odd = dict.fromkeys(("given", "said", "session", "note", "own", "now"), "x")
    assert run("prompt", environment=odd).stdout == "{}"


# At the start


def note(root: Path, **fields: str) -> Waiting:
    usual = {
        "handoff": "h-1",
        "source": "codex",
        "target": "claude",
        "expires": FAR,
        "text": 'Gö "on"\n<<<data 0a',
        "withheld": "withheld",
        "settings": waiting_handoffs.state_of([], {}),
    }
    return Waiting(root=str(root), **{**usual, **fields})


@pytest.mark.parametrize("agent", HOOKED)
def test_a_handoff_that_waits_for_an_agent_is_given_once_in_each_conversation(
    run: Run, data: Path, root: Path, agent: str
) -> None:
    waiting_handoffs.put(data, note(root, target=agent, source="another"))
    told = json.loads(run("start", agent).stdout)
    assert told["hookSpecificOutput"]["additionalContext"] == 'Gö "on"\n<<<data 0a'
    assert_silent(run("start", agent))
    assert run("start", agent, {"session_id": "another"}).stdout
    assert waiting_handoffs.given_to(data, "h-1") == [f"{agent} {SESSION}", f"{agent} another"]
    waiting_handoffs.drop(data, "h-1")
    assert list((data / waiting_handoffs.FOLDER).iterdir()) == []


def test_it_is_for_its_target_in_its_worktree_alone_and_never_for_where_it_comes_from(
    run: Run, data: Path, root: Path, tmp_path: Path
) -> None:
    waiting_handoffs.put(data, note(root))
    assert_silent(run("start", "codex"))
    assert_silent(run("start", "gemini"))
    assert_silent(run("start", "claude", {"cwd": str(tmp_path)}))
    assert_silent(run("start", "claude", SEGUE_HANDOFF="h-2"))
    waiting_handoffs.put(data, note(root, source="claude"))
    assert_silent(run("start", "claude"))
    assert waiting_handoffs.given_to(data, "h-1") == []
    waiting_handoffs.put(data, note(root))
    assert run("start", "claude", {"cwd": str(root / "src")}).stdout


def test_one_that_waited_too_long_goes_with_the_first_hook_that_meets_it(
    run: Run, data: Path, root: Path
) -> None:
    waiting_handoffs.put(data, note(root, expires="2020-01-01T00:00:00.000000Z"))
    assert_silent(run("start"))
    assert waiting_handoffs.notes(data) == [] and guard.failures(data) == []


def test_a_note_from_before_a_settings_file_changed_tells_no_more_than_that_it_waits(
    run: Run, data: Path, root: Path
) -> None:
    settings = data.parent / "settings.toml"
    waiting_handoffs.put(data, note(root, settings=waiting_handoffs.state_of([str(settings)], {})))
    told = run("start")
    assert "<<<data 0a" in told.stdout
    settings.write_text("[vendors]\nallowed = []\n")
    told = run("start", given={"session_id": "another"})
    assert "withheld" in told.stdout and "<<<data 0a" not in told.stdout
    waiting_handoffs.put(data, note(root))
    told = run("start", given={"session_id": "a third"}, SEGUE_VENDORS_ALLOWED="google")
    assert "withheld" in told.stdout and "<<<data 0a" not in told.stdout


def test_a_note_that_cannot_be_read_is_given_to_nobody_and_told_of(run: Run, data: Path) -> None:
    (data / waiting_handoffs.FOLDER).mkdir()
    (data / waiting_handoffs.FOLDER / "h-1.json").write_text("no note")
    assert_silent(run("start"))
    assert "h-1.json is unreadable, so it is given to nobody" in guard.failures(data)[-1].error


def test_a_note_that_leads_nowhere_hides_no_other(run: Run, data: Path, root: Path) -> None:
    waiting_handoffs.put(data, note(root))
    (data / waiting_handoffs.FOLDER / "0.json").symlink_to("/nowhere")
    assert run("start").stdout
    limit_warnings.put(data, "claude", SESSION, b'{"systemMessage":"near"}')
    (data / limit_warnings.FOLDER / "claude-0").symlink_to("/nowhere")
    assert run("prompt").stdout == '{"systemMessage":"near"}'


def test_a_note_that_was_given_too_often_to_be_counted_is_given_all_the_same(
    run: Run, data: Path, root: Path
) -> None:
    waiting_handoffs.put(data, note(root))
    marks = data / waiting_handoffs.FOLDER / f"h-1{waiting_handoffs.GIVEN}"
    marks.write_text("claude another\n" * 5000)
    assert run("start").stdout
    assert_silent(run("start"))
    assert marks.read_text() == f"claude {SESSION}\n" and guard.failures(data) == []


def test_a_note_that_is_longer_than_an_agent_takes_it_is_not_told(run: Run, data: Path, root: Path) -> None:
    waiting_handoffs.put(data, note(root, text="x" * 20_000))
    assert_silent(run("start"))
    assert "h-1.json is too long" in guard.failures(data)[-1].error
    assert waiting_handoffs.given_to(data, "h-1") == []


def test_a_note_that_names_another_file_takes_nothing_away(cli: CommandLine) -> None:
    data = cli.home / "data"
    odd = note(cli.cwd, handoff="../precious", expires="2020-01-01T00:00:00.000000Z")
    (data / waiting_handoffs.FOLDER).mkdir(parents=True)
    (data / waiting_handoffs.FOLDER / "h-1.json").write_text(fast_json.write(odd.fields()))
    (data / "precious.json").write_text("{}")
    look(cli)
    assert (data / "precious.json").exists() and waiting_handoffs.notes(data) == []


lines = st.lists(st.text(min_size=1, max_size=400), min_size=1, max_size=30).map(tuple)


@given(
    st.lists(st.tuples(st.sampled_from(Origin), lines), max_size=8),
    st.lists(st.text(max_size=200), max_size=60),
)
def test_however_long_a_brief_is_what_is_told_fits_and_names_what_was_cut(
    parts: list[tuple[Origin, tuple[str, ...]]], not_passed: list[str]
) -> None:
    sections = tuple(
        Section(title=f"Section {n}", origin=origin, lines=each) for n, (origin, each) in enumerate(parts)
    )
    brief = Brief(
        tier=Tier.FULL,
        budget=8000,
        tokens=1,
        sections=sections,
        source="Of X.",
        nonce="0a1b2c3d4e5f",
        not_passed=tuple(not_passed),
    )
    text = waiting_list.told(TELL, "h-1", "Codex", brief)
    answer = fast_json.write(guard.filled(TELL, text)).encode()
    assert len(answer) < 10_000 and json.loads(answer)["hookSpecificOutput"]["additionalContext"] == text
    assert text.count("<<<data 0a1b2c3d4e5f") == text.count("0a1b2c3d4e5f data>>>") == 1
    for section in sections:
        is_named = f"{section.title};" in text or f"{section.title}. `segue show" in text
        assert f"## {section.title}\n" in text or is_named
    if "Left out" not in text:
        assert all(f"## {section.title}\n" in text for section in sections)


# When something is said


@pytest.mark.parametrize("agent", HOOKED)
def test_a_warning_is_shown_to_its_conversation_once_without_python(run: Run, data: Path, agent: str) -> None:
    without_python(data)
    answer = b'{"systemMessage":"near"}'
    assert limit_warnings.put(data, agent, SESSION, answer) and limit_warnings.put(
        data, agent, "another", b"{}"
    )
    assert_silent(run("prompt", agent, {"session_id": "third", "prompt": f'"session_id":"{SESSION}"'}))
    assert run("prompt", agent, {"prompt": "x" * 300_000}).stdout.encode() == answer
    assert_silent(run("prompt", agent))
    assert [path.name for path in (data / limit_warnings.FOLDER).iterdir()] == [f"{agent}-another"]


@pytest.mark.parametrize("session", ["", "../x", "a b", "a*", "a/b", ".told", "é", "x" * 200])
def test_a_conversation_with_an_odd_name_gets_no_warning_and_makes_no_file(
    tmp_path: Path, session: str
) -> None:
    assert not limit_warnings.put(tmp_path, "claude", session, b"{}")
    assert list(tmp_path.iterdir()) == []


def test_the_refresher_is_started_when_it_is_due_and_not_waited_for(run: Run, data: Path) -> None:
    assert_silent(run("prompt"))
    assert (data / background.STAMP).stat().st_mtime > time.time() + 3000
    tended(data, -1)
    begun = time.monotonic()
    assert_silent(run("prompt"))
    took = time.monotonic() - begun
    until = time.monotonic() + 60
    while (data / background.STAMP).stat().st_mtime < time.time() and time.monotonic() < until:
        time.sleep(0.05)
    came = time.monotonic() - begun
    assert 30 < (data / background.STAMP).stat().st_mtime - time.time() <= background.EVERY_SECONDS
    assert took < came
    assert guard.failures(data) == []


# Warnings


def told_to(cli: CommandLine) -> list[dict[str, Any]]:
    folder = cli.home / "data" / limit_warnings.FOLDER
    return [json.loads(path.read_text()) for path in sorted(folder.glob("[!.]*"))]


def look(cli: CommandLine) -> int:
    desk = open_desk(env=cli.env, cwd=Path("/"), clock=cli.clock)
    try:
        return background.look(desk)
    finally:
        desk.close()


def test_a_limit_past_a_threshold_is_warned_of_once_and_again_when_it_is_urgent(cli: CommandLine) -> None:
    furnish(cli)
    talk = Conversation(cli.folder, cli.cwd, SESSION)
    talk.minutes = 85
    talk.prompt("Go on")
    talk.reply("Fine.", cache_read_input_tokens=20_000)
    assert look(cli) >= 1
    (answer,) = told_to(cli)
    assert answer["systemMessage"].startswith(
        "Segue: Opus 4.5 usage: 86% - Handoff recommended. 86% of the 5h limit"
    )
    assert "`segue to AGENT --dry-run`" in answer["systemMessage"]
    (path,) = (cli.home / "data" / limit_warnings.FOLDER).glob("[!.]*")
    assert path.name == f"claude-{SESSION}" and stat.S_IMODE(path.stat().st_mode) == 0o600
    path.unlink()
    look(cli)
    assert told_to(cli) == []
    tell_status(cli, 93, 88)
    look(cli)
    (answer,) = told_to(cli)
    assert "Handoff urgent" in answer["systemMessage"]


def test_switched_on_a_handoff_is_prepared_at_a_threshold_and_waits(cli: CommandLine) -> None:
    furnish(cli)
    talk = Conversation(cli.folder, cli.cwd, SESSION)
    talk.minutes = 85
    talk.prompt("Go on")
    talk.reply("Fine.", cache_read_input_tokens=20_000)
    cli.env |= {"SEGUE_HANDOFF_AUTO": "on", "SEGUE_HANDOFF_MODELS": "sonnet, codex"}
    look(cli)
    (handoff,) = json.loads(cli("handoff", "list", "--json").out)
    assert (handoff["state"], handoff["target"], handoff["transcript"]) == ("prepared", "codex", SESSION)
    assert handoff["event"]["trigger"]["type"] == "usage_limit"
    (answer,) = told_to(cli)
    assert f"segue handoff execute {handoff['id']} --open" in answer["systemMessage"]
    look(cli)
    assert len(json.loads(cli("handoff", "list", "--json").out)) == 1, "once for each threshold"
    tell_status(cli, 93, 88)
    look(cli)
    *_, answer = told_to(cli)
    replaced = f"note: handoff {handoff['id']} to Codex is cancelled: a new one replaces it."
    assert replaced in answer["systemMessage"]


def test_a_conversation_that_is_over_or_has_room_is_not_warned(cli: CommandLine) -> None:
    talk = Conversation(cli.folder, cli.cwd, SESSION)
    talk.minutes = 85
    talk.prompt("Go on")
    talk.reply("Fine.", cache_read_input_tokens=20_000)
    assert look(cli) == 1 and told_to(cli) == []
    talk.reply("Full.", cache_read_input_tokens=190_000)
    cli.clock.time = clock.later(cli.clock.time, 3600)
    assert look(cli) == 0 and told_to(cli) == []
    cli.clock.time = clock.later(cli.clock.time, -3600)
    assert look(cli) == 1 and len(told_to(cli)) == 1


@given(
    st.lists(
        st.none()
        | st.builds(
            Crossed,
            st.sampled_from(["context", "5h  a", "week  b"]),
            st.sampled_from([Urgency.MEDIUM, Urgency.HIGH]),
        )
    )
)
def test_of_each_window_each_threshold_is_told_at_most_once(looks: list[Crossed | None]) -> None:
    told: dict[str, str] = {}
    said: list[tuple[str, str]] = []
    for crossed in looks:
        is_new, told = limit_warnings.news(told, crossed)
        if is_new:
            assert crossed is not None
            said.append((crossed.window, crossed.urgency.value))
    lasting = [each for each in said if each[0] != "context"]
    assert len(lasting) == len(set(lasting))
    firsts = {crossed.window for crossed in looks if crossed}
    assert {window for window, _ in said} == firsts


def test_a_context_that_was_emptied_and_fills_up_once_more_is_warned_of_again() -> None:
    full = Crossed("context", Urgency.MEDIUM)
    is_new, told = limit_warnings.news({}, full)
    assert is_new and not limit_warnings.news(told, full)[0]
    _, told = limit_warnings.news(told, None)
    assert limit_warnings.news(told, full)[0]


# Moments


def test_moments_are_noted_as_one_line_each_and_read_back(run: Run, data: Path, root: Path) -> None:
    assert_silent(
        run("compact", given={"trigger": "auto", "custom_instructions": "keep\nall 'of' $(it) `x` %s \\n"})
    )
    assert_silent(
        run("end", "codex", json.dumps({"session_id": "x", "cwd": "/p", "reason": "exit"}, indent=2))
    )
    first, second = spool.read_moments(data)
    assert (first.event, first.agent, first.session, first.why) == ("compact", "claude", SESSION, "auto")
    assert first.cwd == str(root) and first.transcript == "/t.jsonl"
    assert (second.event, second.agent, second.session, second.why) == ("end", "codex", "x", "exit")
    assert clock.parse(first.at) and spool.read_moments(data, "x") == [second]
    path = data / "spool" / "moments"
    assert len(path.read_text().splitlines()) == 2 and stat.S_IMODE(path.stat().st_mode) == 0o600


def test_what_is_no_moment_is_passed_over_and_a_full_file_is_set_aside(run: Run, data: Path) -> None:
    assert_silent(run("end"))
    path = data / "spool" / "moments"
    path.write_bytes(b"no\xff\n\n2026-11-16T09:30:00Z end claude {\nx end claude {}\n" + path.read_bytes())
    (noted,) = spool.read_moments(data)
    path.write_bytes(path.read_bytes() + b"x" * (1 << 20))
    spool.set_moments_aside(data)
    assert not path.exists() and spool.read_moments(data) == [noted]


def test_what_was_noted_of_a_session_is_shown_with_it_and_names_a_moment(cli: CommandLine) -> None:
    talk = Conversation(cli.folder, cli.cwd, SESSION)
    talk.prompt("Do not touch a.py.")
    talk.reply("No.")
    noted = json.dumps({"session_id": SESSION, "cwd": str(cli.cwd), "trigger": "manual"})
    folder = cli.home / "data" / "spool"
    folder.mkdir(parents=True)
    (folder / "moments").write_text(f"2026-11-16T08:05:00Z compact claude {noted}\n")
    talk.prompt("Do not touch b.py either.", minutes=10)
    shown = cli("session", "info").out
    assert "shortened  claude" in shown and "manual" in shown
    told = json.loads(cli("diff", f"{SESSION}@compact", SESSION, "--json").out)
    assert any("b.py" in fact["value"] for fact in told["added"])
    assert not any("a.py" in fact["value"] for fact in told["added"])
    result = cli("diff", f"{SESSION}@end", SESSION)
    assert result.code == 2 and "was recorded" in result.err and "segue init" in result.err


# Handoffs wait from when they are prepared


def test_a_handoff_waits_from_when_it_is_prepared_until_it_is_put_aside(cli: CommandLine) -> None:
    talk = Conversation(cli.folder, cli.cwd, SESSION)
    talk.prompt("Use port 4711, always. Don't touch src/legacy.py.")
    talk.reply("Next I will round each line.")
    programs = cli.folder / "bin"
    programs.mkdir()
    (programs / "codex").write_text("#!/bin/sh\nexit 1\n")
    (programs / "codex").chmod(0o755)
    prepared = json.loads(cli("handoff", "prepare", "--to", "codex", "--json").out)
    (waits,) = waiting_handoffs.notes(cli.home / "data")
    assert (waits.handoff, waits.source, waits.target) == (prepared["id"], "claude", "codex")
    assert "may not go to openai" in waits.text and "4711" not in waits.text
    assert f"{prepared['id']} is waiting in" in cli("doctor").out
    told = json.loads(
        cli("handoff", "prepare", "--to", "codex", "--json", SEGUE_VENDORS_ALLOWED="openai").out
    )
    (waits,) = waiting_handoffs.notes(cli.home / "data")  # the one before was put aside by the new one
    assert waits.handoff == told["id"] and "port 4711, always" in waits.text and waits.root == str(cli.cwd)
    look(cli)
    assert len(waiting_handoffs.notes(cli.home / "data")) == 1
    assert cli("handoff", "cancel", told["id"]).code == 0
    assert waiting_handoffs.notes(cli.home / "data") == []
    waiting_handoffs.put(cli.home / "data", waits)  # as if it had been taken on another machine
    look(cli)
    assert waiting_handoffs.notes(cli.home / "data") == []


# JSON without json

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(values)
def test_json_is_written_and_read_as_json_does_it(value: Any) -> None:
    written = fast_json.write(value)
    assert json.loads(written) == value and "\n" not in written
    assert fast_json.parse(written.encode()) == value
    assert fast_json.parse(json.dumps(value, indent=1).encode()) == value


@given(st.text(max_size=40) | st.binary(max_size=40))
def test_what_is_no_json_is_refused_as_json_does_it(text: Any) -> None:
    content = text if isinstance(text, bytes) else text.encode(errors="replace")
    try:
        expected = json.loads(content.decode())
    except ValueError:
        with pytest.raises(ValueError):
            fast_json.parse(content)
    else:
        assert fast_json.parse(content) == expected or expected != expected


def test_every_manner_is_plain_data_that_a_hook_can_read() -> None:
    for name in HOOKED:
        hooks = agents.load(name).hooks
        plain = fast_json.parse(msgspec.json.encode(hooks() if hooks else None))
        assert plain["refuse"] and plain["tell"] and plain["warn"]
        for form in ("refuse", "tell", "warn"):
            assert "why" in json.dumps(guard.filled(plain[form], "why"))


@pytest.mark.parametrize(
    "text", ["*** Begin Patch\n*** Add File: a.py\n+x\n*** Update File: /p/b\n*** Move to: c\n*** End Patch"]
)
def test_a_patch_names_the_files_that_it_changes(text: str) -> None:
    record = {"tool_name": "apply_patch", "tool_input": {"command": text}, "cwd": "/p"}
    manner = msgspec.to_builtins(hook_settings.hooks())
    attempt = guard.attempt_of(record, manner)
    assert attempt is not None and attempt.paths == ("a.py", "/p/b", "c")
