"""Commands: normalized form, purpose, effects on files and on the repository."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from segue.facts.output.git_output import Git, git_of
from segue.shell import commands
from segue.shell.commands import Effect, effects, plain, purpose
from segue.shell.lexer import simple_commands

HERE = "/home/me/app"
MESSAGE = """git commit -m "$(cat <<'EOF'
feat: it's (nearly) "done"

More words.
EOF
)" """


def parts(command: str) -> list[list[str]]:
    """Words of each simple command, without redirections and comments."""
    return [simple.texts for simple in simple_commands(command) if simple.words]


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("ls -la", [["ls", "-la"]]),
        ("cd a && ls; pwd || true | cat", [["cd", "a"], ["ls"], ["pwd"], ["true"], ["cat"]]),
        ("echo 'a && b' \"c; d\"", [["echo", "a && b", "c; d"]]),
        ("a\nb \\\n  c", [["a"], ["b", "c"]]),
        ("cat <<'EOF' > x.txt && ls\nrm -rf /\nEOF\npwd", [["cat"], ["ls"], ["pwd"]]),
        ("make 2>&1 >out.log <in.txt # not this", [["make"]]),
        ('echo "$(ls | wc -l)" `a; b` $((1 + 2))', [["echo", "$(ls | wc -l)", "`a; b`", "$((1 + 2))"]]),
        (MESSAGE + "&& git push", [["git", "commit", "-m", MESSAGE[15:-2]], ["git", "push"]]),
        ("(cd a; ls) | wc", [["cd", "a"], ["ls"], ["wc"]]),
        ("diff <(sort a) <(sort b)", [["diff", "<(sort a)", "<(sort b)"]]),
        ("echo 'never closed && ls", [["echo", "never closed && ls"]]),
        ("a\\ b \"x\\\"y\"", [["a b", 'x"y']]),
        ("", []),
    ],
)  # fmt: skip
def test_a_compound_is_taken_apart_as_a_shell_would(command: str, words: list[list[str]]) -> None:
    assert parts(command) == words


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("npm test", "npm test"),
        (f"cd {HERE} && timeout 60 npm test 2>&1 | tail -20 || true", "npm test"),
        ("npm test | head -5", "npm test"),
        ("npm test 2>&1 | Select-String -Pattern fail | Select-Object -Last 4", "npm test"),
        ("npm test > /dev/null 2>&1; echo $?", "npm test"),
        ("CI=1 API=x  npm   test", "API=x npm test"),
        ("bash -lc 'npm test 2>&1 | tail -3'", "npm test"),
        ("# first\nnpm ci\nnpm test", "npm ci; npm test"),
        ("cd web && npm test", "cd web && npm test"),
        (f"cd {HERE}/web && npm test", "cd web && npm test"),
        ("cd /elsewhere && npm test", "cd /elsewhere && npm test"),
        (f"cat {HERE}/src/a.py {HERE}2/b.py", f"cat src/a.py {HERE}2/b.py"),
        (f"ls {HERE}", "ls ."),
        ("cat a.txt | sort | head -3 | xargs rm", "cat a.txt | sort | head -3 | xargs rm"),
        ("npm test | tail -n +3 | head -5", "npm test"),
        ("npm test | tail -3 > last.txt", "npm test | tail -3 > last.txt"),
        ("PYTHONPATH=src pytest", "PYTHONPATH=src pytest"),
        ("  npm test\n", "npm test"),
        ("echo hi", "echo hi"),
        ("echo hi | wc -c", "echo hi | wc -c"),
        ("echo hi > a.txt && npm test", "echo hi > a.txt && npm test"),
        ("cat > a.py <<'EOF'\nprint(1)\nEOF", "cat > a.py <<'EOF' …"),
        (MESSAGE + "2>&1 | tail -1", 'git commit -m "feat: it\'s (nearly) "done" …"'),
        ("python -c '" + "x = 1\n" * 50 + "'", "python -c '" + "x = 1 " * 16 + "x…(+202)'"),
        ("for f in *.py; do\n  # each\n  wc -l $f\ndone", "for f in *.py; do wc -l $f done"),
        (f"(cd {HERE}/web && make)", "(cd web && make)"),
        ("", ""),
    ],
)  # fmt: skip
def test_a_command_is_said_as_a_person_would(command: str, said: str) -> None:
    assert plain(command, HERE) == said


