"""What the user forbids, and which changes break it."""

from __future__ import annotations

import json
import os
import shutil
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from segue import assertions
from segue.assertions.evidence import Record, Run, Touched
from segue.base import clock
from segue.errors import AgentError
from segue.model.tool_action import Change
from segue.ops.common import git as work_git
from segue.ops.common import tree
from segue.ops.index.tracked_transcript import Meaning
from segue.ops.verify import verify
from segue.prohibitions import lock_files, manifests, parse, violations
from segue.prohibitions.violations import Said, Since
from tests.calls import call, result
from tests.cli.test_run import Agents
from tests.cli.test_verify import GIT, git
from tests.conftest import CommandLine
from tests.world import Conversation

NAMES = (
    "src/ledger/legacy.py",
    "src/a/util.py",
    "src/b/util.py",
    "db/migrations/1.sql",
    "README.md",
    "package.json",
)


def parsed(*messages: str) -> list[tuple[str, str]]:
    return [(one.ban.value, one.target) for one in parse.in_messages(messages)]


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("Don't touch src/ledger/legacy.py", [("touch", "src/ledger/legacy.py")]),
        ("Leave `config/prod.yaml` alone!", [("touch", "config/prod.yaml")]),
        ("Please do not modify a.py or b.py.", [("edit", "a.py"), ("edit", "b.py")]),
        ("src/a.py stays as it is.", [("touch", "src/a.py")]),
        ("No changes to README.md, please.", [("touch", "README.md")]),
        ("Fix it without touching legacy.py.", [("touch", "legacy.py")]),
        ("don't touch the migrations folder", [("touch", "migrations/")]),
        ("Never delete *.sql files.", [("delete", "*.sql")]),
        ("No new dependencies.", [("add a dependency", "")]),
        ("Do not commit or push.", [("commit", ""), ("push", "")]),
        ("Do not edit files, commit, or merge.", [("commit", "")]),
        ("No commit or push.", [("commit", ""), ("push", "")]),
        ("Do NOT commit any changes to git", [("commit", "")]),
        ("**Never modify files in `raw/`** — sources are immutable.", [("edit", "raw/")]),
        ("Write it to notes.md and do not commit it.", []),
        ("Don't forget to run the tests, commit, and push or open a PR.", []),
        ("Don't rename src/a.py, delete it.", []),
        ("Keep src/a.py as is, but reformat it.", []),
        ("Don't touch src/ but you may change src/b.py.", []),
        ("Don't touch src/, save for src/b.py.", []),
        ("Claude said: don't touch src/a.py.", []),
        ("Add the following to AGENTS.md:\n- Never push.\n- Do not edit src/a.py", []),
        ("First fix src/b.py without touching src/a.py, then refactor src/a.py.", []),
        ("Don't touch x.py unless you must.", []),
        ("Don't edit x.py until I say so.", [("edit", "x.py")]),
        ("Don't touch x.py unless I say so", [("touch", "x.py")]),
        ("Don't touch x.py unless it is needed.", []),
        ("I don't want you to touch src/x.py", [("touch", "src/x.py")]),
        ("I don't want to touch src/x.py", []),
        ("src/x.py must not change", [("touch", "src/x.py")]),
        ("The API of src/x.py and src/y.py must not change", []),
        ("Don't use any new dependencies", [("add a dependency", "")]),
        ("Don't use dependencies of the old kind", []),
        ("Fix it without adding dependencies.", [("add a dependency", "")]),
        ("Fix it without adding the dependencies to the docs.", []),
        ("Don't commit, I will commit myself.", [("commit", "")]),
        ("Never push to main", [("push", "main")]),
        ("Never push to production", []),
        ("Did I say don't touch x.py?", []),
        ('The header says "do not edit x.py".', []),
        ("> Don't touch x.py", []),
        ("I don't touch x.py myself.", []),
        ("Don't change the signature of f in x.py.", []),
        ("Don't commit .env.", []),
        ("Don't push to `main`.", [("push", "main")]),
        ("Don't edit x.py directly.", []),
    ],
)
def test_only_what_is_forbidden_outright_is_a_prohibition(
    sentence: str, expected: list[tuple[str, str]]
) -> None:
    assert parsed(sentence) == expected


@pytest.mark.parametrize(
    ("forbidden", "later", "holds"),
    [
        ("Don't touch legacy.py.", "ok, you may change legacy.py now", False),
        ("Don't touch legacy.py.", "Fix the rounding in legacy.py too.", False),
        ("Don't touch legacy.py.", "Now fix the rounding in report.py.", True),
        ("Don't touch legacy.py.", "And again, don't touch legacy.py.", True),
        ("Don't commit.", "Now commit it, please.", False),
        ("Don't commit yet.", "The tests look good.", False),
        ("No new dependencies.", "OK, install httpx.", False),
        ("Don't touch legacy.py unless I say so.", "Yes, go ahead.", False),
        ("Don't touch legacy.py unless I say so.", "Now fix report.py.", True),
        ("Don't touch legacy.py.", "Yes, go ahead.", False),
    ],
)
def test_a_prohibition_ends_when_the_user_lifts_it(forbidden: str, later: str, holds: bool) -> None:
    assert bool(parsed(forbidden, later)) is holds


@pytest.mark.parametrize(
    ("forbidden", "changed", "broken"),
    [
        ("Don't touch legacy.py.", {"src/ledger/legacy.py": "M"}, ("src/ledger/legacy.py",)),
        ("Don't touch src/ledger/.", {"src/ledger/legacy.py": "D"}, ("src/ledger/legacy.py",)),
        ("Don't touch util.py.", {"src/a/util.py": "M"}, None),
        ("Don't touch the migrations folder.", {"db/migrations/2.sql": "A"}, ("db/migrations/2.sql",)),
        ("Don't delete README.md.", {"README.md": "M"}, None),
        ("Don't touch other.py.", {"README.md": "M"}, None),
    ],
)
def test_a_change_breaks_a_prohibition_of_that_file_alone(
    forbidden: str, changed: dict[str, str], broken: tuple[str, ...] | None
) -> None:
    since = Since(names=NAMES, changed=changed)
    found = violations.find(parse.in_messages([forbidden]), since, Record(), "The agent")
    assert [one.subjects for one in found] == ([broken] if broken else [])
    assert not any(one.is_by_agent for one in found)


def test_the_agent_is_named_only_where_its_transcript_shows_the_act() -> None:
    since = Since(names=NAMES, changed={"README.md": "M"})
    banned = parse.in_messages(["Don't touch README.md."])
    [seen] = violations.find(banned, since, Record(), "Gemini")
    assert seen.evidence == "README.md was changed since the handoff; the transcript does not show by whom"
    [own] = violations.find(banned, since, Record(touched=(Touched(1, "README.md"),)), "Gemini")
    assert own.is_by_agent and own.evidence == "Gemini changed README.md: its transcript shows it"


@pytest.mark.parametrize(
    ("folder", "touched", "is_by_agent"),
    [
        ("", "/work/README.md", True),
        ("", "/real/work/README.md", True),
        ("/work", "README.md", True),
        ("/work/docs", "README.md", False),
        ("/work/docs", "../README.md", True),
        ("/work/docs", "/work/README.md", True),
        ("/elsewhere", "README.md", False),
    ],
)
def test_the_file_that_was_touched_is_found_from_the_folder_of_the_transcript(
    folder: str, touched: str, is_by_agent: bool
) -> None:
    banned = parse.in_messages(["Don't touch README.md."])
    since = Since(names=NAMES, changed={"README.md": "M"}, roots=("/work", "/real/work"))
    [one] = violations.find(banned, since, Record(folder=folder, touched=(Touched(1, touched),)), "Gemini")
    assert one.is_by_agent is is_by_agent


