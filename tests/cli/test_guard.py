"""Guard: who may change what, what a refused agent reads, and that no failure stops its work."""

from __future__ import annotations

import json
import os
import shlex
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

from segue.agents.claude import hook_settings
from segue.agents.shared.settings.settings_patch import SCRIPT
from segue.base import clock
from segue.hooks import guard
from segue.hooks.guard import Attempt, Held
from segue.ops.common.desk import open_desk
from segue.ops.setup import hook_script
from segue.shell.read_only import HARMLESS, OWN, UNLESS, only_looks

MANNER = msgspec.to_builtins(hook_settings.MANNER)
NOW = "2026-11-16T09:30:00.000000Z"
LATER = "2026-11-16T21:30:00.000000Z"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "my prøject"
    (folder / ".git").mkdir(parents=True)
    (folder / "src").mkdir()
    return folder


def held(root: Path, **fields: str) -> Held:
    usual = {"handoff": "h-1", "holder": "Other Agent", "since": NOW, "expires": LATER}
    return Held(root=str(root), **{**usual, **fields})


def refusal(attempt: Attempt, *notes: Held, handoff: str = "", now: str = NOW) -> str:
    return guard.refusal(attempt, notes, handoff=handoff, now=now)


def edit(path: Path, folder: Path | None = None) -> Attempt:
    return Attempt(folder=str(folder or path.parent), paths=(str(path),))


def run(command: str, folder: Path) -> Attempt:
    return Attempt(folder=str(folder), command=command)


# Access to the worktree


def test_an_edit_in_a_held_worktree_is_refused_with_who_since_when_and_what_to_do(root: Path) -> None:
    reason = refusal(edit(root / "src" / "new.py"), held(root))
    assert reason.startswith(f"Other Agent holds the worktree {root} since 2026-11-16 09:30: ")
    assert "(h-1)" in reason and "`segue back`" in reason and "ends by itself at 2026-11-16 21:30" in reason


def test_the_agent_that_works_for_the_handoff_may_edit(root: Path) -> None:
    assert refusal(edit(root / "a.py"), held(root), handoff="h-1") == ""
    assert refusal(edit(root / "a.py"), held(root), handoff="h-2") != ""


def test_a_lease_whose_time_is_over_holds_nobody_up(root: Path) -> None:
    assert refusal(edit(root / "a.py"), held(root), now=LATER) == ""
    assert refusal(edit(root / "a.py"), held(root), now="2026-11-16T21:29:59.999999Z") != ""


def test_the_file_decides_and_not_the_agents_folder(root: Path, tmp_path: Path) -> None:
    assert refusal(edit(tmp_path / "elsewhere.md", folder=root), held(root)) == ""
    assert refusal(edit(root / "a.py", folder=tmp_path), held(root)) != ""
    assert refusal(Attempt(folder=str(root / "src"), paths=("../a.py",)), held(root)) != ""
    assert refusal(Attempt(folder=str(root), paths=("../a.py",)), held(root)) == ""
    assert refusal(Attempt(folder=str(root)), held(root)) != ""


def test_a_name_that_only_begins_alike_is_another_folder(root: Path) -> None:
    assert refusal(edit(root.with_name(root.name + " two") / "a.py"), held(root)) == ""


@pytest.mark.parametrize("name", ["a\0b", "\ud800", "a/\0/../../../x"])
def test_a_name_that_no_file_can_have_is_refused_while_a_worktree_is_held(root: Path, name: str) -> None:
    attempts = [
        Attempt(folder=str(root), paths=(name,)),
        Attempt(folder=f"{root}/{name}", paths=("a.py",)),
        Attempt(folder=f"{root}/{name}", command="touch a.py"),
    ]
    assert all(refusal(attempt, held(root)) for attempt in attempts)
    assert not any(refusal(attempt, held(root), handoff="h-1") for attempt in attempts)


def test_links_lead_where_they_lead(root: Path, tmp_path: Path) -> None:
    (tmp_path / "in").symlink_to(root)
    (root / "out").symlink_to(tmp_path)
    assert refusal(edit(tmp_path / "in" / "a.py"), held(root)) != ""
    assert refusal(edit(root / "out" / "a.py"), held(root)) == ""