def test_without_a_folder_going_to_a_whole_path_is_left_unsaid() -> None:
    assert plain("cd /any/where && npm test") == "npm test"
    assert plain("cd web && npm test") == "cd web && npm test"


def test_two_long_scripts_that_begin_alike_stay_two() -> None:
    first, second = (plain(f"node -e '{'x' * 200}{'y' * n}'") for n in (1, 2))
    assert first != second
    assert len(first) < 130


@pytest.mark.parametrize(
    ("expected", "commands"),
    [
        (
            "test",
            "pytest -q|python -m pytest|uv run --with x pytest|npx vitest run|npm test|pnpm run test:unit|yarn test|bun test"
            "|go test ./...|cargo test|cargo +nightly nextest run|./gradlew test|mvn -q test|make test|make -C sub test"
            "|dotnet test|swift test|bundle exec rspec|vendor/bin/phpunit|mise run test:ci|just test|tox|ctest|mix test"
            "|python -m unittest|python manage.py test|./scripts/run-tests.sh|bash run_tests.sh|node --test|deno task test"
            "|cd web && CI=1 timeout 60 npm test 2>&1 | tail|bash -lc 'npm test'|if x; then pytest; fi|sudo make test",
        ),
        (
            "lint",
            "ruff check .|eslint src|npx tsc --noEmit|mypy src|npm run lint|cargo clippy|go vet ./...|golangci-lint run"
            "|prettier --check .|npm run typecheck|make lint|pre-commit run -a|uv run mypy|cargo fmt --check",
        ),
        (
            "build",
            "npm run build|make|go build ./...|cargo build --release|tsc|cmake --build b|docker build .|./gradlew assemble"
            "|vite build|npm run lint && npm run build",
        ),
        (
            "install",
            "npm ci|npm install x|yarn|pip install -r r.txt|python -m pip install x|uv sync|apt-get install -y x|go mod tidy"
            "|cargo add serde|bundle install|pnpm add -D x|npm i && ls",
        ),
        (
            "git",
            "git commit -m x|git push|git checkout -b x|git add . && git status|gh pr create -t x|git branch -D x|git stash"
            "|git -C x rebase main|gh api repos/x -X POST",
        ),
        (
            "look",
            "ls -la|cat x | head|rg test src|grep -rn build .|find . -name '*.test.ts'|git status|git log --oneline -5"
            "|git diff HEAD~1|git branch -a|git branch|sed -n 1,20p x|wc -l x|pwd|echo $HOME|head -5 x|git -C x status|gh pr view 3"
            "|cd x && ls|jq . x.json|git stash list|gh api repos/x|for f in *; do cat $f; done|bd list|tool --help|curl -s http://x"
            "|ls > /dev/null",
        ),
        (
            "run",
            "python app.py|node server.js|./a.out|docker compose up -d|rm x|sed -i s/a/b/ x|echo x > y|find . -delete"
            "|npm start|npm run dev|curl -X POST http://x|cat a > b|chmod +x setup.sh|mkdir -p tests",
        ),
        ("", "|# only a comment"),
    ],
)  # fmt: skip
def test_a_command_has_a_purpose(expected: str, commands: str) -> None:
    for command in _commands(commands):
        assert purpose(command) == expected, command


