"""Drift: what changed since a transcript ended is told, what did not is not, and a stranger's repository runs nothing."""

from __future__ import annotations

import hashlib
import os
import re
import stat
import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from segue.base import files as base_files
from segue.briefs import drift
from segue.briefs.drift import Changed, Commit, Difference, Seen, Standing, State
from segue.model import Fact, Origin
from segue.ops.common import git as work_git

ENDED = "2026-11-16T09:30:00.000000Z"
LATER = "2026-11-16T09:40:00.000000Z"
EARLIER = "2026-11-16T09:20:00.000000Z"


def fact(kind: str, subject: str, value: str, n: int = 0, content: str | None = None) -> Fact:
    hash = hashlib.sha256(content.encode()).hexdigest() if content is not None else None
    return Fact(kind=kind, subject=subject, value=value, entry=f"e{n}", origin=Origin.TOOL, n=n, hash=hash)


def texts(differences: tuple[Difference, ...]) -> list[str]:
    return [str(one) for one in differences]


class Repository:
    """A repository that a test changes as people do."""

    def __init__(self, root: Path) -> None:
        self.root = root
        root.mkdir(parents=True)
        self.git("init", "-q", "-b", "main")

    def git(self, *arguments: str, **env: str) -> str:
        done = subprocess.run(
            ["git", "-c", "user.name=Ada", "-c", "user.email=ada@example.org", *arguments],
            cwd=self.root,
            env={
                "PATH": os.environ["PATH"],
                "HOME": str(self.root.parent),
                "GIT_CONFIG_NOSYSTEM": "1",
                **env,
            },
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def write(self, name: str, content: str = "x\n") -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
        return path

    def commit(self, subject: str) -> str:
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", subject)
        return self.git("rev-parse", "HEAD")

    def drift(self, *facts: Fact, since: str | None = None) -> list[str]:
        env = {"PATH": os.environ["PATH"], "HOME": str(self.root.parent)}
        return texts(drift.compare(facts, work_git.look(self.root, facts, env), since))


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    made = Repository(tmp_path / "repo")
    made.write("a.py", "a = 1\n")
    made.commit("First")
    return made


# What is told


def test_a_worktree_that_is_as_told_has_no_drift(repository: Repository) -> None:
    last = repository.git("rev-parse", "--short", "HEAD")
    repository.write("b.py", "b = 2\n")
    assert (
        repository.drift(
            fact("branch", "", "main"),
            fact("commit", last, "First"),
            fact("file", "a.py", "edited", content="a = 1\n"),
            fact("file", "b.py", "created", content="b = 2\n"),
            fact("file", "gone.py", "deleted"),
            fact("read", "never.py", "read"),
        )
        == []
    )


def test_every_kind_of_difference_has_a_line(repository: Repository) -> None:
    last = repository.commit("Second")
    repository.write("a.py", "a = 3\n")
    repository.commit("Change a by hand")
    repository.git("checkout", "-q", "-b", "other")
    repository.write("back.py")
    repository.write("a.py", "a = 4\n")
    assert repository.drift(
        fact("branch", "", "feature-x"),
        fact("commit", last[:9], "Second", n=1),
        fact("commit", "0123456789", "mentioned", n=9),
        fact("file", "a.py", "edited", n=2, content="a = 1\n"),
        fact("file", "old.py", "created", n=3),
        fact("file", "back.py", "deleted", n=4),
    ) == [
        "branch is now other, was feature-x",
        f"1 commit since {last[:9]}: {repository.git('rev-parse', '--short', 'HEAD')} Change a by hand",
        "old.py is gone",
        "a.py has changed since: its content differs from the recorded one",
        "back.py exists again: it had been deleted",
    ]


def test_a_detached_head_is_no_branch(repository: Repository) -> None:
    repository.git("checkout", "-q", "--detach")
    head = repository.git("rev-parse", "HEAD")[:10]
    assert repository.drift(fact("branch", "", "main")) == [
        f"no branch is checked out now (detached at {head}), was main"
    ]
    assert repository.drift(fact("branch", "", "HEAD")) == []
    repository.git("checkout", "-q", "main")
    assert repository.drift(fact("branch", "", "HEAD")) == ["branch is now main, was none"]


def test_a_commit_that_was_replaced_is_said_to_be(repository: Repository) -> None:
    last = repository.commit("Second")
    repository.git("commit", "-q", "--amend", "--allow-empty", "-m", "Second, better")
    new = repository.git("rev-parse", "--short", "HEAD")
    assert repository.drift(fact("commit", last, "Second")) == [
        f"commit {last[:10]} is not part of main, which has 1 commit that it lacks: {new} Second, better"
    ]
    assert repository.drift(fact("commit", "beefbeef1", "Elsewhere")) == [
        "commit beefbeef1 is not in this repository"
    ]


def test_a_branch_that_was_set_back_is_behind_its_last_commit(repository: Repository) -> None:
    last = repository.commit("Second")
    repository.git("reset", "-q", "--hard", "HEAD~1")
    assert repository.drift(fact("commit", last, "Second")) == [
        f"commit {last[:10]} is not part of main, which is behind it"
    ]


def test_a_repository_without_commits_has_a_branch(tmp_path: Path) -> None:
    empty = Repository(tmp_path / "empty")
    assert empty.drift(fact("branch", "", "main")) == []
    assert empty.drift(fact("branch", "", "x"), fact("commit", "abcdef12", "made")) == [
        "branch is now main, was x",
        "commit abcdef12 is not in this repository",
    ]


def test_a_folder_that_is_no_repository_is_compared_by_its_files(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("a = 2\n")
    facts = [
        fact("branch", "", "main"),
        fact("file", "a.py", "edited", content="a = 1\n"),
        fact("file", "b.py", "edited"),
    ]
    assert texts(drift.compare(facts, work_git.look(tmp_path, facts))) == [
        "this is not a git repository; branch was main",
        "b.py is gone",
        "a.py has changed since: its content differs from the recorded one",
    ]


def test_a_folder_that_is_not_there_is_no_error(tmp_path: Path) -> None:
    facts = [fact("file", "a.py", "edited")]
    assert texts(drift.compare(facts, work_git.look(tmp_path / "none" / "x", facts))) == ["a.py is gone"]


def test_without_git_it_is_said_that_nothing_was_compared(repository: Repository, tmp_path: Path) -> None:
    facts = [fact("branch", "", "other")]
    state = work_git.look(repository.root, facts, {"PATH": str(tmp_path)})
    assert texts(drift.compare(facts, state)) == [work_git.NOT_INSTALLED]
    assert drift.compare([], state) == ()


def test_a_damaged_repository_is_said_to_give_no_answer(repository: Repository) -> None:
    (repository.root / ".git" / "HEAD").write_text("nonsense\n")
    assert repository.drift(fact("branch", "", "main")) == [work_git.NO_ANSWER]


@pytest.mark.parametrize(
    ("told", "there"),
    [("a\nb\n", b"a\nb"), ("a\nb", b"a\nb\n"), ("a\nb\n", b"a\r\nb\r\n"), ("ä\n", b"\xef\xbb\xbf\xc3\xa4\n")],
)
def test_line_ends_and_marks_of_encoding_are_no_difference(
    repository: Repository, told: str, there: bytes
) -> None:
    (repository.root / "a.py").write_bytes(there)
    assert repository.drift(fact("file", "a.py", "edited", content=told)) == []


def test_of_a_file_that_is_no_text_nothing_is_claimed(repository: Repository) -> None:
    (repository.root / "a.bin").write_bytes(b"\xff\xfe\x00")
    assert repository.drift(fact("file", "a.bin", "edited", content="?")) == []


def test_a_huge_file_is_another_one_without_being_read(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (repository.root / "huge.txt").open("wb") as file:
        file.truncate(work_git.LARGEST_FILE + 1)
    monkeypatch.setattr(base_files, "read_file", lambda *_: pytest.fail("it was read"))
    assert repository.drift(fact("file", "huge.txt", "edited", content="x")) == [
        "huge.txt has changed since: its content differs from the recorded one"
    ]


def test_nothing_outside_of_the_project_is_opened(repository: Repository, tmp_path: Path) -> None:
    outside = tmp_path / "secret.txt"
    outside.write_text("secret\n")
    (repository.root / "link.txt").symlink_to(outside)
    (repository.root / "folder").symlink_to(tmp_path)
    os.mkfifo(repository.root / "pipe")
    names = ("link.txt", "folder/secret.txt", "../secret.txt", str(outside), "/etc/hostname", "x\0y")
    facts = [fact("file", name, "edited", content="other") for name in (*names, "pipe")]
    state = work_git.look(repository.root, facts)
    assert set(state.files) == {"pipe"}
    assert state.files["pipe"].hashes == ()
    assert not any("secret" in line for line in texts(drift.compare(facts, state)))


def test_a_link_within_the_project_is_followed(repository: Repository) -> None:
    (repository.root / "link.py").symlink_to("a.py")
    assert repository.drift(fact("file", "link.py", "edited", content="a = 1\n")) == []
    assert repository.drift(fact("file", "link.py", "edited", content="a = 2\n")) != []


def test_paths_are_seen_from_where_the_transcript_began(repository: Repository) -> None:
    repository.write("sub/b.py", "b = 1\n")
    here = fact("folder", "", str(repository.root / "sub"))
    known = fact("file", "b.py", "edited", content="b = 1\n")
    assert repository.drift(here, known, fact("file", "../a.py", "edited", content="a = 1\n")) == []
    assert repository.drift(known) == ["b.py is gone"]
    whole = str(repository.root / "sub" / "b.py")
    assert repository.drift(fact("file", whole, "edited", content="b = 2\n")) == [
        "sub/b.py has changed since: its content differs from the recorded one"
    ]
    assert repository.drift(fact("folder", "", "/elsewhere"), known) == ["b.py is gone"]


def test_what_else_is_changed_is_named_and_what_the_facts_tell_is_not_named_twice(
    repository: Repository,
) -> None:
    repository.write("ü b.py", "x\n")
    repository.commit("More")
    repository.write("ü b.py", "y\n")
    repository.write("a.py", "a = 2\n")
    repository.write("notes.txt")
    assert repository.drift(fact("file", "a.py", "edited", content="a = 2\n")) == [
        "also changed, not committed: ü b.py"
    ]


def test_with_the_end_of_the_transcript_only_later_changes_count(repository: Repository) -> None:
    for name, at in (("a.py", 1_800_000_000), ("early.txt", 1_700_000_000), ("late.txt", 1_800_000_000)):
        os.utime(repository.write(name, f"{name}\n"), (at, at))
    known = fact("file", "a.py", "edited")
    assert repository.drift(known, since=ENDED) == [
        "a.py has changed since: it was written after the last entry",
        "also changed, not committed: late.txt",
    ]
    assert repository.drift(known, since="2030-01-01T00:00:00.000000Z") == []


def test_a_submodule_is_not_entered_but_its_new_commit_is_seen(
    repository: Repository, tmp_path: Path
) -> None:
    inner = Repository(tmp_path / "inner")
    inner.commit("Inner")
    repository.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(inner.root), "sub")
    repository.commit("Add it")
    assert repository.drift(fact("branch", "", "main")) == []
    module = Repository.__new__(Repository)
    module.root = repository.root / "sub"
    module.write("dirty.txt")
    assert repository.drift(fact("branch", "", "main")) == []
    module.commit("Inside")
    assert repository.drift(fact("branch", "", "main")) == ["also changed, not committed: sub"]
    assert module.drift(fact("branch", "", "x"))[0] == "branch is now main, was x"


def test_a_linked_worktree_is_asked_about_itself(repository: Repository, tmp_path: Path) -> None:
    repository.git("worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    side = Repository.__new__(Repository)
    side.root = tmp_path / "side"
    assert side.drift(fact("branch", "", "main")) == ["branch is now side, was main"]


# What must not happen


def evil(tmp_path: Path) -> tuple[Repository, Path]:
    """A repository whose own settings name a program wherever git runs one, and the file that this program makes."""
    repository = Repository(tmp_path / "evil")
    mark = tmp_path / "ran"
    program = tmp_path / "program.sh"
    program.write_text(f'#!/bin/sh\necho "$0 $*" >> "{mark}"\ncat </dev/null\n')
    program.chmod(stat.S_IRWXU)
    repository.write("a.txt", "a\n")
    repository.write(".gitattributes", "*.txt filter=evil\n*.md filter=a=b\n")
    repository.write("b.md", "b\n")
    first = repository.commit("First")
    config = {
        "core.fsmonitor": str(program),
        "core.hooksPath": str(tmp_path),
        "core.pager": str(program),
        "core.sshCommand": str(program),
        "core.gitProxy": str(program),
        "core.askPass": str(program),
        "diff.external": str(program),
        "filter.evil.clean": str(program),
        "filter.evil.process": str(program),
        "filter.evil.required": "true",
        "filter.a=b.clean": str(program),
        "log.showSignature": "true",
        "gpg.program": str(program),
        "remote.origin.url": "ssh://example.org/x",
        "remote.origin.promisor": "true",
        "remote.origin.uploadpack": str(program),
        "extensions.partialClone": "origin",
        "core.repositoryFormatVersion": "1",
    }
    (tmp_path / "post-index-change").write_text(program.read_text())
    (tmp_path / "post-index-change").chmod(stat.S_IRWXU)
    for name, value in config.items():
        repository.git("config", name, value)
    os.utime(repository.write("a.txt", "b\n"), (1, 1))
    os.utime(repository.write("b.md", "c\n"), (1, 1))
    (repository.root / ".git" / "refs" / "heads" / "broken").write_text("1" * 40 + "\n")
    assert first
    return repository, mark


def test_a_repository_of_a_stranger_runs_no_program(tmp_path: Path) -> None:
    repository, mark = evil(tmp_path)
    facts = [fact("branch", "", "x"), fact("commit", "1" * 40, "gone"), fact("file", "a.txt", "edited")]
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    state = work_git.look(repository.root, facts, env)
    assert not mark.exists(), mark.read_text()
    assert (state.branch, state.problem) == ("main", "")
    assert {one.path for one in state.changed} == {"a.txt", "b.md"}
    # That these settings do run programs where nothing is done about it:
    subprocess.run(["git", "status"], cwd=repository.root, env=env, capture_output=True)
    assert mark.exists()


def test_where_filters_cannot_be_switched_off_git_is_not_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository, mark = evil(tmp_path)
    old = tmp_path / "bin" / "git"
    old.parent.mkdir()
    git = subprocess.run(["which", "git"], capture_output=True, text=True).stdout.strip()
    old.write_text(f'#!/bin/sh\nunset GIT_CONFIG_COUNT\nexec {git} "$@"\n')
    old.chmod(stat.S_IRWXU)
    env = {"PATH": f"{old.parent}:{os.environ['PATH']}", "HOME": str(tmp_path)}
    facts = [fact("branch", "", "x")]
    state = work_git.look(repository.root, facts, env)
    assert texts(drift.compare(facts, state)) == [work_git.NAMES_PROGRAMS]
    assert not mark.exists()


def test_where_git_does_not_tell_the_filters_it_is_not_asked_for_more(tmp_path: Path) -> None:
    repository, mark = evil(tmp_path)
    with (repository.root / ".git" / "config").open("a") as config:  # more than is read of any answer
        config.write("[junk]\n" + "".join(f"\tk{n:05d}{'x' * 80} = 1\n" for n in range(60_000)))
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    assert work_git.look(repository.root, [], env).problem == work_git.NO_ANSWER
    assert work_git.git_at(repository.root, env) is None
    assert not mark.exists()


def test_a_filter_of_the_persons_own_does_not_run_because_a_repository_wants_it(tmp_path: Path) -> None:
    repository, mark = evil(tmp_path)
    for key in ("clean", "process", "required"):
        repository.git("config", "--unset", f"filter.evil.{key}")
    program = tmp_path / "program.sh"
    (tmp_path / ".gitconfig").write_text(f'[filter "evil"]\n\tclean = {program}\n\trequired = true\n')
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    assert work_git.look(repository.root, [], env).branch == "main"
    assert not mark.exists()


def test_a_program_called_git_in_the_folder_is_not_run(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository.write("git", f"#!/bin/sh\ntouch {repository.root}/ran\n").chmod(stat.S_IRWXU)
    monkeypatch.chdir(repository.root)
    work_git.look(repository.root, [fact("branch", "", "x")], {"PATH": f".::bin:{os.environ['PATH']}"})
    assert not (repository.root / "ran").exists()


def test_nothing_in_the_repository_is_written(repository: Repository) -> None:
    os.utime(repository.root / "a.py", (1, 1))  # git would note the new time in its index
    before = {path: path.stat().st_mtime_ns for path in repository.root.rglob("*")}
    repository.drift(fact("branch", "", "x"), fact("commit", "abcdef12", "made"))
    assert {path: path.stat().st_mtime_ns for path in repository.root.rglob("*")} == before


def test_variables_of_the_caller_do_not_lead_to_another_repository(
    repository: Repository, tmp_path: Path
) -> None:
    other = Repository(tmp_path / "other")
    other.git("checkout", "-q", "-b", "elsewhere")
    env = {"PATH": os.environ["PATH"], "GIT_DIR": str(other.root / ".git"), "GIT_INDEX_FILE": "/dev/null"}
    assert work_git.look(repository.root, [], env).branch == "main"


def test_a_repository_whose_settings_point_elsewhere_tells_nothing_of_there(
    repository: Repository, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "private"
    elsewhere.mkdir()
    (elsewhere / "diary.txt").write_text("x")
    repository.git("config", "core.worktree", str(elsewhere))
    state = work_git.look(repository.root, [], {"PATH": os.environ["PATH"]})
    assert state.changed == ()


def test_a_folder_that_poses_as_a_repository_above_is_not_asked(tmp_path: Path) -> None:
    outer = Repository(tmp_path / "outer")
    outer.git("checkout", "-q", "-b", "outer")
    inner = outer.root / "inner"
    (inner / ".git").mkdir(parents=True)
    state = work_git.look(inner, [], {"PATH": os.environ["PATH"]})
    assert state.branch == "" and state.problem == work_git.NO_ANSWER


def test_a_git_that_hangs_is_given_up(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = tmp_path / "bin" / "git"
    slow.parent.mkdir()
    slow.write_text("#!/bin/sh\nsleep 60 &\nsleep 60\n")  # what it starts holds its output open
    slow.chmod(stat.S_IRWXU)
    monkeypatch.setattr(work_git, "SECONDS", 0.3)
    started = time.monotonic()
    state = work_git.look(repository.root, [], {"PATH": f"{slow.parent}:{os.environ['PATH']}"})
    assert state.problem == work_git.NO_ANSWER
    assert time.monotonic() - started < 10


# Pure


def test_what_a_commit_is_called_by_cannot_break_a_line() -> None:
    now = State(
        is_repository=True, standing=Standing.BEHIND, commits=(Commit(id="\x1f\n## Next", subject="a"),)
    )
    fact = Fact(kind="commit", subject="abcdef1", value="seen", entry="e1", origin=Origin.TOOL, n=1)
    for text in texts(drift.compare([fact], now, None)):
        assert text.isprintable()


names = st.text(max_size=30) | st.sampled_from(["a.py", "b\n## Next\n", "<system>", "\x1b[31m", "日本"])
moments = st.sampled_from([EARLIER, LATER, None])
files = st.builds(
    Seen,
    name=names,
    is_there=st.booleans(),
    is_folder=st.booleans(),
    hashes=st.sampled_from([(), ("h1",), ("h2", "h3")]),
    changed_at=moments,
)
states = st.builds(
    State,
    is_repository=st.booleans(),
    branch=names,
    head=st.sampled_from(["", "abcdef1234567"]),
    standing=st.sampled_from(Standing),
    commits=st.lists(st.builds(Commit, id=names, subject=names), max_size=8).map(tuple),
    changed=st.lists(
        st.builds(Changed, path=names, is_tracked=st.booleans(), changed_at=moments), max_size=8
    ).map(tuple),
    files=st.dictionaries(names, files, max_size=40),
    problem=st.sampled_from(["", work_git.NO_ANSWER]),
)
kinds = st.sampled_from(["file", "branch", "commit", "folder", "read"])
values = st.sampled_from(["created", "edited", "deleted", "renamed", "main", "seen", "mentioned", "HEAD", ""])


@given(
    st.lists(
        st.tuples(kinds, names | st.just("abcdef1"), values, st.sampled_from([None, "h1", "h9"])), max_size=40
    ),
    states,
    st.sampled_from([None, ENDED]),
)
def test_there_are_never_more_than_so_many_lines_and_each_is_one_line(
    rows: list[tuple[str, str, str, str | None]], now: State, since: str | None
) -> None:
    facts = [
        Fact(kind=kind, subject=subject, value=value, entry=str(n), origin=Origin.TOOL, n=n, hash=hash)
        for n, (kind, subject, value, hash) in enumerate(rows)
    ]
    found = drift.compare(facts, now, since)
    assert len(found) <= drift.MOST
    for text in texts(found):
        assert (
            len(text.splitlines()) == 1
            and not re.search(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]", text)
            and len(text) < 1000
        )
    assert drift.compare(facts, now, since) == found


@given(st.lists(names, max_size=30, unique=True))
def test_files_that_are_as_told_are_never_named(paths: list[str]) -> None:
    facts = [fact("file", path, "edited", n, content=path) for n, path in enumerate(paths)]
    now = State(files={one.subject: Seen(hashes=(one.hash or "",), changed_at=LATER) for one in facts})
    assert drift.compare(facts, now, ENDED) == ()


def test_more_differences_than_fit_are_counted() -> None:
    facts = [fact("file", f"f{n:02}.py", "edited", n) for n in range(50)]
    now = State(files={one.subject: Seen(is_there=False) for one in facts})
    found = texts(drift.compare(facts, now))
    assert (
        found[0] == "f49.py is gone" and found[-1] == "and 31 more differences" and len(found) == drift.MOST
    )
