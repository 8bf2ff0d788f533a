"""Assertions against a real worktree and a real transcript: what is called unsupported, and what is not."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from inline_snapshot import snapshot

import segue
from segue import assertions
from segue.assertions import Record, Verdict
from segue.assertions.evidence import Run
from segue.ops.common import git as work_git
from segue.ops.verify import evidence, project_tests
from segue.ops.verify.evidence import RealWorld
from tests.conftest import CommandLine
from tests.machine import call
from tests.world import Conversation

ID = "6f0c1a52-3d0e-4b7f-9a55-0d5a9f3f9b10"
LONG_AGO = 1_700_000_000
HANDED_OVER = 1_735_689_600
GIT = {
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
    "PATH": os.environ.get("PATH", os.defpath),
}


def git(folder: Path, *arguments: str, at: int = LONG_AGO) -> str:
    moment = f"@{at} +0000"
    env = {**GIT, "GIT_AUTHOR_DATE": moment, "GIT_COMMITTER_DATE": moment, "HOME": str(folder)}
    command = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org", *arguments]
    return subprocess.run(command, cwd=folder, env=env, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def project(cli: CommandLine) -> Path:
    """A repository that was last touched long ago; git is on PATH."""
    folder = cli.cwd
    (folder / "src").mkdir()
    (folder / "src" / "client.py").write_text("def fetch_all():\n    return []\n")
    (folder / "src" / "server.py").write_text("class Server:\n    pass\n")
    (folder / "README.md").write_text("# Shop\n")
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "Begin")
    for path in folder.rglob("*"):
        if ".git" not in path.parts:
            os.utime(path, (LONG_AGO, LONG_AGO))
    cli.env["PATH"] = GIT["PATH"]
    return folder


def world_since_handoff(project: Path) -> RealWorld:
    """The world as it is for work that was handed over half a second after HANDED_OVER."""
    return RealWorld(project, Record(), "2025-01-01T00:00:00.500000Z", None, GIT)


def says_of_client(project: Path) -> str:
    said = assertions.in_reply("I updated `src/client.py`.")
    [one] = assertions.judge(said, world_since_handoff(project))
    return one.verdict.value


def talk(cli: CommandLine) -> Conversation:
    conversation = Conversation(cli.folder, cli.cwd, ID)
    conversation.prompt("Make it retry.")
    return conversation


def verdicts(cli: CommandLine, *arguments: str, code: int | None = None) -> dict[str, str]:
    result = cli("verify", "--json", *arguments)
    if code is not None:
        assert result.code == code, result.err or result.out
    data = json.loads(result.out)
    return {
        f"{one['assertion']['kind']}: {one['assertion']['subject']}": one["verdict"]
        for one in data["checked"]
    }


# Files


def test_a_file_that_was_written_is_supported_and_one_that_was_not_is_unsupported(
    cli: CommandLine, project: Path
) -> None:
    conversation = talk(cli)
    (project / "src" / "retry.py").write_text("def retry():\n    pass\n")
    written = {"file_path": str(project / "src" / "retry.py"), "content": "def retry():\n    pass\n"}
    call(conversation, "t1", "Write", written, "done", 0)
    conversation.reply(
        "I created `src/retry.py` and updated `src/client.py`. I also created `docs/retry.md`."
    )
    assert verdicts(cli, code=11) == snapshot(
        {
            "file created: src/retry.py": "supported",
            "file changed: src/client.py": "unsupported",
            "file created: docs/retry.md": "unsupported",
        }
    )


def test_what_a_command_changed_without_naming_it_is_seen_in_the_repository(
    cli: CommandLine, project: Path
) -> None:
    conversation = talk(cli)
    (project / "src" / "client.py").write_text("def fetch_all():\n    return [1]\n")
    call(conversation, "t1", "Bash", {"command": "./codemod --all"}, "2 files", 0)
    conversation.reply("I updated `client.py`.")
    assert verdicts(cli, code=0) == {"file changed: client.py": "supported"}


def test_what_was_changed_and_committed_since_is_supported(cli: CommandLine, project: Path) -> None:
    conversation = talk(cli)
    (project / "src" / "client.py").write_text("x = 1\n")
    os.utime(project / "src" / "client.py", (LONG_AGO, LONG_AGO))
    git(project, "commit", "-q", "-a", "-m", "Retry", at=1_900_000_000)
    sha = git(project, "rev-parse", "--short", "HEAD").strip()
    conversation.reply(f"I updated `src/client.py`. Committed as `{sha}`. Also committed as `0123abc4d`.")
    assert verdicts(cli) == {
        "file changed: src/client.py": "supported",
        f"commit made: {sha}": "supported",
        "commit made: 0123abc4d": "unsupported",
    }


def test_a_file_that_is_said_to_be_deleted_and_is_there_is_unsupported(
    cli: CommandLine, project: Path
) -> None:
    conversation = talk(cli)
    (project / "README.md").unlink()
    conversation.reply("Deleted `README.md`. Removed `src/server.py`.")
    assert verdicts(cli) == {
        "file deleted: README.md": "supported",
        "file deleted: src/server.py": "unsupported",
    }


def test_nothing_outside_of_the_worktree_is_opened_or_accused(
    cli: CommandLine, project: Path, tmp_path: Path
) -> None:
    secret = tmp_path / "outside.py"
    secret.write_text("def hidden_thing():\n    pass\n")
    (project / "src" / "link.py").symlink_to(secret)
    conversation = talk(cli)
    conversation.reply(
        "I created `/elsewhere/x.py` and `~/notes.md`. Added `hidden_thing()` to `src/link.py`."
    )
    found = verdicts(cli)
    assert found["file created: /elsewhere/x.py"] == "unknown"
    assert found["file created: ~/notes.md"] == "unknown"
    assert found["symbol added: hidden_thing"] == "unsupported"


# Symbols


def test_an_invented_symbol_is_unsupported_and_a_librarys_is_not_accused(
    cli: CommandLine, project: Path
) -> None:
    conversation = talk(cli)
    conversation.reply(
        "The `fetch_all()` function in `src/client.py` does it with `asyncio.gather`.\n\n"
        "The `drain_quorum()` function in `src/client.py` is new. `Server` is defined in `src/client.py`."
    )
    found = verdicts(cli, code=11)
    assert found["symbol exists: fetch_all"] == "supported"
    assert found["symbol exists: drain_quorum"] == "unsupported"
    assert not any("gather" in key for key in found)


# Tests and commands


def test_all_tests_pass_is_held_against_the_last_run(cli: CommandLine, project: Path) -> None:
    conversation = talk(cli)
    call(
        conversation,
        "t1",
        "Bash",
        {"command": "pytest -q"},
        "FAILED test_x.py::test_y\n1 failed, 3 passed in 1s",
        1,
    )
    conversation.reply("All tests pass.")
    result = cli("verify")
    assert result.code == 11
    assert "reported 3 passed, 1 failed" in result.out
    call(conversation, "t2", "Bash", {"command": "pytest -q"}, "4 passed in 1.0s", 0)
    conversation.reply("All 4 tests pass.")
    assert verdicts(cli, code=0) == {"tests pass: ": "supported"}
    conversation.reply("All 57 tests pass.")
    assert verdicts(cli, code=11) == {"tests pass: ": "unsupported"}


def test_commands_outputs_and_checks_that_never_were_are_unsupported(cli: CommandLine, project: Path) -> None:
    conversation = talk(cli)
    call(conversation, "t1", "Bash", {"command": "cd src && npm run build 2>&1 | tail -3"}, "built in 3s", 0)
    conversation.reply(
        "`npm run build` passes and it printed `built in 3s`. I ran `npm run deploy` successfully."
    )
    conversation.reply("It printed `deployed 14 pods`. Lint is clean.")
    assert verdicts(cli) == snapshot(
        {
            "command succeeded: npm run build": "supported",
            "command succeeded: npm run deploy": "unsupported",
            "output: built in 3s": "supported",
            "output: deployed 14 pods": "unsupported",
            "check passes: lint": "unknown",
        }
    )


def test_the_projects_tests_are_run_only_when_the_person_named_a_command(
    cli: CommandLine, project: Path
) -> None:
    (project / "pytest.ini").write_text("[pytest]\n")
    conversation = talk(cli)
    conversation.reply("All tests pass.")
    refused = cli("verify", "--tests")
    assert refused.code == 2 and "verify.test_command 'pytest'" in refused.err
    script = project / "run_tests.py"
    script.write_text("print('3 failed, 4 passed in 0.1s')\nraise SystemExit(1)\n")
    assert cli("config", "set", "verify.test_command", f"{sys.executable} run_tests.py").code == 0
    found = cli("verify", "--tests")
    assert found.code == 11 and "4 passed, 3 failed" in found.out
    script.write_text("print('7 passed in 0.1s')\n")
    assert verdicts(cli, "--tests", code=0) == {"tests pass: ": "supported"}
    assert verdicts(cli, code=11) == {"tests pass: ": "unsupported"}, "not run unless it is asked for"


def test_a_strangers_project_cannot_name_the_test_command(cli: CommandLine, project: Path) -> None:
    (project / ".segue.toml").write_text('[verify]\ntest_command = ["touch", "evil"]\nrun_tests = true\n')
    conversation = talk(cli)
    conversation.reply("All tests pass.")
    assert cli("verify").code == 11
    assert cli("verify", "--tests").code == 2
    assert not (project / "evil").exists()


def test_a_test_run_that_does_not_end_is_ended(tmp_path: Path) -> None:
    run = project_tests.run(
        [sys.executable, "-c", "import time; time.sleep(60)"], tmp_path, os.environ, seconds=0.5
    )
    assert run.status is None and "longer than" in run.summary


def test_a_command_that_is_not_there_is_told(tmp_path: Path) -> None:
    assert project_tests.run(["no-such-program"], tmp_path, os.environ).status is None


# The screen


def test_the_screen(cli: CommandLine, project: Path) -> None:
    conversation = talk(cli)
    conversation.reply("I updated `src/client.py`. The logic lives in `src/server.py`. All 42 tests pass.")
    assert cli("verify").out == snapshot("""\
