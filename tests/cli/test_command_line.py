"""The command line's manners: JSON everywhere, colour, completion, no tracebacks, both names."""

from __future__ import annotations

import contextlib
import io
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import click
import msgspec
import pytest

from segue.errors import StoreError
from segue.faces import cli as faces
from segue.faces import render
from segue.faces.cli import help, main
from segue.faces.cli.frame import Frame
from segue.ops import overview
from tests.conftest import CommandLine
from tests.handoff_documents import MINIMAL
from tests.world import Conversation

PROGRAMS = Path(sys.executable).parent


def every_command(command: click.Command, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    if isinstance(command, click.Group):
        context = click.Context(command)
        found = [path] if command.invoke_without_command else []
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            found += every_command(inner, (*path, name))
        return found
    return [path]


EVERY = every_command(faces.command_line)
ARGUMENTS = {
    ("completion",): ["bash"],
    ("session", "info"): ["s-000000000001"],
    ("session", "close"): ["s-000000000001"],
    ("session", "use"): ["s-000000000001"],
    ("session", "link"): ["s-000000000001", "aaaa"],
    ("transcripts", "show"): ["aaaa"],
    ("transcripts", "confirm"): ["chat.md"],
    ("pack",): ["aaaa"],
    ("diff",): ["aaaa", "aaaa"],
    ("redact",): [".segue.toml"],
    ("protocol", "check"): ["handoff.yaml"],
    ("protocol", "reduce"): ["handoff.yaml", "--to", "METADATA"],
    ("rate",): ["4"],
    ("watch",): ["--count", "1"],
    ("log", "show"): ["op-000000000001"],
    ("config", "get"): ["limits.urgent"],
    ("config", "set"): ["limits.urgent", "80"],
    ("config", "unset"): ["limits.urgent"],
    ("handoff", "config"): ["--auto", "true"],
    ("backup", "restore"): ["latest", "--yes"],
    ("trust",): [],
    ("to",): ["demo", "--dry-run"],
    ("back",): ["--session", "s-000000000001", "--dry-run"],
    ("handoff", "prepare"): ["--to", "demo"],
    ("handoff", "execute"): ["--to", "demo"],
    ("handoff", "validate"): ["h-1"],
    ("handoff", "show"): ["h-1"],
    ("handoff", "cancel"): ["h-1"],
    ("save",): ["--task", "mend it"],
    ("init",): ["--yes"],
    ("handoff", "init"): ["--yes"],
    ("run", "start"): ["Mend it", "--chain", ","],
}


FOR_AGENTS = {("statusline",), ("mcp",)}
"""What an agent calls: one line of text whatever happens, and a protocol of its own."""
NOTHING_THERE: dict[tuple[str, ...], int] = {
    ("handoff", "validate"): 1,
    ("handoff", "show"): 1,
    ("handoff", "cancel"): 1,
    ("back",): 5,
    ("load",): 1,
    ("run", "start"): 2,
    ("run", "attach"): 1,
    ("run", "resume"): 1,
    ("run", "stop"): 1,
}
"""Commands that have nothing to speak of here: their error is JSON too."""


@pytest.mark.parametrize("command", [each for each in EVERY if each not in FOR_AGENTS], ids=" ".join)
def test_every_command_speaks_json(cli: CommandLine, command: tuple[str, ...]) -> None:
    cli("session", "create")
    Conversation(cli.folder, cli.cwd, "aaaa").prompt("Go")
    cli("backup", "make")
    (cli.cwd / ".segue.toml").write_text("")
    (cli.cwd / "handoff.yaml").write_text(MINIMAL)
    (cli.cwd / "chat.md").write_text("# aider chat started at 2026-02-27 18:25:54\n")
    arguments = [*command, *ARGUMENTS.get(command, []), "--json"]
    result = cli(*arguments, EDITOR="/bin/true")
    assert result.code == NOTHING_THERE.get(command, 0), result
    if command in NOTHING_THERE:
        assert msgspec.json.decode(result.err)["next"]
        return
    msgspec.json.decode(result.out)


@pytest.mark.parametrize("command", EVERY, ids=" ".join)
def test_every_command_has_help_with_a_sentence_on_it(cli: CommandLine, command: tuple[str, ...]) -> None:
    result = cli(*command, "--help")
    assert result.code == 0 and result.err == ""
    assert len(result.out.splitlines()) >= 3


@pytest.mark.parametrize(
    "arguments", [["--json", "session", "list"], ["log", "--json", "verify"], ["--json"]]
)
def test_json_may_be_asked_for_anywhere(cli: CommandLine, arguments: list[str]) -> None:
    assert msgspec.json.decode(cli(*arguments).out) is not None


@pytest.mark.parametrize("group", ["session", "config", "backup", "handoff"])
def test_a_group_alone_shows_what_it_can_do(cli: CommandLine, group: str) -> None:
    result = cli(group)
    assert result.code == 2 and result.out.startswith(f"Usage: segue {group}") and "Commands:" in result.out


def test_help_for_what_is_not_there_yet_says_so(cli: CommandLine) -> None:
    for arguments in (["help", "give"], ["give", "--help"], ["give", "ada"]):
        result = cli(*arguments)
        assert result.code == 2 and "is not implemented yet" in result.err


def test_help_lists_every_command_there_is() -> None:
    listed = {command for _, command, _ in help.every_command()}
    assert {"segue " + " ".join(command) for command in EVERY if command} <= listed


def test_both_names_are_the_same_program(tmp_path: Path) -> None:
    env = {"SEGUE_HOME": str(tmp_path / "home"), "PATH": os.environ["PATH"]}
    screens = [
        subprocess.run(
            [PROGRAMS / name, "config", "list"], env=env, capture_output=True, text=True, check=True
        ).stdout
        for name in ("segue", "claude-prompter")
    ]
    assert screens[0] == screens[1] != ""
    for name in ("segue", "claude-prompter"):
        done = subprocess.run(
            [PROGRAMS / name, "--version"], env=env, capture_output=True, text=True, check=True
        )
        assert done.stdout.startswith("segue ")


def on_a_terminal(arguments: list[str], env: dict[str, str]) -> str:
    main_end, other_end = pty.openpty()
    process = subprocess.Popen(
        [PROGRAMS / "segue", *arguments], env=env, stdout=other_end, stdin=other_end, stderr=other_end
    )
    os.close(other_end)
    found = b""
    with contextlib.suppress(OSError):
        while part := os.read(main_end, 65536):
            found += part
    process.wait(30)
    os.close(main_end)
    return found.decode()


def test_colour_on_a_terminal_and_never_with_no_color(tmp_path: Path) -> None:
    env = {"SEGUE_HOME": str(tmp_path / "home"), "PATH": "/usr/bin:/bin", "TERM": "xterm"}
    assert "\x1b[" in on_a_terminal(["doctor"], env)
    assert "\x1b[" in on_a_terminal(["nonsense"], env)
    for arguments in (["doctor"], ["nonsense"]):
        assert "\x1b" not in on_a_terminal(arguments, {**env, "NO_COLOR": "1"})
        assert "\x1b" not in on_a_terminal(arguments, {**env, "TERM": "dumb"})


@pytest.mark.parametrize("text", ["\x1b[31mred", "a\rb", "\x9b1m", "a\u202eb", "tab\there", "nul\x00"])
def test_nothing_that_moves_a_terminal_gets_through(text: str) -> None:
    assert render.clean(text).isprintable()
    assert render.table([(text, text)]).isprintable()


def test_a_hostile_folder_name_is_shown_harmlessly(cli: CommandLine) -> None:
    cli.cwd = cli.folder / "evil\x1b]0;owned\x07"
    cli.cwd.mkdir()
    assert "\x1b" not in cli().out
    result = cli("session", "create")
    assert "\x1b" not in result.out + result.err


def test_a_bug_is_reported_without_a_traceback_and_logged(
    cli: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_arguments: object) -> None:
        raise ZeroDivisionError("deep inside")

    monkeypatch.setattr(overview, "overview", broken)
    result = cli()
    assert (
        result.code == 70
        and "Traceback" not in result.err
        and "Something went wrong inside Segue (ZeroDivisionError" in result.err
    )
    assert "Traceback" in (cli.home / "segue.log").read_text()
    assert (cli.home / "segue.log").stat().st_mode & 0o777 == 0o600
    assert "Traceback" in cli("--debug").err


def test_the_log_file_does_not_grow_for_ever(cli: CommandLine) -> None:
    cli.home.mkdir(mode=0o700)
    (cli.home / "segue.log").write_bytes(b"x" * 1_100_000)
    cli("session", "create", SEGUE_STORE="postgresql://127.0.0.1:1/x")
    assert (cli.home / "segue.log").stat().st_size < 100_000
    assert (cli.home / "segue.log.old").exists()


def test_debug_shows_the_cause_of_an_error(cli: CommandLine) -> None:
    result = cli("session", "list", "--debug", SEGUE_STORE="postgresql://127.0.0.1:1/x")
    assert "Traceback" in result.err and "error: " in result.err and result.code == StoreError.exit_code


def test_a_reader_that_leaves_early_is_no_error(tmp_path: Path) -> None:
    env = {"SEGUE_HOME": str(tmp_path / "home"), "PATH": os.environ["PATH"]}
    process = subprocess.Popen(
        [PROGRAMS / "segue", "help", "--all"], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    process.stdout.close()
    _, err = process.communicate(timeout=30)
    assert process.returncode == 0 and err == b""


@pytest.mark.parametrize(
    "arguments", [["config", "list"], ["session"], ["--help"], ["log", "--help"], ["--version"]]
)
def test_output_that_cannot_be_written_is_an_error_that_says_so(tmp_path: Path, arguments: list[str]) -> None:
    env = {"SEGUE_HOME": str(tmp_path / "home"), "PATH": os.environ["PATH"]}
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([PROGRAMS / "segue", *arguments], env=env, stdout=full, stderr=subprocess.PIPE)
    assert (
        done.returncode == 1
        and b"error: " in done.stderr
        and b"No space left on device" in done.stderr
        and b"Traceback" not in done.stderr
    )


def test_a_terminal_that_cannot_show_a_mark_is_no_error(tmp_path: Path) -> None:
    env = {"SEGUE_HOME": str(tmp_path / "home"), "PATH": "", "PYTHONIOENCODING": "latin-1"}
    done = subprocess.run([PROGRAMS / "segue", "doctor"], env=env, capture_output=True)
    assert done.returncode == 0 and b"? python" in done.stdout, done.stderr


def test_no_output_at_all_is_no_error(tmp_path: Path) -> None:
    env = {"SEGUE_HOME": str(tmp_path / "home"), "PATH": os.environ["PATH"]}
    closed = ["sh", "-c", 'exec "$0" session create >&- 2>&-', str(PROGRAMS / "segue")]
    assert subprocess.run(closed, env=env).returncode == 0


@pytest.mark.parametrize("name", [b"bad\xff", b"new\nline", b"esc\x1b[31m", "ünï".encode()])
def test_a_folder_with_an_odd_name_can_be_worked_in(cli: CommandLine, name: bytes) -> None:
    cli.cwd = cli.folder / os.fsdecode(name)
    cli.cwd.mkdir()
    assert cli("session", "create").code == 0
    assert "s-000000000001" in cli().out and cli("--json").code == 0
    assert cli("session", "list", "--json").code == 0
    (cli.cwd / ".segue.toml").write_text("")
    for arguments in (
        ["trust"],
        ["config", "path"],
        ["doctor"],
        ["config", "set", "--project", "handoff.auto", "off"],
    ):
        assert cli(*arguments, "--json").code == 0, arguments


@pytest.mark.parametrize(
    "arguments", [["session", "info"], ["session", "create", "--key"], ["undo"], ["log", "show"]]
)
def test_an_argument_that_is_no_text_is_refused(cli: CommandLine, arguments: list[str]) -> None:
    for more in ([], ["--json"]):
        result = cli(*arguments, os.fsdecode(b"bad\xff"), *more)
        assert result.code == 2 and "not valid UTF-8" in result.err


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["undo", ""], 1),
        (["session", "info", ""], 1),
        (["session", "create", "--key", "k" * 5000], 2),
        (["session", "create", "--key", ""], 2),
        (["demo", "--keep", "x" * 5000], 2),
        (["backup", "restore", "x" * 5000, "--yes"], 1),
        (["demo", "--keep", "/proc/nothing/here"], 2),
        (["session", "info", "%"], 1),
        (["session", "info", "' or 1=1 --"], 1),
        (["log", "--limit", "-5"], 2),
        (["config", "get", ""], 3),
        (["config", "set", "user.name", "a\x1bb"], 3),
        (["--set", "nonsense", "log"], 3),
        (["--set", "limits.urgent=", "log"], 3),
    ],
)
def test_bad_input_gets_a_clear_answer(cli: CommandLine, arguments: list[str], code: int) -> None:
    cli("session", "create")
    for more in ([], ["--json"]):
        result = cli(*arguments, *more)
        assert result.code == code, result
        assert result.out == "" and "Traceback" not in result.err and "\x1b" not in result.err
    assert len(cli("log").out.splitlines()) == 1


