"""Commands: what makes two runs the same command, which only look, which tests failed, which error stands."""

from __future__ import annotations

import re

LOOKING = {
    "cat", "head", "tail", "less", "more", "awk", "ls", "ll", "find", "grep", "egrep", "rg", "ag", "fd", "wc", "tree",
    "pwd", "echo", "printf", "which", "type", "file", "stat", "du", "df", "cd", "sort", "uniq", "cut", "tr", "diff",
    "base64", "cmp", "sleep", "true", "date", "env", "printenv", "whoami", "nl", "jq", "column", "basename", "dirname", "xargs",
    "test", "[", "ps", "lsof", "command", "sed", "for", "done", "if", "fi", "while", "Q",
}  # fmt: skip
LOOKING_GIT = {
    "status", "log", "diff", "show", "branch", "ls-files", "rev-parse", "blame", "grep", "remote", "cat-file",
    "for-each-ref", "ls-tree", "merge-base", "reflog", "describe", "config", "rev-list", "shortlog", "worktree",
    "ls-remote", "name-rev", "show-ref", "check-ignore",
}  # fmt: skip
LOOKING_VERBS = {
    "view", "list", "ls", "show", "status", "info", "version", "search", "describe", "logs", "help", "diff", "checks",
    "outdated", "why", "env", "freeze", "get", "ps", "tree", "watch", "doc",
}  # fmt: skip
"""What programs of many kinds call what only tells."""
SENDS = re.compile(
    r"^(?:-[fFXdToO]|--(?:field|raw-field|method|input|request|data\S*|form|upload-file|output|post-data))(?:=|$)"
)
ASSIGNED = re.compile(r"^\w+=")
LEADING_WORD = re.compile(r"^\s*(?:do|then|else|\(|\{|!)\s+")
SPLIT = re.compile(r"&&|\|\||;|\||\n|\$\(|`")
QUOTED = re.compile(r"'[^']*'|\"(?:[^\"\\]|\\.)*\"")
COMMENT_LINE = re.compile(r"^[ \t]*#.*\n", re.MULTILINE)
LEAD = re.compile(
    r"^(?:\s*(?:cd\s+(?:\"[^\"]*\"|'[^']*'|\S+)\s*(?:&&|;)|(?:export\s+)?[A-Z_][A-Z0-9_]*=(?:\"[^\"]*\"|'[^']*'|[^\s$`(]*)\s"
    r"|timeout\s+\S+\s|time\s|set -\w+(?:\s+\w+)?\s*(?:&&|;|\n)))+"
)
TRAIL = re.compile(
    r"(?:\s*(?:2>&1|[12]?>+\s*/dev/null|\|\s*(?:tail|head|grep|cat|less|sort|wc)\b(?:[^|&;\"']|\"[^\"]*\"|'[^']*')*|\|\|\s*true))+\s*$"
)
HEREDOC = re.compile(r"<<-?\s*['\"]?(\w+)['\"]?.*", re.DOTALL)
MASKED = re.compile(r"\|(?!\|)|\|\|\s*(?:true|echo)|;\s*echo\b")
JOINING = {"git merge", "git rebase", "git cherry-pick", "git pull", "git revert"}
SWITCHES = re.compile(r"\bgit\b.*\b(?:checkout|switch)\b|\bpr checkout\b")
COMMITS = re.compile(r"\bgit\b.*\b(?:commit|merge|cherry-pick|revert|pull|am|rebase)\b")
SPACES = re.compile(r"\s+")
CONTROL = re.compile(r"\x1b\[[0-9;]*[A-Za-z]|[\x00-\x08\x0b-\x1f]")
TESTING = re.compile(r"\b(?:\w*test\w*|spec|mocha|cypress|playwright|tap|ava)\b", re.IGNORECASE)
SELECTED = re.compile(
    r"\s(?:-run|-k|-t|--grep|--filter|-m|--testNamePattern)\b|::|\.(?:test|spec)\.|_test\.|test_\w+\."
)

FAILED_TEST = re.compile(
    r"^[ \t]*(?:--- FAIL: (?P<go>\S+)|FAILED (?P<py>\S+)|not ok \d+ -? ?(?P<tap>[^\n#]{3,120})"
    r"|(?:✕|✗|✘) (?P<js>[^\n]{3,120})|× (?P<vi>[^\n]{3,120} \d+ ?ms)$|test (?P<rs>\S+) \.\.\. FAILED"
    r"|\(fail\) (?P<bun>[^\n]{3,120}))",
    re.MULTILINE,
)
PASSED_TEST = re.compile(
    r"^[ \t]*(?:--- PASS: (?P<go>\S+)|(?P<py>\S+::\S+) PASSED|ok \d+ -? ?(?P<tap>[^\n#]{3,120})"
    r"|(?:✓|✔) (?P<js>[^\n]{3,120})|test (?P<rs>\S+) \.\.\. ok|\(pass\) (?P<bun>[^\n]{3,120}))",
    re.MULTILINE,
)
TIMING = re.compile(r"\s*[\[(][\d.]+ ?m?s[\])]\s*$|\s+\d+ ?ms$")
SHOWS_FAILURE = re.compile(
    r"\bFAIL(?:ED|URE)?\b|\b[1-9]\d* (?:failed|failures?|errors?)\b|\berror(?:\[|:)|\bpanic:", re.IGNORECASE
)
ERROR = re.compile(
    r"(?:^|[\s\[(])(?:\w*Error|\w*Exception|error|fatal|panic|FATAL|ERROR)(?:\[\w+\]|\s+\w+\d+)?:\s*\S"
)
TROUBLE = re.compile(
    r"\b(?:undefined|cannot|can't|could not|not found|no such|denied|failed|refused|unexpected|invalid|missing|unable"
    r"|mismatch|conflict)\b",
    re.IGNORECASE,
)
NO_ERROR = re.compile(
    r"^(?:exit code|error: exit|chunk id|wall time|process exited|[>$✓✔]|\(pass\)|ok |---? pass|pass)|\btask failed\b|exited with code|exit status|[{;,│]\s*$|[│·]",
    re.IGNORECASE,
)
WRAPPERS = {
    "uv run", "poetry run", "pipenv run", "npm run", "pnpm run", "yarn run", "bun run", "mise run", "npx", "bunx", "make",
    "just", "task", "python -m", "python3 -m", "docker compose", "pnpm exec", "dotnet",
}  # fmt: skip