def test_commits_and_pushes_are_found_in_the_commands() -> None:
    banned = parse.in_messages(["Do not commit or push."])
    runs = tuple(
        Run(n, command, "", True, "") for n, command in enumerate(["git commit -m x", "git push --dry-run"])
    )
    [one] = violations.find(banned, Since(), Record(runs=runs), "Gemini")
    assert one.evidence == "Gemini ran `git commit -m x`"


@pytest.mark.parametrize(
    ("path", "before", "after", "new"),
    [
        ("package.json", '{"dependencies":{"a":"1"}}', '{"dependencies":{"a":"2"}}', []),
        (
            "package.json",
            '{"dependencies":{"a":"1"}}',
            '{"devDependencies":{"b":"1"},"dependencies":{"a":"1"}}',
            ["b"],
        ),
        (
            "pyproject.toml",
            '[project]\ndependencies=["a>=1"]',
            '[project]\ndependencies=["a>=2", "b"]',
            ["b"],
        ),
        ("requirements.txt", "a==1\n", "# c\na==2\nb\n", ["b"]),
        (
            "go.mod",
            "require x.org/a v1.0.0\n",
            "require x.org/a v1.1.0\nrequire x.org/b v1.0.0\n",
            ["x.org/b"],
        ),
        ("Cargo.toml", '[dependencies]\na="1"', '[dependencies]\na="1"\nb="1"', ["b"]),
        ("Gemfile", "gem 'a'\n", "gem 'a'\ngem 'b'\n", ["b"]),
        ("package.json", "{}", "no JSON", []),
    ],
)
def test_only_a_new_name_is_a_new_dependency(path: str, before: str, after: str, new: list[str]) -> None:
    assert manifests.new_names(path, before.encode(), after.encode()) == new


def test_a_snapshot_has_files_as_they_are_and_runs_no_filter(tmp_path: Path) -> None:
    root, data, ran = tmp_path / "repo", tmp_path / "data", tmp_path / "ran"
    root.mkdir()
    git(root, "init", "-q")
    git(root, "config", "filter.own.clean", f"touch {ran}; cat")
    (root / ".gitattributes").write_text("* text=auto\n*.bin filter=own\n")
    (root / "crlf.txt").write_bytes(b"a\r\n")
    (root / "x.bin").write_text("1")
    (root / ".gitignore").write_text("ignored\n")
    (root / "ignored").write_text("1")
    env = {**os.environ, **GIT}
    before = tree.snapshot(root, data, env)
    assert before is not None and before.head == "" and not ran.exists()
    (root / "crlf.txt").write_bytes(b"a\n")
    (root / "x.bin").unlink()
    (root / "ignored").write_text("2")
    (root / "new.txt").write_text("n")
    after = tree.snapshot(root, data, env)
    assert after is not None and not ran.exists()
    found = tree.changes(root, data, env, before.tree, after.tree)
    assert [(one.path, one.state) for one in found or ()] == [
        ("crlf.txt", "M"),
        ("new.txt", "A"),
        ("x.bin", "D"),
    ]
    assert tree.content(root, data, env, before.tree, "crlf.txt") == b"a\r\n"
    assert tree.snapshot(tmp_path / "data", data, env) is None


def age(folder: Path) -> None:
    """As if nothing in a folder had been used for longer than snapshots are kept."""
    past = time.time() - (tree.KEEP_DAYS + 1) * 86_400
    for path in folder.rglob("*"):
        os.utime(path, (past, past))


def test_old_copies_are_removed_unless_a_tree_that_is_kept_needs_them(tmp_path: Path) -> None:
    root, data = tmp_path / "repo", tmp_path / "data"
    root.mkdir()
    git(root, "init", "-q")
    env = {**os.environ, **GIT}
    names = []
    for text in ("first", "second", "third"):
        (root / "a.txt").write_text(text)
        (root / "b.txt").write_text(f"{text} in b")
        found = tree.snapshot(root, data, env)
        assert found is not None
        names.append(found.tree)
    first, second, third = names

    def there() -> list[bool]:
        return [tree.content(root, data, env, name, "b.txt") is not None for name in names]

    tree.prune(data, env, [(root, first)])
    assert there() == [True, True, True], "nothing of it is old"
    age(data)
    # What cannot be read any more keeps nothing else from being removed.
    tree.prune(data, env, [(root, first), (root, "0" * 40)])
    assert there() == [True, False, True], "the last one is in the index too"
    assert tree.content(root, data, env, second, "a.txt") is None
    age(data)
    tree.prune(data, env, [])
    assert there() == [False, False, False] and tree.size(data) == 0
    again = tree.snapshot(root, data, env)
    assert again is not None and again.tree == third and tree.size(data) > 0
    tree.prune(data, env, [])
    age(data / tree.FOLDER)
    (config,) = (data / tree.FOLDER).glob("*/config")
    os.utime(config.with_name("pruned"))
    tree.prune(data, env, [])
    assert tree.size(data) > 0, "once a day"


@pytest.mark.parametrize(
    ("ban", "lift"),
    [
        ("Don't touch src/a.py.", "No problem, you can change src/a.py now."),
        ("Don't touch src/a.py.", "Fix src/a.py, don't touch src/b.py."),
        ("Don't touch src/a.py.", "Edit src/a.py without changing its API."),
        ("Don't touch src/a.py.", "Do whatever you want."),
        ("Don't touch src/.", "OK, fix the bug in a.py."),
        ("Don't touch src/.", "Except src/b.py."),
        ("Don't commit.", "Commit it, but don't push."),
        ("Don't commit.", "Ship it."),
        ("Do not push.", "You can push, don't worry."),
        ("No new dependencies.", "Use httpx, not requests."),
    ],
)
def test_a_later_word_on_the_same_thing_lifts_a_prohibition(ban: str, lift: str) -> None:
    [first] = parsed(ban)
    messages = (f"{ban} {lift}",) if lift.startswith("Except") else (ban, lift)
    assert first not in parsed(*messages)


def test_a_prohibition_that_is_repeated_holds() -> None:
    assert parsed("Don't touch src/a.py.", "I told you not to edit src/a.py!") == [("touch", "src/a.py")]
    assert parsed("Don't commit.", "Still no commit, please.") == [("commit", "")]