def test_a_home_of_a_user_who_is_not_there_is_a_name_like_any_other(tmp_path: Path) -> None:
    env = {"SEGUE_HOME": "~nosuchuser/x", "PATH": "", "HOME": str(tmp_path)}
    done = subprocess.run(
        [PROGRAMS / "segue", "session", "list"], env=env, cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0 and done.stderr == ""


def test_being_interrupted_early_is_quiet(tmp_path: Path) -> None:
    code = """if True:
        import builtins, sys
        import segue.__main__
        real = builtins.__import__
        def interrupted(name, *more, **others):
            if name == "segue.faces.cli":
                raise KeyboardInterrupt
            return real(name, *more, **others)
        builtins.__import__ = interrupted
        sys.argv = ["segue", "doctor"]
        segue.__main__.main()
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def test_being_interrupted_later_is_quiet_too(tmp_path: Path) -> None:
    program = tmp_path / "bin" / "codex"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho $$ > started\nsleep 9\n")
    program.chmod(0o755)
    env = {"SEGUE_HOME": str(tmp_path / "home"), "PATH": f"{program.parent}:/usr/bin:/bin"}
    process = subprocess.Popen([PROGRAMS / "segue", "doctor"], env=env, cwd=tmp_path, stderr=subprocess.PIPE)
    deadline = time.monotonic() + 20
    while not (tmp_path / "started").exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert (process.returncode, err.strip()) == (130, b"")


def test_a_folder_that_was_deleted_under_us(tmp_path: Path) -> None:
    env = {"SEGUE_HOME": str(tmp_path / "home"), "PATH": os.environ["PATH"], "PWD": "/gone"}
    folder = tmp_path / "gone"
    folder.mkdir()
    code = f"import os; os.chdir({str(folder)!r}); os.rmdir({str(folder)!r}); from segue.__main__ import main; main()"
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
    assert done.returncode == 0 and "/gone" in done.stdout, done.stderr


# Completion


def complete(tmp_path: Path, shell: str, words: list[str]) -> str:
    env = {
        "PATH": os.environ["PATH"],
        "SEGUE_HOME": str(tmp_path / "home"),
        "_SEGUE_COMPLETE": f"{shell}_complete",
        "COMP_WORDS": " ".join(words),
        "COMP_CWORD": str(len(words) - 1) if shell != "fish" else words[-1],
    }
    return subprocess.run([PROGRAMS / "segue"], env=env, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_knows_commands_and_options(tmp_path: Path, shell: str) -> None:
    assert "session" in complete(tmp_path, shell, ["segue", "ses"])
    assert "restore" in complete(tmp_path, shell, ["segue", "backup", "re"])
    assert "--limit" in complete(tmp_path, shell, ["segue", "log", "--l"])


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_completion_script_names_the_program(cli: CommandLine, shell: str) -> None:
    script = cli("completion", shell).out
    assert "_SEGUE_COMPLETE" in script and "claude-prompter" in script


def test_bash_takes_the_script_and_completes_both_names(tmp_path: Path) -> None:
    lines = f"""
        export PATH={PROGRAMS}:$PATH SEGUE_HOME={tmp_path / "home"}
        eval "$(segue completion bash)"
        COMP_WORDS=(segue sess); COMP_CWORD=1; _segue_completion segue sess segue; echo "${{COMPREPLY[@]}}"
        complete -p segue; complete -p claude-prompter
    """
    done = subprocess.run(
        ["bash", "--norc", "-c", lines], capture_output=True, text=True, env={"PATH": os.environ["PATH"]}
    )
    first, *rest = done.stdout.splitlines()
    assert first == "session", done
    assert len(rest) == 2 and all("_segue_completion" in line for line in rest)


def test_the_program_in_this_process_gives_the_same_as_its_own_process(cli: CommandLine) -> None:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        assert main(["--version"], Frame(env=cli.env, cwd=cli.cwd)) == 0
    assert out.getvalue().startswith("segue ")