def test_another_worktree_below_is_not_held_and_a_submodule_is(root: Path) -> None:
    for name, pointer in (("tree", "gitdir: /x/.git/worktrees/tree"), ("sub", "gitdir: ../.git/modules/sub")):
        (root / name).mkdir()
        (root / name / ".git").write_text(pointer)
    (root / "clone" / ".git").mkdir(parents=True)
    assert refusal(edit(root / "tree" / "a.py"), held(root)) == ""
    assert refusal(edit(root / "clone" / "deep" / "a.py"), held(root)) == ""
    assert refusal(edit(root / "sub" / "a.py"), held(root)) != ""


def test_a_held_folder_without_a_repository_is_held_down_to_its_last_file(tmp_path: Path) -> None:
    (tmp_path / "plain" / "deep").mkdir(parents=True)
    assert refusal(edit(tmp_path / "plain" / "deep" / "a.py"), held(tmp_path / "plain")) != ""


def test_a_worktree_that_is_gone_is_known_by_its_name(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    assert refusal(edit(gone / "a.py"), held(gone)) != ""
    assert refusal(edit(tmp_path / "a.py"), held(gone)) == ""


def test_of_several_leases_the_one_that_is_met_counts(root: Path, tmp_path: Path) -> None:
    other = held(tmp_path / "other", holder="Third Agent", handoff="h-3")
    assert "Other Agent" in refusal(edit(root / "a.py"), other, held(root))
    assert refusal(edit(root / "a.py"), other) == ""


def test_a_command_may_look_but_not_change(root: Path, tmp_path: Path) -> None:
    assert refusal(run("git status && rg TODO src", root), held(root)) == ""
    assert "may change files" in refusal(run("npm test", root / "src"), held(root))
    assert refusal(run("npm test", tmp_path), held(root)) == ""


def test_a_command_from_elsewhere_that_names_the_worktree_counts_too(root: Path, tmp_path: Path) -> None:
    assert refusal(run(f"cd '{root}' && make", tmp_path), held(root)) != ""
    assert refusal(run(f"cat '{root}/a.py'", tmp_path), held(root)) == ""
    assert refusal(run(f"touch '{root}-two/a.py'", tmp_path), held(root)) == ""


# Read-only commands


@pytest.mark.parametrize(
    "command",
    [
        "ls",
        "git status",
        "git --no-pager log --oneline -5 | head",
        "git -C /x diff HEAD~1 -- src/",
        "git branch --show-current; git stash list",
        "cat a b 2>/dev/null",
        "ls 2>&1 | tail -3",
        "sed -n 1,20p file.py",
        "rg foo src/*.ts",
        "find . -name '*.py' | wc -l",
        "cd src && ls -la",
        "[ -f x ] && cat x || true",
        "sort a | uniq -c | sort -rn",
        'grep -n "foo$" "$HOME/x" | grep "bar"',
        "cat <<'EOF'\nrm x\nEOF",
        "ls # and don't worry",
        "command -v node",
        "segue",
        "segue show --json",
        'grep -n "a\\|b" src',
        'rg "\\bfoo\\(" src',
        'rg "a [^$]|b$" .',
        "find . -name \\*.py",
        "cat my\\ file",
        "cat a \\\n  b",
        "find . \\( -name a -o -name b \\) 2>/dev/null|sort",
        "ls 2>&1|head",
        "ls>/dev/null 2>&1;pwd",
        "ls &>/dev/null && wc -l <a",
        "(cd src; ls -la)",
        "(cd src && (ls; pwd)) | wc -l 2>/dev/null",
        "{ ls; pwd; } 2>&1 | cat",
        "! grep -q a b",
        "# what is there\nls -la # all\n",
        "cat <<A <<-'B' | head\n$HOME\nA\n\trm x\n\tB\nls",
        "wc -l <<<'a b'",
        "if [ -f x ]; then cat x; elif [[ -d y ]]; then ls y; else pwd; fi",
        "for f in a b/*.ts; do sed -n '1,5p' \"$f\"; git log -1 -- $f; done | head",
        "for i in {1..3}\ndo\n  echo ${i}\n  sleep 1\ndone",
        "while ! test -f x; do sleep 1; done",
        "ls src/{a,b} && rg x src/{a,b}",
        "git diff HEAD@{1}",
        "git branch -a --list 'x/*' --contains HEAD",
        "git tag --list 'v*' --sort=-version:refname",
        "git tag -l",
        "git remote -v",
        "git remote get-url origin",
        "git stash show -p stash@{0}",
        "git worktree list --porcelain",
        "git config --get user.name",
        "git -C /x --no-pager log",
        "sed -n '1,36p;260,$p' a",
        "sed -n '/^def x/,/^}/p' a",
        "sed -n -e 1p -e '$p' a",
        "ls | sed 's#^./##' | sed -E 's/[0-9]+$/n/g'",
        "find . -name x -exec grep -n a {} \\;",
        "ls | xargs -r -n1 basename",
        "ls | xargs -I{} stat {}",
        "printf '%s\\n' \"$HOME\"",
        "printf -- '-v'",
        "date +%s && date -Iseconds",
        "uniq -c a",
    ],
)
def test_a_command_that_only_looks_is_known(command: str) -> None:
    assert only_looks(command)


@pytest.mark.parametrize(
    "command",
    [
        "",
        "   ",
        "rm x",
        "ls; rm x",
        "ls\nrm x",
        "ls & rm x",
        "ls \\\n; rm x",
        "ls > f",
        "cat a >> b",
        "ls &> f",
        "ls >| f",
        "ls <> f",
        "echo x >$file",
        "cat <<EOF > f\nx\nEOF",
        "cat <<'EOF'; rm x\nhi\nEOF",
        "cat <<'EOF'\nhi\nEOF\nrm x",
        "echo $(rm x)",
        "echo `rm x`",
        "cat <(rm x)",
        "cat ${x@P}",
        'echo $"a"; rm x; echo "b"',
        "ls | xargs rm",
        "ls | tee f",
        "env ls",
        "FOO=1 ls",
        "./ls",
        "$X",
        "l? x",
        "eval ls",
        ". x",
        "exec ls",
        "sudo ls",
        "command rm x",
        "{ rm x; }",
        "(rm x)",
        "! rm x",
        "if true; then rm x; fi",
        "for f in *; do rm $f; done",
        "function ls { rm x; }; ls",
        "ls() { rm x; }; ls",
        "alias ls=rm; ls",
        "python x.py",
        "npm test",
        "find . -delete",
        "find . -exec rm {} +",
        "find . -fprintf f x",
        "find . -{delete,x}",
        "find . $X",
        "fd -x rm",
        "rg --pre ./x y",
        "sort -uo x y",
        "sort --output=x y",
        "sed -i s/a/b/ f",
        "sed -n 'w f' x",
        "sed -n 1p -i f",
        "uniq a b",
        "git",
        "git commit -m x",
        "git checkout .",
        "git stash",
        "git branch new",
        "git tag v1",
        "git remote add x y",
        "git worktree add x",
        "git worktree",
        "git -c core.pager=x log",
        "git diff --output=f",
        "git grep -Ox y",
        "segue back",
        "segue init --yes",
        "segue doctor --mend",
        "ls " + "a" * 70_000,
        "(ls; rm x)",
        "(ls) rm x",
        "(ls",
        "ls)",
        "((x=1))",
        "ls *(e:rm:)",
        "{ ls; } rm x",
        "{ ls; rm x; }",
        "{ls,x} a",
        "if ls; then rm x; fi",
        "if ls; then cat x",
        "ls; fi",
        "'if' ls; fi",
        '"!" ls',
        "2>/dev/null ! ls",
        "for f in a; do find . -delete; done",
        "for f in -delete; do find . $f; done",
        "for f in a; do for f in -delete; do :; done; find . $f; done",
        "for f in a; do ls; done; find . $f",
        "for f in 'a -delete'; do find . $f; done",
        "for f in a; do find . -$f; done",
        "for f in a; do uniq b $f; done",
        "for PATH in .; do ls; done",
        "for path in .; do ls; done",
        "for f in a | rm x; do ls; done",
        "for f in ls; do $f; done",
        "case x in x) ls;; esac",
        "ls 2>f",
        "ls 2>&f",
        "ls > /dev/null > f",
        "ls >",
        ">/dev/null",
        "> f ls",
        "(ls) > f",
        "for f in a; do ls; done > f",
        "ls >\\\n f",
        "ls \\",
        "ls 'a",
        'ls "a',
        "cat <<A\n$HOME",
        "cat <<A\n${x:=y}\nA",
        "cat <<A\n\\\nA\nrm x\nA",
        "cat <<A\n A\nrm x",
        "cat <<A; rm x\nA",
        "cat <<'A\nrm x\n'",
        '[ -v "a[\\$""(rm x)]" ]',
        "printf -v $'a[\\x24(rm x)]' y",
        "printf -v PATH .; ls",
        "printf $X",
        "printf -$X",
        "[[ PATH=1 -eq 1 ]]",
        "[[ -f x && rm ]]",
        "\\[[ -f x ]]",
        "2>&1 [[ -f x ]]",
        "cat $[x]",
        "cat $x[1]",
        "ls\r",
        "ls\x00",
        "find . -exec rm {} \\;",
        "find . -exec",
        "find . -exec ls {} \\; -exec rm {} +",
        "find . -execute ls",
        "fd -0x rm",
        "sort --comp=./x a",
        "sort --files0-from=a -no b",
        "rg --hostname-bin=./x y",
        "uniq - b",
        "uniq -- a",
        "uniq a{b,c}",
        "date -us 1",
        "date 01020304.05",
        "ls | xargs -I ls ls",
        "ls | xargs sed -n 1p",
        "ls | xargs -a x sh -c y",
        "sed -n 'e' a",
        "sed 's/a/b/w f' a",
        "sed 's/a/b/e' a",
        "sed 's/a/b/;w f' a",
        "sed -n '1p;1w f' a",
        "sed -n '/[/]/p;w f' a",
        "sed '/[/]/p;/w f/p' a",
        "sed -n '1p\nw f' a",
        "sed -f x a",
        "sed -e 1p -e 'w f' a",
        "sed -e",
        "sed s/a/b",
        "sed -n 1p f --in-place",
        "git grep -nOrm x",
        "git remote -v add x y",
        "git branch -v new",
        "git branch --list x -D y",
        "git tag -a v1",
        "git config user.name x",
        "git config --get x --unset y",
        "git stash list --output=f",
        "git lo{g,x}",
        "git diff {-,x}-output=f",
    ],
)
def test_a_command_that_could_change_something_is_not_taken_for_looking(command: str) -> None:
    assert not only_looks(command)


@given(st.text(alphabet=" \n\"'`$\\(){}[];|&<>#=-als", max_size=60))
def test_any_command_gets_a_verdict_and_none_with_a_change_after_it_is_read_only(command: str) -> None:
    only_looks(command)
    assert not only_looks("rm x; " + command)


LOOKS = st.sampled_from(
    [
        "ls",
        "git log -3",
        'grep "a\\|b" x',
        "cat 'a b' 2>&1",
        "(cd src; ls)",
        "{ ls; pwd; }",
        "if true; then ls; else pwd; fi",
        "for f in a b; do cat $f; done",
        "cat <<'E'\nrm\nE\n",
        "sed -n 1,3p x",
        "ls # rm",
    ]
)
CHANGES = st.sampled_from(
    [
        "ls > f",
        "ls >>f",
        "ls &>f",
        'ls 2> "f"',
        "cat <<E >f\nx\nE",
        "ls 1>$f",
        "echo $(ls)",
        'echo "$(ls)"',
        "echo `ls`",
        "cat <(ls)",
        "ls ${x:-$(rm)}",
    ]
)
UNLISTED = st.text(alphabet="abcdefgrlstmxz-_./", min_size=1, max_size=6).filter(
    lambda name: name not in {*HARMLESS, *UNLESS, *OWN, "printf", "xargs", "if", "for", "do", "then", "else"}
)
WAYS = st.sampled_from(
    [
        "{}",
        "( {}\n)",
        "{{ {}\n}}",
        "if true; then {}\nfi",
        "if {}\nthen ls; fi",
        "for f in a; do {}\ndone",
        "while {}\ndo ls; done",
        "! {}",
        "cat <<'E' && {}\nE",
        "# '\n{}",
        "ls \\\n; {}",
        "echo 'a'\\''b'; {}",
        'echo "a\\"b"; {}',
        "ls 2>/dev/null|{}",
        "ls & {}",
    ]
)
JOINTS = st.sampled_from(["\n", "\n\n# x\n"])


@given(
    st.lists(LOOKS, max_size=2),
    CHANGES | st.tuples(UNLISTED, st.sampled_from(["", " x", " -n 'y'"])).map("".join),
    WAYS,
    st.lists(LOOKS, max_size=2),
    JOINTS,
)
def test_a_change_anywhere_in_a_command_is_never_taken_for_looking(
    before: list[str], change: str, way: str, after: list[str], joint: str
) -> None:
    if "\n" in change:
        way = "{}"
    assert not only_looks(joint.join([*before, way.format(change), *after]))


@given(st.lists(st.tuples(WAYS, LOOKS), min_size=1, max_size=3), JOINTS)
def test_read_only_commands_are_recognised_anywhere(parts: list[tuple[str, str]], joint: str) -> None:
    assert only_looks(joint.join(look if "\n" in look else way.format(look) for way, look in parts))


@given(st.text(max_size=20).filter(lambda text: "\0" not in text), st.sampled_from(["find", "sort", "git"]))
def test_a_word_is_what_the_shell_says_however_it_is_quoted(text: str, program: str) -> None:
    """Quoted pieces are joined before they are judged."""
    harm = {"find": "-delete", "sort": "-o", "git": "--output=f"}[program]
    quoted = "".join(f"'{char}'" if at % 2 else f'"{char}"' for at, char in enumerate(harm))
    command = f"{program} diff " if program == "git" else f"{program} "
    assert not only_looks(f"{command}{quoted} {shlex.quote(text)}")


def test_what_is_read_runs_in_a_real_shell_and_changes_nothing(tmp_path: Path) -> None:
    """Every word and group is where the shell reads it: allowed commands leave the folder unchanged."""
    (tmp_path / "a").write_text("x\n")
    for command in (
        "(ls; pwd) 2>&1|wc -l",
        "for f in a; do sed -n '1p' \"$f\"; done",
        "if [ -f a ]; then cat a; fi",
        "{ ls; } >/dev/null && cat <<'E' # >b\n>c\nE\n",
        "echo 'a'\\''>b' \"\\\">c\" \\>d",
        "cat a \\\n  a | sed 's/[>]/y/' | uniq -c",
        "find . -name a -exec cat {} \\; | xargs -n1 echo '>' ",
    ):
        assert only_looks(command)
        done = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, check=False)
        assert (done.returncode, done.stderr) == (0, b"")
        assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_no_command_needs_patterns() -> None:
    """These take as long to load as Python itself, while the agent waits."""
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); from segue.shell.read_only import only_looks;"
        "only_looks('(cd \"a\\\\|b\"; sed -n 1p x) | git log'); print('re' in sys.modules)"
    )
    source = Path(guard.__file__).parents[2]
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code, source], capture_output=True, check=True)
    assert done.stdout == b"False\n"