@pytest.mark.parametrize(
    "command",
    [
        "git push -n",
        "git commit --help",
        "true || git commit -m x",
        "cd /tmp/scratch && git init && git commit -m x",
        "git -C ../other commit -m x",
        "if ! git diff --cached --quiet; then git commit -m x; fi",
        "false && git commit -m x ; true",
        "false && git commit -m x\ntrue",
        "! git commit -m x",
        "! bash -c 'git commit -m x'",
        "git commit -m x | tail -3",
        "bash -lc 'git commit -m x' | tail -3",
        "bash -lc 'false && git commit -m x; true'",
        "release() { git push; }",
        "release () (\n  git push\n)",
        "function release { git push; }",
        "case x in y) git push;; esac",
        "for x in $(cat list); do git push; done",
        "[[ -f x ]] && git push; true",
        "GIT_DIR=/tmp/x/.git git commit -m x",
        "env GIT_DIR=/tmp/x/.git git commit -m x",
        "export GIT_DIR=/tmp/x/.git; git commit -m x",
        "GIT_DIR=/tmp/x/.git bash -c 'git commit -m x'",
        "chdir /tmp/a; git commit -m x",
        "builtin cd /tmp/a; git commit -m x",
        "env -C /tmp/a git commit -m x",
    ],
)
def test_a_command_that_may_not_have_committed_here_breaks_no_prohibition(command: str) -> None:
    record = Record(runs=(Run(n=1, command=command, purpose="", is_done=True, output=""),))
    banned = parse.in_messages(["Do not commit or push."])
    assert violations.find(banned, Since(), record, "Codex") == ()


@pytest.mark.parametrize(
    "command",
    [
        "git add -A && git commit -m x",
        "npm test; git add -A && git commit -m x && git log -1",
        "echo x | git commit -F -",
        "bash -lc 'git add -A && git commit -m x'",
        "git commit -m \"$(cat <<'EOF'\nFix f()\n\nif it; then (x)\nEOF\n)\" && git status",
    ],
)
def test_a_command_that_certainly_committed_breaks_a_prohibition(command: str) -> None:
    record = Record(runs=(Run(n=1, command=command, purpose="", is_done=True, output=""),))
    [found] = violations.find(parse.in_messages(["Do not commit."]), Since(), record, "Codex")
    assert found.is_by_agent


@pytest.mark.parametrize(
    ("folder", "is_broken"),
    [("/tmp/scratch", False), ("/works", False), ("/work/../x", False), ("/real/work/src", True), ("", True)],
)
def test_a_commit_in_another_folder_breaks_no_prohibition(folder: str, is_broken: bool) -> None:
    record = Record(runs=(Run(1, "git commit -m x", "", True, "", folder=folder),))
    banned = parse.in_messages(["Do not commit."])
    since = Since(roots=("/work", "/real/work"))
    assert bool(violations.find(banned, since, record, "Codex")) is is_broken


def test_a_record_keeps_the_folder_that_a_command_ran_in() -> None:
    asked = call("exec_command", {"cmd": "git commit -m x", "workdir": "../scratch"}, cwd="/work")
    made = assertions.record_of([asked, result("Process exited with code 0\nOutput:\n")], Meaning("codex"))
    assert made.runs[0].folder == "/work/../scratch"


@pytest.mark.parametrize(
    ("commits", "is_broken"), [(None, True), ((), False), ((99,), False), ((100,), True), ((101,), True)]
)
def test_no_commit_is_reported_where_git_shows_none_since_then(
    commits: tuple[int, ...] | None, is_broken: bool
) -> None:
    record = Record(runs=(Run(1, "git commit -m x", "", True, ""),))
    since = Since(commits=commits, said=(Said(at=100.5),))
    banned = parse.in_messages(["Do not commit."])
    assert bool(violations.find(banned, since, record, "Codex")) is is_broken


def test_an_agent_that_touched_another_file_of_that_name_is_not_named() -> None:
    since = Since(names=("README.md", "docs/README.md"), changed={"README.md": "M", "docs/README.md": "M"})
    record = Record(folder="/work", touched=(Touched(n=1, path="/work/docs/README.md"),))
    [broken] = violations.find(parse.in_messages(["Don't touch ./README.md."]), since, record, "Gemini")
    assert not broken.is_by_agent and "does not show by whom" in broken.evidence


def test_what_was_needed_indirectly_is_no_new_dependency() -> None:
    assert (
        manifests.new_names("go.mod", b"require x.org/a v1.0.0 // indirect\n", b"require x.org/a v1.0.0\n")
        == []
    )


NPM = """{"packages": {"": {}, "node_modules/a": {"version": "1"}%s}}"""


@pytest.mark.parametrize(
    ("path", "before", "after", "new"),
    [
        ("package-lock.json", NPM % "", NPM % ', "node_modules/@x/b": {"version": "2"}', ["@x/b"]),
        ("package-lock.json", NPM % "", NPM % ', "node_modules/a/node_modules/c": {"version": "2"}', ["c"]),
        (
            "uv.lock",
            '[[package]]\nname="a"\nversion="1"\n',
            '[[package]]\nname="a"\nversion="1"\n[[package]]\nname="b"',
            ["b"],
        ),
        (
            "Cargo.lock",
            '[[package]]\nname="a"\nversion="1"\n',
            '[[package]]\nname="a"\nversion="2"\n[[package]]\nname="b"',
            [],
        ),
        (
            "yarn.lock",
            'a@^1:\n  version "1.0"\n',
            'a@^1:\n  version "1.0"\n\n"@x/b@^2", "@x/b@^3":\n  version "3"\n',
            ["@x/b"],
        ),
        (
            "pnpm-lock.yaml",
            "packages:\n\n  a@1.0.0:\n    x: 1\n",
            "packages:\n\n  a@1.0.0:\n    x: 1\n  '@x/b@2.0.0(a@1.0.0)':\n",
            ["@x/b"],
        ),
        (
            "pnpm-lock.yaml",
            "packages:\n\n  /a/1.0.0:\n",
            "packages:\n\n  /a/1.0.0:\n  /@x/b/2.0.0:\n",
            ["@x/b"],
        ),
        (
            "bun.lock",
            '"packages": {\n  "a": ["a@1.0.0", ""],\n',
            '"packages": {\n  "a": ["a@1.0.0", ""],\n  "@x/b": ["@x/b@2.0.0", ""],\n',
            ["@x/b"],
        ),
        (
            "Gemfile.lock",
            "GEM\n  specs:\n    a (1.0)\n",
            "GEM\n  specs:\n    a (1.0)\n    b (2.0)\n      a (>= 1)\n",
            ["b"],
        ),
        (
            "composer.lock",
            '{"packages": [{"name": "a/a", "version": "1"}]}',
            '{"packages": [{"name": "a/a", "version": "1"}], "packages-dev": [{"name": "b/b"}]}',
            ["b/b"],
        ),
        ("Pipfile.lock", '{"default": {"a": {}}}', '{"default": {"a": {}}, "develop": {"b": {}}}', ["b"]),
        ("uv.lock", "package = 1", "no TOML", []),
    ],
)
def test_a_lock_file_shows_packages_that_were_only_added(
    path: str, before: str, after: str, new: list[str]
) -> None:
    assert lock_files.new_names(path, before.encode(), after.encode()) == new


MANIFEST = b'{"dependencies": {"a": "1"}}'
LOCKED = (NPM % "").encode(), (NPM % ', "node_modules/b": {"version": "2"}').encode()


@pytest.mark.parametrize(
    ("manifest", "subjects"),
    [
        ((MANIFEST, MANIFEST), ("b",)),
        ((MANIFEST, b'{"dependencies": {"a": "1", "b": "2"}}'), ("b",)),
        ((b'{"dependencies": {"a": "1", "b": "2"}}',) * 2, None),
    ],
)
def test_a_lock_file_that_catches_up_with_its_manifest_adds_no_dependency(
    manifest: tuple[bytes, bytes], subjects: tuple[str, ...] | None
) -> None:
    files = {"package.json": manifest, "package-lock.json": LOCKED}
    since = Since(names=tuple(files), changed=dict.fromkeys(files, "M"), manifests=files)
    found = violations.find(parse.in_messages(["No new dependencies."]), since, Record(), "Gemini")
    assert [one.subjects for one in found] == ([subjects] if subjects else [])