def core(command: str) -> str:
    """A command without where it ran, what was cut from its output, and what it was fed."""
    text = HEREDOC.sub("", COMMENT_LINE.sub("", command[:6000].replace("\\\n", " ")))
    text = LEAD.sub("", text)
    text = TRAIL.sub("", text).strip().removesuffix('"$(cat').removesuffix("$(cat")
    return SPACES.sub(" ", text).strip() or SPACES.sub(" ", command[:200]).strip()


def only_looks(command: str) -> bool:
    """Whether all parts of a command read and print, and change nothing."""
    bare = QUOTED.sub("Q", HEREDOC.sub("", COMMENT_LINE.sub("", command[:6000])))
    for part in SPLIT.split(bare):
        words = LEAD.sub("", LEADING_WORD.sub("", part)).split()
        if not words or ASSIGNED.match(words[0]) or words[-1] in ("--help", "--version", "-h"):
            continue
        program = words[0].rpartition("/")[2].strip("(){}!\"'")
        if program == "git":
            verb = next((w for w in words[1:] if not w.startswith("-") and "/" not in w), "")
            if verb not in LOOKING_GIT:
                return False
        elif not _looks(program, words):
            return False
        if re.search(r"(?<![0-9&])>(?!&|\s*/dev/null)", part) and program in ("cat", "echo", "printf"):
            return False
    return True


def _looks(program: str, words: list[str]) -> bool:
    if program == "sed":
        return not any(word.startswith("-i") for word in words[1:3])
    if program in ("curl", "wget") or words[1:2] == ["api"]:
        return not any(SENDS.match(word) for word in words[1:])
    verbs = [word for word in words[1:5] if not word.startswith("-")][:2]
    return not program or program in LOOKING or bool(LOOKING_VERBS & set(verbs))


def only_commits(command: str) -> bool:
    """Whether a command does no more than put changes under a commit, which is a fact of its own."""
    bare = QUOTED.sub("Q", HEREDOC.sub("", COMMENT_LINE.sub("", command[:6000])))
    parts = [LEAD.sub("", part).split() for part in SPLIT.split(bare)]
    acting = [words for words in parts if words and not only_looks(" ".join(words))]
    return bool(acting) and all(words[0] == "git" and words[1:2] in (["add"], ["commit"]) for words in acting)


def healed_by(command: str) -> set[str]:
    """Whose failures are over when a command passed: of all that it joins with `&&`; and with a commit, whatever had
    stopped for one."""
    found = {runner(part) for part in command.split("&&")} | {runner(command)}
    return found | (JOINING if "git commit" in found else set())


def runner(command: str) -> str:
    """The program and its verb: 'go test', or 'npm run lint' where another program is run by it."""
    words = core(command).split()
    for size in (2, 1):
        if " ".join(words[:size]) in WRAPPERS:
            return " ".join(words[: size + 1])
    return " ".join(words[:2])


def is_fed(command: str) -> bool:
    """Whether part of a command came from a here-document, so that the rest may be the same and it is another one."""
    return bool(HEREDOC.search(command))


def is_broad(command: str) -> bool:
    return not SELECTED.search(command)


def is_masked(command: str) -> bool:
    """Whether the exit status may be another program's than the one that matters."""
    return bool(MASKED.search(command))


def tests(pattern: re.Pattern[str], output: str) -> list[str]:
    """The names of tests in an output, by the marks of common test programs."""
    names = []
    for match in pattern.finditer(output):
        name = TIMING.sub("", next(filter(None, match.groupdict().values()), "")).strip(" :")
        if name:
            names.append(name)
    return names


def is_testing(command: str) -> bool:
    return bool(TESTING.search(command[:2000]))


def error_line(output: str) -> str:
    """The line that says what went wrong."""
    lines = [CONTROL.sub("", line).strip() for line in output.split("\n")[:400]]
    lines = [line for line in lines if len(line) > 12 and not NO_ERROR.search(line[:300])]
    found = next((line for line in lines if ERROR.search(line[:300])), "")
    return (found or next((line for line in lines if TROUBLE.search(line[:300])), ""))[:200]