def test_a_refusal_of_a_command_says_that_a_simpler_one_may_pass(root: Path) -> None:
    ran = refusal(Attempt(folder=str(root), command="cat $(ls)"), held(root))
    edited = refusal(Attempt(folder=str(root), paths=("a",)), held(root))
    assert "reading is allowed (if this only reads, say it more simply). Do not look for a way around" in ran
    assert "reading is allowed. Do not look for a way around" in edited


@pytest.mark.parametrize(
    "piece",
    [
        "${",
        '$"',
        "'",
        '"',
        "\\",
        "<<a\n",
        "$",
        "((",
        "ls;",
        "${a",
        "{",
        "a ",
        "( ",
        "if ",
        "for a in b;do ",
        "$a",
        "<<a ",
    ],
)
def test_a_hostile_command_takes_no_long_time(piece: str) -> None:
    start = time.process_time()
    only_looks((piece * 70_000)[: 1 << 16])
    assert time.process_time() - start < 5


# Input and answers of the hook


def asked(tool: str, **given: Any) -> Attempt | None:
    record = {"hook_event_name": "PreToolUse", "cwd": "/p", "tool_name": tool, "tool_input": given}
    return guard.attempt_of(record, MANNER)


def test_every_tool_that_changes_a_file_is_understood() -> None:
    file = Attempt(folder="/p", paths=("/p/a.py",))
    for tool in ("Edit", "MultiEdit", "Write"):
        assert asked(tool, file_path="/p/a.py") == file
    assert asked("NotebookEdit", notebook_path="/p/a.py") == file
    assert asked("Bash", command="make") == Attempt(folder="/p", command="make")
    assert asked("Read", file_path="/p/a.py") is None
    assert asked("Bash", command=" ") is None
    (matcher,) = (hook.matcher for hook in hook_settings.HOOKS if hook.what == "edit")
    assert set(matcher.split("|")) == {"Edit", "MultiEdit", "Write", "NotebookEdit", "Bash"}


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: (
            st.dictionaries(
                st.sampled_from(["tool_name", "tool_input", "cwd", "command", "file_path"]) | st.text(), inner
            )
            | st.lists(inner)
        ),
    ).filter(lambda value: isinstance(value, dict))
)
def test_whatever_the_agent_sends_is_understood_or_passed_over(record: Any) -> None:
    attempt = guard.attempt_of(record, MANNER)
    assert attempt is None or isinstance(attempt.folder, str)