@pytest.mark.parametrize(
    ("command", "is_by_agent"),
    [
        ("npm install b@2", True),
        ("cd web && npm i --save-dev b", True),
        ("npm install", False),
        ("npm i c", False),
    ],
)
def test_the_agent_added_a_dependency_where_its_command_names_it(command: str, is_by_agent: bool) -> None:
    files = {"package-lock.json": LOCKED}
    since = Since(names=tuple(files), changed=dict.fromkeys(files, "M"), manifests=files)
    runs = (Run(n=1, command=command, purpose="install", is_done=True, output=""),)
    [one] = violations.find(parse.in_messages(["No new dependencies."]), since, Record(runs=runs), "Gemini")
    assert one.is_by_agent is is_by_agent


def test_commits_and_pushes_that_no_command_shows_are_counted_by_the_logs_of_git(tmp_path: Path) -> None:
    remote, root = tmp_path / "remote", tmp_path / "repo"
    root.mkdir()
    git(tmp_path, "init", "-q", "--bare", str(remote))
    git(root, "init", "-q", "-b", "main")
    git(root, "remote", "add", "origin", str(remote))
    start = 1_700_000_000
    git(root, "commit", "-q", "--allow-empty", "-m", "Before", at=start - 60)
    git(root, "commit", "-q", "--allow-empty", "-m", "Agent's", at=start + 60)
    git(root, "push", "-q", "origin", "main", at=start + 61)
    git(root, "checkout", "-q", "-b", "other", at=start + 62)
    git(root, "commit", "-q", "--allow-empty", "-m", "After", at=start + 600)
    env = {**os.environ, **GIT}
    begun, ended = (clock.moment(datetime.fromtimestamp(at, UTC)) for at in (start, start + 300))
    made = work_git.made_between(root, env, begun, ended)
    assert made == work_git.Made(commits=(start + 60,), pushes=(start + 61,))
    banned = parse.in_messages(["Do not commit or push."])
    since = Since(commits=made.commits, pushes=made.pushes)
    assert violations.find(banned, since, Record(), "Codex") == (), "they are mostly the user's own"
    assert violations.unattributed(banned, since, Record()) == (
        "made since the handoff: 1 commit (the transcript does not show by whom)",
        "made since the handoff: 1 push (the transcript does not show by whom)",
    )
    own = Record(runs=(Run(1, "git commit -m x", "", True, ""),))
    assert len(violations.find(banned, since, own, "Codex")) == len(
        violations.unattributed(banned, since, own)
    )


@pytest.mark.parametrize(
    ("command", "is_broken"),
    [
        ("git push origin main", True),
        ("git push origin HEAD:refs/heads/main", True),
        ("git push origin +main", True),
        ("git push origin main:review", False),
        ("git push origin feature/main-page", False),
        ("git push", False),
    ],
)
def test_only_a_push_that_names_the_branch_breaks_a_prohibition_of_that_branch(
    command: str, is_broken: bool
) -> None:
    record = Record(runs=(Run(1, command, "", True, ""),))
    banned = parse.in_messages(["Never push to main."])
    assert bool(violations.find(banned, Since(), record, "Codex")) is is_broken
    assert violations.unattributed(banned, Since(pushes=(1,)), Record()) == ()


@pytest.mark.parametrize(
    ("forbidden", "touched", "evidence"),
    [
        ("Don't touch .env.", Touched(1, ".env"), "Codex wrote .env: its transcript shows it"),
        ("Don't edit ./.env.", Touched(1, "/work/.env"), "Codex wrote .env: its transcript shows it"),
        (
            "Never delete .env.",
            Touched(1, ".env", True),
            "Codex deleted or moved .env: its transcript shows it",
        ),
        ("Don't touch *.env.", Touched(1, "a/x.env"), "Codex wrote a/x.env: its transcript shows it"),
        ("Don't touch dist/.", Touched(1, "dist/a.js"), "Codex wrote dist/a.js: its transcript shows it"),
        ("Don't edit dist/.", Touched(1, "dist/a.js"), ""),
        ("Don't touch .env.", Touched(1, "web/.env"), ""),
        ("Don't touch .env.", Touched(1, "/elsewhere/.env"), ""),
        ("Don't touch README.md.", Touched(1, "README.md"), ""),
    ],
)
def test_a_file_that_no_tree_holds_was_touched_where_the_transcript_shows_it(
    forbidden: str, touched: Touched, evidence: str
) -> None:
    since = Since(names=("README.md",), roots=("/work",))
    banned = parse.in_messages([forbidden])
    found = violations.find(banned, since, Record(folder="/work", touched=(touched,)), "Codex")
    assert [one.evidence for one in found] == ([evidence] if evidence else [])


# On a made-up machine: Claude Code's work has gone to the demonstration agent


FORBIDDEN = "src/legacy.py"


@pytest.fixture
def agents(cli: CommandLine) -> Agents:
    return Agents(cli)


@pytest.fixture
def project(cli: CommandLine, agents: Agents) -> Path:
    (cli.cwd / "src").mkdir()
    (cli.cwd / FORBIDDEN).write_text("RATE = 2\n")
    (cli.cwd / ".gitignore").write_text(".env\n*.demo.jsonl\n")
    (cli.cwd / ".env").write_text("KEY=1\n")
    git(cli.cwd, "init", "-q", "-b", "main")
    git(cli.cwd, "add", "-A")
    git(cli.cwd, "commit", "-q", "-m", "Begin")
    cli.env["PATH"] = f"{cli.folder / 'bin'}:{GIT['PATH']}"
    return cli.cwd


def hand_over(cli: CommandLine, prompt: str) -> None:
    talk = Conversation(cli.folder, cli.cwd, "6f0c1a52-0000-4000-8000-000000000001")
    talk.prompt(f"Our invoices are a cent off. Find out why. {prompt}")
    talk.reply("I will look at it.")
    handed = cli("to", "demo", "--headless", "--way", "prompt")
    assert handed.code == 0, handed


def verified(cli: CommandLine, *arguments: str, code: int) -> list[dict[str, Any]]:
    result = cli("verify", "--json", *arguments)
    assert result.code == code, result
    found: list[dict[str, Any]] = json.loads(result.out)["violations"]
    return found


def test_a_later_handoff_that_failed_does_not_end_the_check(
    cli: CommandLine, agents: Agents, project: Path
) -> None:
    hand_over(cli, f"Don't touch {FORBIDDEN}.")
    first = json.loads(cli("handoff", "list", "--json").out)[0]["id"]
    agents.do("deaf")
    failed = cli("to", "claude:haiku", "--headless", "--way", "prompt")
    assert failed.code == 6, failed
    (project / FORBIDDEN).write_text("RATE = 3\n")
    [broken] = verified(cli, "--since", first, code=12)
    assert broken["subjects"] == [FORBIDDEN]


def answered(project: Path, *entries: dict[str, Any]) -> None:
    """The demonstration agent does some more."""
    (path,) = project.glob("received*.demo.jsonl")
    with path.open("a") as file:
        for number, entry in enumerate(entries):
            file.write(json.dumps({"id": f"n{number}", "at": "2026-11-16T11:00:00.000000Z", **entry}) + "\n")