def _commands(text: str) -> list[str]:
    """Rows between bars, but not between bars with a blank before them."""
    found = [""]
    for piece in text.split("|"):
        if piece.startswith(" ") and found[-1].endswith(" "):
            found[-1] += f"|{piece}"
        else:
            found.append(piece)
    return found[1:]


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("rm -rf build a.txt", [Effect("deleted", "build"), Effect("deleted", "a.txt")]),
        ("rm *.pyc $X 'a b.txt'", [Effect("deleted", "a b.txt")]),
        ("git rm -r old", [Effect("deleted", "old")]),
        ("git rm --cached a.txt", []),
        ("mv a.py b.py", [Effect("renamed", "a.py", "b.py")]),
        ("git mv a.py src/", [Effect("renamed", "a.py", "src/a.py")]),
        ("mv a.py b.py lib", [Effect("renamed", "a.py", "lib/a.py"), Effect("renamed", "b.py", "lib/b.py")]),
        ("mv a.py lib", [Effect("renamed", "a.py", "lib/a.py")]),
        ("mv old new", [Effect("renamed", "old", "new")]),
        ("mv $A b.py", []),
        ("cp a.py b.py", [Effect("created", "b.py")]),
        ("touch a.txt", [Effect("touched", "a.txt")]),
        ("ls > a.txt 2> /dev/null", [Effect("created", "a.txt")]),
        ("ls >> a.txt 2>&1", [Effect("touched", "a.txt")]),
        ("ls | tee a.txt | tee -a b.txt", [Effect("created", "a.txt"), Effect("touched", "b.txt")]),
        ("cat > a.py <<'EOF'\nx = $1\nEOF\n", [Effect("created", "a.py", "", "x = $1\n")]),
        ("cat <<EOF > a.py\nx = 1\nEOF\n", [Effect("created", "a.py", "", "x = 1\n")]),
        ("cat <<EOF > a.py\nx = $HOME\nEOF\n", [Effect("created", "a.py")]),
        ("cat > a.py b.py <<'EOF'\nx\nEOF\n", [Effect("created", "a.py")]),
        ("sed -i 's/a/b/' a.py b.py", [Effect("touched", "a.py"), Effect("touched", "b.py")]),
        ("sed -i '' -e 's/a/b/' -e 's/c/d/' a.py", [Effect("touched", "a.py")]),
        ("sed -n 's/a/b/p' a.py", []),
        ("perl -pi -e 's/a/b/' a.py", [Effect("touched", "a.py")]),
        ("git checkout HEAD -- a.py", [Effect("restored", "a.py")]),
        ("git checkout main", []),
        ("git restore a.py", [Effect("restored", "a.py")]),
        ("git restore --staged a.py", []),
        ("curl -s http://x -o a.html", [Effect("created", "a.html")]),
        ("cd web && rm a.js && cd .. && rm b.js", [Effect("deleted", "web/a.js"), Effect("deleted", "b.js")]),
        ("cd $DIR && rm a.js", []),
        ("cd $DIR && rm /tmp/a.js", [Effect("deleted", "/tmp/a.js")]),
        ("bash -c 'rm a.js'", [Effect("deleted", "a.js")]),
        ("sudo rm ~/a.js", [Effect("deleted", "~/a.js")]),
        ("git checkout -- .", []),
        (
            "apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: a.py\n+x\n*** Update File: b.py\n*** Move to: c.py\n"
            "*** Delete File: d.py\n*** End Patch\nEOF",
            [Effect("created", "a.py"), Effect("renamed", "b.py", "c.py"), Effect("deleted", "d.py")],
        ),
        ("mkdir -p a/b && echo rm x", [Effect("made", "a/b")]),
    ],
)
def test_what_a_command_does_to_files_is_reported_where_it_is_spelt_out(
    command: str, expected: list[Effect]
) -> None:
    assert list(effects(command)) == expected