# Notes


def test_notes_come_back_as_they_were_even_with_odd_paths(tmp_path: Path) -> None:
    odd = os.fsdecode(b"/p\xff/\xf0\x9f\x99\x82 'x\" \n")
    for number, root in enumerate(("/a b", odd)):
        guard.put(tmp_path, held(Path(root), handoff=f"h-{number}"), NOW)
    assert {(note.root, note.handoff) for note in guard.notes(tmp_path)} == {("/a b", "h-0"), (odd, "h-1")}


@pytest.mark.parametrize(
    "content",
    [b"", b"no note", b"[]", b"{}", b'{"root": 1}', b"\xff\xfe", b"[" * 5000, b"x" * 70_000, b"null"],
)
def test_a_note_that_cannot_be_read_holds_nobody_up_and_is_named(tmp_path: Path, content: bytes) -> None:
    path = guard.note_of(tmp_path, "/p")
    path.parent.mkdir()
    path.write_bytes(content)
    assert guard.notes(tmp_path) == [] and guard.unreadable(tmp_path) == [str(path)]
    guard.drop(tmp_path, "/p", "h-1")
    assert not path.exists()


def test_a_note_with_a_field_of_another_type_is_none(tmp_path: Path) -> None:
    guard.put(tmp_path, held(Path("/p")), NOW)
    path = guard.note_of(tmp_path, "/p")
    path.write_text(json.dumps({**json.loads(path.read_text()), "expires": 5}))
    assert guard.notes(tmp_path) == []