def wrote(path: str) -> tuple[dict[str, Any], dict[str, Any]]:
    return (
        {"kind": "call", "origin": "assistant", "text": f"{path}\nKEY=2", "tool": "write", "call": "c1"},
        {"kind": "result", "origin": "tool", "text": "", "status": 0, "call": "c1", "parent": "n0"},
    )


@pytest.mark.parametrize("is_repository", [True, False], ids=["ignored by git", "without git"])
def test_a_file_that_git_does_not_know_is_checked_in_the_transcript(
    cli: CommandLine, project: Path, is_repository: bool
) -> None:
    if not is_repository:
        shutil.rmtree(project / ".git")
    hand_over(cli, "Don't touch .env.")
    (project / ".env").write_text("KEY=2\n")
    [handoff] = json.loads(cli("handoff", "list", "--json").out)
    assert verified(cli, "--since", handoff["id"], code=0) == [], "nothing shows whether it changed"
    answered(project, *wrote(".env"))
    [broken] = verified(cli, "--since", handoff["id"], code=12)
    assert broken["evidence"] == "Demonstration agent wrote .env: its transcript shows it"


def handoff_id(cli: CommandLine) -> str:
    [handoff] = json.loads(cli("handoff", "list", "--json").out)
    return str(handoff["id"])


def acted(project: Path, *acts: str) -> None:
    """The demonstration agent is told something ("> …"), or does something ("tool: text"), at one second each."""
    entries: list[dict[str, Any]] = []
    for n, act in enumerate(acts):
        at = f"2026-11-16T11:00:{n:02}.500000Z"
        if act.startswith("> "):
            entries.append({"id": f"u{n}", "at": at, "kind": "prompt", "origin": "human", "text": act[2:]})
            continue
        tool, _, text = act.partition(": ")
        call = {"id": f"n{n}", "at": at, "kind": "call", "origin": "assistant", "call": f"c{n}"}
        entries.append({**call, "tool": tool, "text": text})
        entries.append({**call, "id": f"r{n}", "kind": "result", "origin": "tool", "text": "", "status": 0})
    answered(project, *entries)


@pytest.mark.parametrize(
    ("said", "done_later", "subjects"),
    [
        ("Don't commit.", "write: README.md", []),
        ("Don't commit.", "shell: git commit -m y", ["git commit -m y"]),
        (f"Don't touch {FORBIDDEN}.", "write: README.md", []),
        (f"Don't touch {FORBIDDEN}.", f"write: {FORBIDDEN}\nRATE = 3", [FORBIDDEN]),
        ("Don't touch .env.", "write: README.md", []),
        ("No new dependencies.", "shell: npm install", []),
        ("No new dependencies.", "shell: npm install c", ["c"]),
    ],
)
def test_only_what_was_done_after_the_user_forbade_it_breaks_a_prohibition(
    cli: CommandLine, project: Path, said: str, done_later: str, subjects: list[str]
) -> None:
    (project / "package.json").write_bytes(MANIFEST)
    hand_over(cli, "Fix it and commit.")
    (project / FORBIDDEN).write_text("RATE = 3\n")
    (project / "package.json").write_text('{"dependencies": {"a": "1", "b": "1", "c": "1"}}')
    early = (f"write: {FORBIDDEN}\nRATE = 2", "write: .env\nA=1", "shell: npm install b")
    acted(project, *early, "shell: git commit -m x", f"> Good. Now the readme. {said}", done_later)
    at = int(clock.parse("2026-11-16T11:00:06.000000Z").timestamp())
    git(project, "commit", "-q", "--allow-empty", "-m", "x", at=at)
    cli.clock.time = "2026-11-16T11:10:00.000000Z"
    found = verified(cli, "--since", handoff_id(cli), code=12 if subjects else 0)
    assert [one for each in found for one in each["subjects"]] == subjects
    assert all(one["is_by_agent"] for one in found)


@pytest.mark.parametrize("before", ["", f"-c user.name={'x' * 70}"])
def test_a_secret_in_a_forbidden_command_is_shown_nowhere(
    cli: CommandLine, project: Path, before: str
) -> None:
    hand_over(cli, "Don't push.")
    token = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"
    acted(project, f"shell: git {before} push https://ada:{token}@example.org/a/b")
    shown = ("verify", "--since", handoff_id(cli))
    for out in (cli(*shown, "--json").out, cli(*shown).out, cli("back", "--dry-run").out):
        assert "push https://" in out and token[:12] not in out and token[-12:] not in out, out


def test_a_secret_in_the_name_of_a_forbidden_file_is_not_shown(cli: CommandLine, project: Path) -> None:
    token = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"
    hand_over(cli, f"Don't touch src/{token}.py.")
    (project / f"src/{token}.py").write_text("A = 1\n")
    [broken] = verified(cli, "--since", handoff_id(cli), code=12)
    assert token not in json.dumps(broken)


def changed_by(project: Path, what: str) -> None:
    """What changes files without breaking anything, after the handoff."""
    at = int(clock.parse("2026-11-16T11:00:06.000000Z").timestamp())
    if what == "a cache":
        for name in ("__pycache__/a.pyc", "dist/a.js", "node_modules/b/package.json"):
            (project / "src" / name).parent.mkdir(parents=True)
            (project / "src" / name).write_text("{}")
    elif what == "narrower ignore rules":
        (project / ".gitignore").write_text(".env\n*.demo.jsonl\nsrc/new.txt\n")
    elif what == "a checkout":
        git(project, "checkout", "-q", "feature", at=at)
    elif what == "a checkout and a commit":
        git(project, "checkout", "-q", "feature", at=at)
        git(project, "commit", "-q", "--allow-empty", "-m", "More", at=at + 1)
    elif what == "another worktree":
        git(project, "worktree", "add", "-q", "src/wt", "feature", at=at)


@pytest.fixture
def branched(project: Path) -> Path:
    """With a branch that has other files, and with ignored files."""
    (project / ".gitignore").write_text(".env\n*.demo.jsonl\nsrc/*.txt\n")
    (project / "src" / "notes.txt").write_text("1")
    git(project, "add", "-A")
    git(project, "commit", "-q", "-m", "Ignore")
    git(project, "checkout", "-q", "-b", "feature")
    (project / FORBIDDEN).write_text("RATE = 4\n")
    (project / "src" / "feature.py").write_text("A = 1\n")
    git(project, "add", "-A")
    git(project, "commit", "-q", "-m", "Feature")
    git(project, "checkout", "-q", "main")
    return project


@pytest.mark.parametrize(
    "what",
    [
        "a cache",
        "narrower ignore rules",
        "a checkout",
        "a checkout and a commit",
        "another worktree",
    ],
)
def test_what_changes_files_without_an_edit_breaks_no_prohibition(
    cli: CommandLine, branched: Path, what: str
) -> None:
    hand_over(cli, "Don't touch the src folder.")
    changed_by(branched, what)
    cli.clock.time = "2026-11-16T11:10:00.000000Z"
    assert verified(cli, "--since", handoff_id(cli), code=0) == []
    (branched / FORBIDDEN).write_text("RATE = 5\n")
    (branched / "src" / "new.py").write_text("A = 1\n")
    [broken] = verified(cli, "--since", handoff_id(cli), code=12)
    assert broken["subjects"] == [FORBIDDEN, "src/new.py"]