✗ 2 of 3 claims do not hold.
  In transcript 6f0c1a52-3d0e-4b7f-9a55-0d5a9f3f9b10

✗ file changed: src/client.py
    said: "I updated `src/client.py`."
    it is unchanged: neither the repository nor the transcript shows a change
✗ tests pass
    said: "All 42 tests pass."
    no test was run
✓ path exists: src/server.py

rigorous       3 of 3 assertions could be checked (100%)
accurate       1 of 3 checked assertions holds (33%)
interpretable  2 assertions do not hold, each with its evidence
transparent    Segue checked the transcript, the files and the repository
""")


def test_nothing_asserted(cli: CommandLine, project: Path) -> None:
    talk(cli).reply("What would you like?")
    result = cli("verify")
    assert result.code == 0
    assert result.out == snapshot("""\
· No claims that can be checked.
  In transcript 6f0c1a52-3d0e-4b7f-9a55-0d5a9f3f9b10
""")


@pytest.mark.parametrize(
    ("reply", "first"),
    [
        ("The logic lives in `src/server.py`.", "✓ The one claim that could be checked holds."),
        (
            "The logic lives in `src/server.py`. The other half lives in `src/client.py`.",
            "✓ All 2 claims that could be checked hold.",
        ),
        ("I updated `src/client.py`.", "✗ The one claim that could be checked does not hold."),
        ("I created `/elsewhere/x.py`.", "· One claim; no evidence for or against."),
        (
            "I created `/elsewhere/x.py`. I updated `src/client.py`. The logic lives in `src/server.py`.",
            "✗ 1 of 2 claims does not hold; 1 more could not be checked.",
        ),
    ],
)
def test_the_first_line_says_what_counts(cli: CommandLine, project: Path, reply: str, first: str) -> None:
    talk(cli).reply(reply)
    assert cli("verify").out.splitlines()[0] == first


def test_what_can_be_done_about_it_is_named(cli: CommandLine, project: Path) -> None:
    (project / "pytest.ini").write_text("[pytest]\n")
    talk(cli).reply("All 42 tests pass.")
    shown = cli("verify").out
    assert "\nnext: segue config set verify.test_command pytest; then --tests runs it\n" in shown
    cli("config", "set", "verify.test_command", "true")
    assert cli("verify").out.endswith("\nnext: segue verify --tests runs the tests\n")
    assert "next:" not in cli("verify", "--tests").out


def test_secrets_in_what_is_quoted_are_not_shown(cli: CommandLine, project: Path) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"[:36]
    talk(cli).reply(f"I created `docs/x.md` with {secret}. It printed `{secret}`.")
    for arguments in ((), ("--json",)):
        assert secret not in cli("verify", *arguments).out


def test_the_same_in_python(cli: CommandLine, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    talk(cli).reply("I updated `src/client.py`.")
    for name in ("SEGUE_HOME", "HOME"):
        monkeypatch.setenv(name, cli.env[name])
    found = segue.verify(project=project)
    assert [one.assertion.subject for one in found.unsupported] == ["src/client.py"]
    assert found.rait.accurate.share == 0.0


def test_a_file_that_was_put_back_by_a_command_was_touched(cli: CommandLine, project: Path) -> None:
    conversation = talk(cli)
    call(conversation, "t1", "Bash", {"command": "git checkout -- src/client.py"}, "", 0)
    conversation.reply("I updated `src/client.py`.")
    assert verdicts(cli) == {"file changed: src/client.py": "supported"}


# A stranger's repository


def test_a_signed_commit_does_not_run_the_program_that_a_repository_names_for_it(
    cli: CommandLine, project: Path
) -> None:
    mark, program = cli.folder / "ran", cli.folder / "program.sh"
    program.write_text(f"#!/bin/sh\ntouch {mark}\n")
    program.chmod(0o755)
    tree = git(project, "write-tree").strip()
    who = "a <a@example.org> 1795000000 +0000"
    signature = "-----BEGIN PGP SIGNATURE-----\n \n abc\n -----END PGP SIGNATURE-----"
    commit = f"tree {tree}\nauthor {who}\ncommitter {who}\ngpgsig {signature}\n\nSigned\n"
    (cli.folder / "commit").write_text(commit)
    made = git(project, "hash-object", "-t", "commit", "-w", str(cli.folder / "commit")).strip()
    git(project, "update-ref", "HEAD", made)
    for name, value in {"log.showSignature": "true", "gpg.program": str(program)}.items():
        git(project, "config", name, value)
    talk(cli).reply("I updated `src/client.py`. I committed the change.")
    assert verdicts(cli) == {"file changed: src/client.py": "supported", "commit made: ": "supported"}
    assert not mark.exists()
    git(project, "log", "-1")  # that it would, where nothing is done about it
    assert mark.exists()


def test_a_pipe_in_the_place_of_a_settings_file_is_not_waited_for(tmp_path: Path) -> None:
    for name in ("pytest.ini", "pyproject.toml", "package.json", "Makefile"):
        os.mkfifo(tmp_path / name)
    done: list[tuple[str, ...]] = []
    looking = threading.Thread(target=lambda: done.append(project_tests._suggested(tmp_path)), daemon=True)
    looking.start()
    looking.join(10)
    assert done == [()]


def test_searching_for_symbols_ends_when_its_time_is_over(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("def here(): ...\n")
    world = RealWorld(tmp_path, Record(), None, None, {})
    assert world.holding("here") == ("a.py",)
    world.deadline = 0.0
    assert world.holding("here") is None  # what was read before is not searched again either
    assert world.holding("gone", ("a.py",)) is None


def test_searching_for_symbols_ends_when_enough_was_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a.py", "b.py", "c.py"):
        (tmp_path / name).write_text(f"def in_{name[0]}(): ...\n")
    monkeypatch.setattr(evidence, "LARGEST_TOTAL", 30)
    world = RealWorld(tmp_path, Record(), None, None, {})
    assert world.holding("in_b") == ("b.py",)
    assert world.holding("in_c") is None, "two files are more than may be held"


def test_what_git_tells_of_all_files_is_gone_through_once(project: Path) -> None:
    class Rows(list[tuple[str, str]]):
        times = 0

        def __iter__(self) -> Iterator[tuple[str, str]]:
            self.times += 1
            return super().__iter__()

    world = world_since_handoff(project)
    world._status = rows = Rows([(" M", "src/client.py"), (" D", "gone.py")])
    for name in ("src/client.py", "src/server.py", "gone.py", "never.py"):
        world.file(name)
    assert rows.times == 2, "once for what is changed, once for what is deleted"


@pytest.mark.parametrize(
    ("command", "verdict"),
    [
        ("git -c user.name=ada commit -qm x", "unsupported"),
        ("git -C ../other commit -qm x", "supported"),
        ("cd ../other && git commit -qm x", "supported"),
        ("git commit --dry-run", "supported"),
    ],
)
def test_a_denied_commit_is_held_against_the_commands_that_surely_committed_here(
    project: Path, command: str, verdict: str
) -> None:
    record = Record(runs=(Run(n=0, command=command, purpose="git", is_done=True, output=""),))
    world = RealWorld(project, record, "2025-01-01T00:00:00.500000Z", None, GIT)
    [one] = assertions.judge(assertions.in_reply("I didn't commit anything."), world)
    assert one.verdict.value == verdict


@pytest.mark.parametrize(("seconds", "changed", "made"), [(-1, "unsupported", False), (1, "supported", True)])
def test_a_commit_counts_from_the_moment_of_the_handoff_on(
    project: Path, seconds: int, changed: str, made: bool
) -> None:
    (project / "src" / "client.py").write_text("def fetch_all():\n    return [1]\n")
    os.utime(project / "src" / "client.py", (HANDED_OVER - 0.5, HANDED_OVER - 0.5))
    git(project, "commit", "-q", "-a", "-m", "Later", at=HANDED_OVER + seconds)
    assert world_since_handoff(project).commit("") is made
    assert says_of_client(project) == changed


@pytest.mark.parametrize(("written", "verdict"), [(-0.3, "unsupported"), (0.3, "supported")])
def test_a_commit_of_the_handoff_s_own_second_is_before_or_after_it_as_its_files_are(
    project: Path, written: float, verdict: str
) -> None:
    (project / "src" / "client.py").write_text("def fetch_all():\n    return [1]\n")
    moment = HANDED_OVER + 0.5 + written
    os.utime(project / "src" / "client.py", (moment, moment))
    git(project, "commit", "-q", "-a", "-m", "At once", at=HANDED_OVER)
    assert world_since_handoff(project).commit("") is None, "nothing tells when in that second it was made"
    assert says_of_client(project) == verdict


@pytest.mark.parametrize("name", ["\x01abc.txt", "\x019999999999", "two\nlines", "\n\x019999999999", "M"])
def test_a_file_may_be_called_whatever_git_allows(project: Path, name: str) -> None:
    (project / name).write_text("x\n")
    os.utime(project / name, (LONG_AGO, LONG_AGO))
    git(project, "add", "-A")
    git(project, "commit", "-q", "-m", "Odd", at=HANDED_OVER)
    world = world_since_handoff(project)
    assert world.commit("") is None, "no name makes a commit a later one"
    assert world.file(name).is_changed is False
    git(project, "rm", "-q", name)
    git(project, "commit", "-q", "-m", "Later", at=HANDED_OVER + 1)
    world = world_since_handoff(project)
    assert world.file(name).is_gone and world.commit("") is True
    assert world.file("README.md").is_changed is False


def world_with_slow_git(project: Path, slow: str) -> RealWorld:
    """The world, with a git that does not come to an end with one of its commands."""
    programs = project.parent / "programs"
    programs.mkdir()
    real = shutil.which("git", path=GIT["PATH"])
    script = f'#!/bin/sh\ncase " $* " in *" {slow} "*) exec sleep 60;; esac\nexec {real} "$@"\n'
    (programs / "git").write_text(script)
    (programs / "git").chmod(0o755)
    env = {**GIT, "PATH": f"{programs}:{GIT['PATH']}"}
    return RealWorld(project, Record(), "2025-01-01T00:00:00.500000Z", None, env)


def test_a_commit_that_git_does_not_find_in_time_is_unknown(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert world_since_handoff(project).commit("0123abc4d") is False
    monkeypatch.setattr(work_git, "SECONDS", 1.0)
    assert world_with_slow_git(project, "rev-parse").commit("0123abc4d") is None


def test_a_file_is_unknown_where_git_does_not_tell_the_commits_in_time(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "src" / "client.py").write_text("x = 1\n")
    os.utime(project / "src" / "client.py", (LONG_AGO, LONG_AGO))
    git(project, "commit", "-q", "-a", "-m", "Later", at=HANDED_OVER + 1)
    assert world_since_handoff(project).file("src/client.py").is_changed is True
    monkeypatch.setattr(work_git, "SECONDS", 1.0)
    world = world_with_slow_git(project, "log")
    assert world.file("src/client.py").is_changed is None
    assert world.commit("") is None


# Without git


def test_without_a_repository_the_files_times_tell(tmp_path: Path) -> None:
    (tmp_path / "old.py").write_text("x = 1\n")
    os.utime(tmp_path / "old.py", (LONG_AGO, LONG_AGO))
    (tmp_path / "new.py").write_text("y = 1\n")
    world = RealWorld(tmp_path, Record(), "2025-01-01T00:00:00.000000Z", None, {})
    said = assertions.in_reply("I updated `old.py` and `new.py`.")
    assert [one.verdict for one in assertions.judge(said, world)] == [Verdict.UNSUPPORTED, Verdict.SUPPORTED]


# A second opinion


@pytest.fixture
def scripted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """A model of the llm library that answers 'I doubt it.'; what it was asked is in the list."""
    import llm
    from llm.plugins import pm

    monkeypatch.setenv("LLM_USER_PATH", str(tmp_path / "llm"))
    monkeypatch.setenv("LLM_LOAD_PLUGINS", "")
    (tmp_path / "llm").mkdir()
    asked: list[str] = []

    class Scripted(llm.Model):
        model_id = "scripted"
        can_stream = True

        def execute(self, prompt: Any, stream: bool, response: Any, conversation: Any) -> Iterator[str]:
            asked.append(prompt.prompt)
            yield "I doubt it."

    class Plugin:
        @llm.hookimpl
        def register_models(self, register: Callable[..., None]) -> None:
            register(Scripted())

    plugin = Plugin()
    pm.register(plugin, name="scripted-opinion")
    yield asked
    pm.unregister(name="scripted-opinion")


def test_an_opinion_stands_beside_the_findings_and_changes_none(
    cli: CommandLine, project: Path, scripted: list[str]
) -> None:
    talk(cli).reply("I updated `src/client.py`.")
    plain = json.loads(cli("verify", "--json").out)
    asked = json.loads(cli("verify", "--json", "--opinion", "scripted").out)
    assert asked["opinion"]["text"] == "I doubt it."
    assert asked["checked"] == plain["checked"]
    assert "<<<data" in scripted[0] and "src/client.py" in scripted[0]