# The hook as the agent runs it


Ask = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "segue's home" / "data"


@pytest.fixture
def ask(tmp_path: Path, data: Path, root: Path) -> Ask:
    """Run the script through a shell, as the agent does."""
    env = {"SEGUE_HOME": str(data.parent), "HOME": str(tmp_path), "PATH": os.environ["PATH"]}
    desk = open_desk(env=env, cwd=tmp_path)
    hook_script.write(desk, "claude")
    command = hook_script.reach(desk).hook("edit", "claude")

    def run(record: Any = None, **more: str) -> subprocess.CompletedProcess[str]:
        usual = {
            "hook_event_name": "PreToolUse",
            "cwd": str(root),
            "tool_name": "Write",
            "tool_input": {"file_path": str(root / "a.py"), "content": "x"},
        }
        given = record if isinstance(record, str) else json.dumps(record or usual)
        return subprocess.run(
            ["sh", "-c", command],
            input=given,
            capture_output=True,
            text=True,
            cwd=root,
            env={**env, **more},
            timeout=60,
        )

    return run


def test_without_a_lease_the_hook_says_nothing_and_starts_no_python(ask: Ask, data: Path) -> None:
    (data / SCRIPT).write_text((data / SCRIPT).read_text().replace(sys.executable, "/nowhere"))
    done = ask("x" * 1_000_000)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_with_a_lease_of_another_the_hook_denies_and_gives_the_reason(
    ask: Ask, data: Path, root: Path
) -> None:
    guard.put(data, held(root, expires="2999" + NOW[4:]), NOW)
    done = ask()
    answer = json.loads(done.stdout)["hookSpecificOutput"]
    assert (answer["hookEventName"], answer["permissionDecision"]) == ("PreToolUse", "deny")
    assert "Other Agent holds" in answer["permissionDecisionReason"]
    assert done.returncode == 0 and done.stderr == ""
    assert ask(SEGUE_HANDOFF="h-1").stdout == ""