def test_going_back_to_the_last_commit_is_a_change(cli: CommandLine, branched: Path) -> None:
    (branched / FORBIDDEN).write_text("RATE = 5\n")
    hand_over(cli, f"Don't touch {FORBIDDEN}.")
    at = int(clock.parse("2026-11-16T11:00:06.000000Z").timestamp())
    git(branched, "reset", "-q", "--hard", at=at)
    cli.clock.time = "2026-11-16T11:10:00.000000Z"
    [broken] = verified(cli, "--since", handoff_id(cli), code=12)
    assert broken["subjects"] == [FORBIDDEN]


def test_a_prohibition_that_is_repeated_holds_since_it_was_said_first() -> None:
    [one] = parse.in_messages(["Begin.", "Don't touch src/a.py.", "Again: don't touch src/a.py."])
    assert (one.since, one.n) == (1, 2)
    [one] = parse.in_messages(["Don't touch src/a.py.", "Edit src/a.py.", "Don't touch src/a.py."])
    assert one.since == 2


def test_a_command_that_was_begun_before_the_prohibition_breaks_none(cli: CommandLine, project: Path) -> None:
    hand_over(cli, "Fix it.")
    call = {"kind": "call", "origin": "assistant", "tool": "shell", "text": "git push", "call": "c1"}
    said = {"kind": "prompt", "origin": "human", "text": "Don't push."}
    result = {"kind": "result", "origin": "tool", "text": "", "status": 0, "call": "c1", "parent": "n0"}
    answered(project, call, said, result)
    assert verified(cli, "--since", handoff_id(cli), code=0) == []


def test_commits_that_no_transcript_shows_count_from_the_prohibition_on(
    cli: CommandLine, project: Path
) -> None:
    hand_over(cli, "Fix it.")
    acted(project, "write: README.md", "> Don't commit.")
    start = clock.parse("2026-11-16T11:00:00.000000Z").timestamp()
    git(project, "commit", "-q", "--allow-empty", "-m", "Before", at=int(start))
    cli.clock.time = "2026-11-16T11:10:00.000000Z"
    assert json.loads(cli("verify", "--json", "--since", handoff_id(cli)).out)["changed"] == []
    git(project, "commit", "-q", "--allow-empty", "-m", "After", at=int(start) + 5)
    [line] = json.loads(cli("verify", "--json", "--since", handoff_id(cli)).out)["changed"]
    assert "1 commit " in line


def test_a_commit_that_no_transcript_shows_is_listed_apart(cli: CommandLine, project: Path) -> None:
    hand_over(cli, "Don't commit, I will commit myself.")
    [handoff] = json.loads(cli("handoff", "list", "--json").out)
    at = int(clock.parse(handoff["delivery"]["tree_at"]).timestamp()) + 1
    git(project, "commit", "-q", "--allow-empty", "-m", "The user's own", at=at)
    cli.clock.time = clock.later(cli.clock.time, 60)
    said = "made since the handoff: 1 commit (the transcript does not show by whom)"
    assert verified(cli, "--since", handoff["id"], code=0) == []
    assert f"· {said}." in cli("verify", "--since", handoff["id"]).out
    assert said in cli("back", "--dry-run").out
    back = cli("back", "--headless", "--json")
    assert back.code == 0, back
    data = json.loads(back.out)
    assert data["changed"] == [said] and data["violations"] == []
    shown = cli("show", data["handoff"]["id"]).out
    assert "1 commit" not in shown


def test_a_change_that_no_transcript_shows_names_no_agent_in_a_report_of_several(
    cli: CommandLine, agents: Agents, project: Path
) -> None:
    talk = Conversation(cli.folder, cli.cwd, "6f0c1a52-0000-4000-8000-000000000001")
    talk.prompt(f"Our invoices are a cent off. Don't touch {FORBIDDEN}.")
    talk.reply("I will look at it.")
    agents.do("done I will look at it.", "done I know.")
    assert cli("to", "claude:haiku", "--headless", "--way", "prompt").code == 0
    assert cli("to", "demo", "--headless", "--way", "prompt").code == 0
    (project / FORBIDDEN).write_text("RATE = 3\n")
    assert cli("back", "--headless").code == 0
    sections = json.loads(cli("back", "--dry-run", "--json").out)["brief"]["sections"]
    told = {section["title"]: section["lines"] for section in sections}
    said = f'The user said "Don\'t touch {FORBIDDEN}.": {FORBIDDEN} was changed since the handoff; '
    assert told["The user's prohibitions that were broken"] == [f"{said}the transcript does not show by whom"]


def added(files: dict[str, tuple[str, str]]) -> list[str]:
    """The new dependencies that are reported where these files changed."""
    contents = {path: (before.encode(), after.encode()) for path, (before, after) in files.items()}
    since = Since(names=tuple(files), changed=dict.fromkeys(files, "M"), manifests=contents)
    found = violations.find(parse.in_messages(["No new dependencies."]), since, Record(), "Codex")
    return [name for one in found for name in one.subjects]


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        ("go.mod", "require x.org/y v1.0.0\n", "require x.org/y/v2 v2.0.0\n"),
        ("go.mod", "module m\n", "exclude (\n\tx.org/a v1.0.0\n)\nreplace (\n\tx.org/b v1.0.0 => ../b\n)\n"),
        ("requirements.txt", "foo==1\n", "git+https://github.com/x/foo@v2\n"),
        ("requirements.txt", "foo==1\n", "foo==1\nhttps://example.org/foo-2-py3.whl\nlibs/foo\nfoo.whl\n"),
        (
            "pyproject.toml",
            '[project]\nname="shop"',
            '[project]\nname="shop"\n[project.optional-dependencies]\nall=["shop[test]"]',
        ),
        (
            "pyproject.toml",
            "[project]\n",
            '[project]\ndependencies=["b"]\n[tool.uv.sources]\nb={workspace=true}',
        ),
        ("Cargo.toml", "[dependencies]\n", '[dependencies]\nb={path="../b"}\nc={workspace=true}'),
        (
            "package.json",
            '{"name":"a"}',
            '{"name":"a","dependencies":{"@org/ui":"workspace:*","b":"file:../b"}}',
        ),
        ("composer.json", '{"name":"a/a"}', '{"name":"a/a","require":{"php":">=8","ext-json":"*"}}'),
        ("Gemfile", "gem 'a'\n", "gem 'a'\n=begin\ngem 'b'\n=end\ngem 'c', path: '../c'\n"),
        ("Cargo.lock", '[[package]]\nname="a"', '[[package]]\nname="a"\n[[package]]\nname="b"\nversion="1"'),
        ("uv.lock", "version=1", '[[package]]\nname="b"\nsource={editable="."}'),
        ("package-lock.json", NPM % "", NPM % ', "node_modules/b": {"resolved": "b", "link": true}'),
        (
            "package-lock.json",
            NPM % "",
            NPM % ', "node_modules/@esbuild/linux-x64": {"version": "1", "optional": true}',
        ),
        ("yarn.lock", 'a@^1:\n  version "1"\n', 'a@^1:\n  version "1"\n\n"b@workspace:b":\n  version: 0\n'),
        ("Gemfile.lock", "GEM\n", "PATH\n  remote: b\n  specs:\n    b (1.0)\n\nGEM\n"),
    ],
)
def test_what_is_no_dependency_of_others_is_not_reported(path: str, before: str, after: str) -> None:
    assert added({path: (before, after)}) == []