@pytest.mark.parametrize(
    ("command", "output", "expected"),
    [
        (
            MESSAGE,
            "[main 1a2b3c4] feat: it's done\n 2 files changed, 3 insertions(+)",
            Git("main", (("1a2b3c4", "feat: it's done"),)),
        ),
        ("git commit -m x", "[dev (root-commit) 1a2b3c4] x", Git("dev", (("1a2b3c4", "x"),))),
        ("git commit -m x", "[detached HEAD 1a2b3c4] x", Git("", (("1a2b3c4", "x"),))),
        ("git commit -m x", "nothing to commit, working tree clean", Git()),
        ("git checkout -b fix/it", "Switched to a new branch 'fix/it'", Git("fix/it")),
        ("git switch -c fix/it", "", Git("fix/it")),
        ("git checkout main", "Already on 'main'\nYour branch is up to date", Git("main")),
        ("git checkout a.py", "Updated 1 path from the index", Git()),
        ("git checkout -b fix/it", "fatal: a branch named 'fix/it' already exists", Git()),
        ("git checkout --detach v1", "HEAD is now at 1a2b3c4 x", Git()),
        ("git status", "On branch main\nnothing to commit", Git("main")),
        ("git status -sb", "## fix/it...origin/fix/it [ahead 1]\n M a.py", Git("fix/it")),
        ("git branch --show-current", "fix/it\n", Git("fix/it")),
        ("git rev-parse --abbrev-ref HEAD", "HEAD\n", Git()),
        ("git rev-parse HEAD", "1a2b3c4d5e6f7a8b9c0d1a2b3c4d5e6f7a8b9c0d\n", Git("", (("1a2b3c4d5e6f7a8b9c0d1a2b3c4d5e6f7a8b9c0d", ""),))),
        ("git push", "To github.com:o/r.git\n   1a2b3c4..5d6e7f8  main -> main", Git()),
        ("git push", " ! [rejected]        main -> main (fetch first)\nerror: failed to push some refs", Git()),
        (
            "git push -u origin x && gh pr create --fill",
            "remote:   https://github.com/o/r/pull/new/x\nhttps://github.com/o/r/pull/12\n",
            Git(pull_requests=("https://github.com/o/r/pull/12",)),
        ),
        ("gh pr view 12", "https://github.com/o/r/pull/12", Git()),
        ("git -C ../other status", "On branch other", Git()),
        ("cat log.txt", "[main 1a2b3c4] not a commit\nOn branch x", Git()),
        ("echo git commit", "[main 1a2b3c4] not a commit", Git()),
    ],
)  # fmt: skip
def test_git_is_parsed_from_command_and_output(command: str, output: str, expected: Git) -> None:
    assert git_of(command, output) == expected


TOKENS = st.sampled_from(
    [
        "a.py",
        "cd",
        "rm",
        "mv",
        "cat",
        "&&",
        "||",
        ";",
        "|",
        "&",
        "(",
        ")",
        "{",
        "}",
        "<",
        ">",
        ">>",
        "<<",
        "<<EOF",
        "<<'EOF'",
        "EOF",
        "\n",
        "'",
        '"',
        "`",
        "$(",
        "${",
        "$X",
        "\\",
        "#",
        "2>&1",
        "git",
        "commit",
        "for",
        "do",
        "done",
        "if",
        "then",
        "fi",
        "bash",
        "-c",
        "sed",
        "-i",
        "--",
        "=",
        "A=1",
        "timeout",
        "5",
        "*",
        "~",
        "..",
        "/",
    ]
)


@given(st.one_of(st.text(), st.lists(TOKENS, max_size=40).map(" ".join)), st.sampled_from(["", HERE]))
def test_no_command_is_too_strange(command: str, folder: str) -> None:
    said = plain(command, folder)
    assert "\n" not in said
    assert len(said) <= commands.LONGEST_SHOWN + 20
    assert purpose(command) in ("test", "build", "lint", "install", "git", "run", "look", "")
    assert all(word is not None for words in parts(command) for word in words)
    for effect in effects(command):
        assert effect.path
        assert "\0" not in effect.path
    git_of(command, command)


@given(
    st.lists(st.sampled_from(["npm test", "ls -la src", "git status", "python a.py"]), min_size=1, max_size=4)
)
def test_showing_less_of_it_does_not_make_it_another_command(commands: list[str]) -> None:
    whole = " && ".join(commands)
    clipped = " && ".join(f"{command} 2>&1 | tail -{n + 1}" for n, command in enumerate(commands))
    assert plain(clipped) == plain(whole)


@pytest.mark.parametrize(
    "piece",
    ["(", "'", '"$(', "`", "<<A ", "cd a; rm b; ", "bash -c ", "$((", "a\\\n", "x=1 ", "; ", "| head ", "${", "#\n", "{ ", "git status; "],
)  # fmt: skip
def test_a_megabyte_of_malice_takes_no_longer_than_any_other(piece: str) -> None:
    command = piece * (1_000_000 // len(piece))
    for read in (plain, purpose, effects, parts, lambda text: git_of(text, text)):
        start = time.process_time()
        read(command)
        assert time.process_time() - start < 6