def test_a_note_that_leads_nowhere_hides_no_other(ask: Ask, data: Path, root: Path) -> None:
    guard.put(data, held(root, expires="2999" + NOW[4:]), NOW)
    (data / guard.FOLDER / "0.json").symlink_to("/nowhere")
    assert "Other Agent holds" in ask().stdout


def test_a_note_whose_time_is_over_goes_with_the_first_hook_that_meets_it(
    ask: Ask, data: Path, root: Path, tmp_path: Path
) -> None:
    guard.put(data, held(root, expires="2020" + NOW[4:]), "2019" + NOW[4:])
    guard.put(data, held(tmp_path / "other", expires="2999" + NOW[4:]), "2019" + NOW[4:])
    assert ask().stdout == ""
    assert [note.root for note in guard.notes(data)] == [str(tmp_path / "other")]


def test_a_module_in_the_project_is_not_taken_for_segues_own(ask: Ask, data: Path, root: Path) -> None:
    guard.put(data, held(root, expires="2999" + NOW[4:]), NOW)
    for name in ("segue.py", "json.py"):
        (root / name).write_text("raise SystemExit('taken in')")
    assert "deny" in ask(PYTHONPATH=str(root)).stdout


def test_an_uninstalled_segue_stops_nobody(ask: Ask, data: Path, root: Path) -> None:
    guard.put(data, held(root, expires="2999" + NOW[4:]), NOW)
    script = data / SCRIPT
    script.write_text(script.read_text().replace(sys.executable, "/nowhere/python"))
    done = ask()
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    script.unlink()
    done = ask()
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize(
    "given", ["", "no JSON", "[]", "[" * 100_000, '{"cwd": "\\u0000", "tool_name": "Bash"}']
)
def test_what_cannot_be_understood_passes_and_is_recorded_for_the_doctor(
    ask: Ask, data: Path, root: Path, given: str
) -> None:
    guard.put(data, held(root, expires="2999" + NOW[4:]), NOW)
    done = ask(given)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert len(guard.failures(data)) == (0 if "Bash" in given else 1)