@pytest.mark.parametrize(
    "files",
    [
        {
            "package.json": ('{"dependencies":{"lodash":"1"}}', "{}"),
            "web/package.json": ("{}", '{"dependencies":{"lodash":"1"}}'),
        },
        {
            "requirements.txt": ("requests==2\n", "\n"),
            "pyproject.toml": ("[project]\n", '[project]\ndependencies=["requests"]'),
        },
        {
            "package.json": ("{}", '{"dependencies":{"a":"1"}}'),
            "package-lock.json": (NPM % "", NPM % ', "node_modules/c": {"version": "1"}'),
        },
    ],
)
def test_a_name_that_was_in_use_before_is_no_new_dependency(files: dict[str, tuple[str, str]]) -> None:
    assert "lodash" not in added(files) and "requests" not in added(files) and "a" not in added(files)


@pytest.mark.parametrize(
    ("path", "before", "after", "new"),
    [
        (
            "go.mod",
            "module m\n",
            "require (\n\tx.org/b/v2 v2.0.0\n\tx.org/c v1.0.0 // indirect\n)\n",
            ["x.org/b"],
        ),
        (
            "requirements.txt",
            "a\n",
            "a\nb[x]>=1 ; python_version > '3'\nc @ https://x.org/c.whl\n",
            ["b", "c"],
        ),
        ("composer.json", '{"name":"a/a"}', '{"name":"a/a","require":{"b/b":"1"}}', ["b/b"]),
        ("Cargo.toml", "[dependencies]\n", '[dependencies]\nb={version="1"}', ["b"]),
    ],
)
def test_a_dependency_of_others_is_reported(path: str, before: str, after: str, new: list[str]) -> None:
    assert added({path: (before, after)}) == new


@pytest.mark.parametrize("path", ["package.json", "package-lock.json", "pyproject.toml", "uv.lock"])
def test_a_manifest_that_cannot_be_read_lists_nothing(path: str) -> None:
    nested = "[" * 200_000 if path.endswith("json") else "a=" + "[" * 200_000
    assert added({path: ("{}", nested)}) == added({path: (nested, "{}")}) == []
    assert added({path: ('{"packages": [{}]}', '{"packages": [{}, {}]}')}) == []


ADDS_B = Change(old='"a": "1"', new='"a": "1", "b": "2"')
ADDS_A_SCRIPT = Change(old='{"dependencies"', new='{"scripts": {"test": "b"}, "dependencies"')


@pytest.mark.parametrize(
    ("touched", "command", "is_by_agent"),
    [
        ((), "npm install", False),
        ((ADDS_A_SCRIPT,), "npm test", False),
        ((ADDS_A_SCRIPT,), "npm install b", True),
        ((ADDS_A_SCRIPT, ADDS_B), "npm test", True),
    ],
)
def test_the_agent_added_a_dependency_where_its_edit_or_its_command_adds_that_name(
    touched: tuple[Change, ...], command: str, is_by_agent: bool
) -> None:
    after = b'{"scripts": {"test": "b"}, "dependencies": {"a": "1", "b": "2", "c": "3"}}'
    since = Since(
        names=("package.json",), changed={"package.json": "M"}, manifests={"package.json": (MANIFEST, after)}
    )
    record = Record(
        runs=(Run(n=1, command=command, purpose="install", is_done=True, output=""),),
        touched=(Touched(1, "package.json", changes=touched),),
    )
    [one] = violations.find(parse.in_messages(["No new dependencies."]), since, record, "Codex")
    assert (one.is_by_agent, one.subjects) == (is_by_agent, ("b",) if is_by_agent else ("b", "c"))


@pytest.mark.parametrize(
    ("target", "changed", "broken"),
    [
        ("src/*.py", ("src/x.py", "src/sub/x.py"), ["src/x.py"]),
        ("src/**/*.py", ("src/x.py", "src/sub/x.py", "lib/x.py"), ["src/x.py", "src/sub/x.py"]),
        ("docs/*.md", ("docs/x.md", "pkg/docs/x.md"), ["docs/x.md"]),
        ("api/*.md", ("a/api/x.md",), ["a/api/x.md"]),
        ("api/*.md", ("a/api/x.md", "b/api/x.md"), []),
        ("src/*", ("src/x.py", "src/sub/x.py"), ["src/x.py"]),
        ("*.md", ("docs/x.md", "x.md", "x.mdx"), ["docs/x.md", "x.md"]),
    ],
)
def test_a_star_stays_in_its_folder_and_a_glob_in_its_place(
    target: str, changed: tuple[str, ...], broken: list[str]
) -> None:
    since = Since(names=changed, changed=dict.fromkeys(changed, "M"), roots=("/work",))
    [one] = parse.in_messages([f"Don't touch {target}, please."])
    assert violations.matching(one, since, since.changed) == broken


@pytest.mark.parametrize(
    ("names", "folder", "broken"),
    [
        (("config.json", "backend/config.json"), "/work/backend", []),
        (("config.json", "backend/config.json"), "/work", ["config.json"]),
        (("config.json", "backend/config.json"), "/elsewhere", ["config.json"]),
        (("web/config.json", "backend/config.json"), "/real/backend", ["backend/config.json"]),
        (("web/config.json", "backend/config.json"), "/work", []),
        (("config.json", "backend/a.py"), "/work/backend", ["config.json"]),
    ],
)
def test_a_path_is_looked_up_from_the_folder_of_the_conversation(
    names: tuple[str, ...], folder: str, broken: list[str]
) -> None:
    since = Since(names=names, changed=dict.fromkeys(names, "M"), roots=("/work", "/real"))
    found = violations.find(
        parse.in_messages(["Don't touch config.json."]), since, Record(folder=folder), "Codex"
    )
    assert [path for one in found for path in one.subjects] == broken


@pytest.mark.parametrize(
    "sentence",
    [
        "The deploy job builds the image and must not push.",
        "The hook should validate and never commit.",
        "In dry-run mode, never push.",
        "Add a --no-push option; with it, do not push.",
        "Add a command that formats the files and do not commit.",
        "Build the image in the job, but never push.",
        "Make the job build the image, but do not push.",
        "Fix the bug where users, even admins, cannot delete README.md.",
        "Users should be able to change the theme without editing config/theme.json.",
        "Make it possible to add a currency without modifying src/currency.py.",
        "Add a way to add a currency without modifying src/currency.py.",
        "Bug: I click save, but settings.json stays unchanged.",
        "Click save, but settings.json stays unchanged.",
        "settings.json stays unchanged.",
        "Steps to reproduce:\n1. start the app\n2. do not edit config.json",
        "Steps to reproduce: 1. Start the app. 2. Do not edit config.json.",
        "## Steps to reproduce\n\n1. start the app\n2. do not edit config.json",
        "It worked yesterday without touching config.yaml.",
        "The plugin should be installable without new dependencies.",
        "Adding a theme works without new dependencies.",
        "Result: no new dependencies.",
        "There are no commits.",
        "My colleague said: don't touch legacy.py.",
        "Ann said please don't touch legacy.py.",
        "You never commit.",
        "Requirements for the bot:\n- never push\n- never commit",
        "System prompt for the bot:\n\nNever commit.\nDo not push.",
        "Change the bot's prompt to the following.\nNever commit.",
        "Here is what my colleague wrote:\nDon't touch legacy.py.",
    ],
)
def test_what_is_not_addressed_to_the_agent_is_no_prohibition(sentence: str) -> None:
    assert parsed(sentence) == []


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("Fix the rounding in report.py and don't touch legacy.py.", [("touch", "legacy.py")]),
        ("Use bun, do not commit.", [("commit", "")]),
        ("You must not edit legacy.py.", [("edit", "legacy.py")]),
        ("Make sure you don't touch legacy.py.", [("touch", "legacy.py")]),
        ("Be careful not to delete legacy.py.", [("delete", "legacy.py")]),
        ("Important: never push.", [("push", "")]),
        ("2) Don't touch legacy.py.", [("touch", "legacy.py")]),
        ("The auditors signed it off, so please don't touch legacy.py.", [("touch", "legacy.py")]),
        ("Fix the rounding without touching legacy.py.", [("touch", "legacy.py")]),
        ("Implement it with no new dependencies.", [("add a dependency", "")]),
        ("The legacy.py file must not be touched.", [("touch", "legacy.py")]),
        ("Please follow these rules:\n- Don't touch legacy.py", [("touch", "legacy.py")]),
        ("Steps to reproduce:\n1. start it\n\nDon't touch legacy.py.", [("touch", "legacy.py")]),
    ],
)
def test_what_is_addressed_to_the_agent_is_a_prohibition(
    sentence: str, expected: list[tuple[str, str]]
) -> None:
    assert parsed(sentence) == expected


@pytest.mark.parametrize(
    "later",
    [
        "yes, go ahead",
        "Yes, and update the changelog too.",
        "OK now fix all of these issues",
        "Ok it's fine to edit it",
        "You're allowed to change that file now",
        "Lift the freeze on that file",
        "I know I said don't touch legacy.py, but fix it.",
        "Don't worry about legacy.py being frozen.",
        "Why not change legacy.py?",
        "I don't mind you editing legacy.py.",
        "Do not modify anything except legacy.py.",
        "Good analysis. Implement your plan.",
        "Go with option 2.",
        "Perfect, please proceed",
        "Then do the following:\n- rewrite the totals in legacy.py",
        "Then make the change.",
        "Rename the class everywhere.",
        "ja bitte",
        "2",
        "continue",
    ],
)
@pytest.mark.parametrize("ban", ["Don't touch legacy.py.", "Fix the totals. Do not edit src/legacy.py."])
def test_a_later_permission_in_any_words_lifts_a_prohibition(ban: str, later: str) -> None:
    assert parsed(ban, later) == []


@pytest.mark.parametrize(
    ("ban", "later"),
    [
        ("No new dependencies.", "switch to httpx"),
        ("No new dependencies.", "ok bring in tenacity"),
        ("No new dependencies.", "Go with tenacity."),
        ("Do not commit.", "LGTM, land it"),
        ("Do not commit.", "please merge it"),
        ("Do not push.", "Open a pull-request"),
        ("Don't touch src/ledger/legacy.py.", "Now refactor src/ledger/."),
        ("Do not commit or push.", "Implement it."),
        ("Only look at src/ and explain the bug. Do not edit anything in src/.", "The totals are wrong."),
        ("Review the change first. Don't touch src/a.py.", "There is one more thing."),
    ],
)
def test_a_later_word_of_the_kind_that_was_forbidden_lifts_it(ban: str, later: str) -> None:
    assert parsed(ban) and parsed(ban, later) == []


@pytest.mark.parametrize(
    ("ban", "later"),
    [
        ("Don't touch legacy.py.", "Now add a test for negative amounts."),
        ("Don't touch legacy.py.", "And never edit src/b.py without touching legacy.py."),
        ("Don't touch legacy.py.", "I told you not to edit legacy.py!"),
        ("Don't touch legacy.py.", "Yes, go ahead, but still don't touch legacy.py."),
        ("Don't touch legacy.py.", "/compact"),
        ("Don't touch legacy.py.", "/model opus"),
        ("Don't touch legacy.py.", "   "),
        ("Don't touch legacy.py.", "Don't commit!"),
        ("Don't touch legacy.py.", "Stop!"),
        ("Don't touch src/ledger/legacy.py.", "Refactor src/report/ now."),
        ("Don't touch legacy.py. You can change all else.", "The tests of report.py fail."),
        ("Don't commit.", "Never commit, I said."),
        ("Don't commit.", "Please fix the rounding in report.py."),
        ("No new dependencies.", "And again: no new packages."),
    ],
)
def test_a_prohibition_holds_where_no_later_word_may_permit_it(ban: str, later: str) -> None:
    assert set(parsed(ban)) <= set(parsed(ban, later))


# Runs


RUN = ("run", f"Find out why our invoices are a cent off. Don't touch {FORBIDDEN}.", "--json", "--chain")


def ran(cli: CommandLine, *arguments: str) -> tuple[int, str, dict[str, Any]]:
    result = cli(*RUN, *arguments)
    assert result.out, result.err
    return result.code, result.err, json.loads(result.out)["run"]


def test_a_run_ends_with_what_its_only_agent_broke(cli: CommandLine, agents: Agents, project: Path) -> None:
    agents.do(f"write {FORBIDDEN} done I fixed it.")
    code, told, run = ran(cli, "claude")
    said = f"{FORBIDDEN} was changed since the start of run {run['id']}; the transcript does not show by whom"
    assert code == 12 and said in told and "The run is done, 1 prohibition broken.\n" in told, told
    assert cli("run", "status").out.startswith(f"✗ Run {run['id']}: done, 1 prohibition broken\n")
    [broken] = verified(cli, "--transcript", run["legs"][0]["transcript"], code=12)
    assert broken["subjects"] == [FORBIDDEN]


def test_a_run_whose_agent_obeyed_is_plainly_done(cli: CommandLine, agents: Agents, project: Path) -> None:
    agents.do("write src/other.py done I fixed it.")
    assert ran(cli, "claude")[0] == 0


@pytest.mark.parametrize("at_fault", [0, 1, 2])
def test_what_any_agent_of_a_run_broke_or_claimed_counts(
    cli: CommandLine, agents: Agents, project: Path, at_fault: int
) -> None:
    steps = ["crash", "crash", "done I created `sum.py`."]
    steps[at_fault] = f"write {FORBIDDEN} {steps[at_fault]}"
    cli.clock.time = clock.moment(datetime.now(UTC))  # the agents' messages have the real time
    agents.do(steps[0], "crash", "crash", steps[1], "crash", "crash", steps[2])
    code, told, run = ran(cli, "claude,claude:haiku,claude:sonnet")
    assert [leg["broken"] for leg in run["legs"]] == [int(n == at_fault) for n in range(3)], told
    assert code == 12 and "The run is done, 1 prohibition broken, 1 claim not confirmed.\n" in told, told
    assert told.count("Prohibition broken: ") == 1


def test_a_check_that_fails_leaves_a_doubt(
    cli: CommandLine, agents: Agents, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_arguments: object, **_more: object) -> None:
        raise AgentError(agent="Claude Code", what="it cannot be read")

    monkeypatch.setattr(verify, "verify", fail)
    code, told, _run = ran(cli, "claude")
    assert code == 11 and "Claude Code was not checked: Claude Code: it cannot be read.\n" in told, told
    assert "The run is done, not checked: Claude Code: it cannot be read.\n" in told, told