# Failures


def test_the_same_failure_is_recorded_once_while_it_repeats_and_the_log_stays_small(tmp_path: Path) -> None:
    for _ in range(3):
        guard.note_failure(tmp_path, ValueError("odd"), NOW)
    assert [failure.error for failure in guard.failures(tmp_path)] == ["ValueError: odd"]
    for number in range(400):
        guard.note_failure(tmp_path, ValueError(f"{number} " + "x" * 600), NOW)
    log = tmp_path / guard.LOG
    assert log.stat().st_size < 2 * guard.LARGEST_LOG
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
    assert guard.failures(tmp_path)[-1].error.startswith("ValueError: 399 ")


def test_a_log_that_cannot_be_written_is_no_failure(tmp_path: Path) -> None:
    (tmp_path / guard.LOG).mkdir()
    guard.note_failure(tmp_path, ValueError("odd"), clock.now())
    assert guard.failures(tmp_path) == []


@pytest.mark.parametrize(
    "command",
    [
        "git diff HEAD --outpu\\\nt=new",
        "cat <<A\\\nF\nx\nAF\nrm README.md",
        "git grep --open='sh -c x' y",
        "git log --textcon x",
    ],
)
def test_a_command_that_hides_what_it_does_is_not_taken_for_looking(command: str) -> None:
    assert not only_looks(command)
