"""The facts that hold at the end of a prefix, told mechanically from its raw records.

A later value takes the place of an earlier one; what was superseded is kept apart, for `stale`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from msgspec import Struct, field

from bench._judge import asked, commands, words
from bench._judge.acts import Act, acts
from bench._judge.records import CALL, HUMAN, RESULT, Record

TYPES = {
    "files": ("files",),
    "commands": ("commands",),
    "tests": ("tests",),
    "errors": ("errors",),
    "human": ("human",),
    "constraints": ("constraints",),
    "decisions": ("decisions",),
    "todos": ("todos",),
    "question": ("question",),
    "marks": ("branch", "commits", "ids"),
}
"""The types of facts that weigh the same, and the kinds of facts in each."""
KINDS = tuple(kind for kinds in TYPES.values() for kind in kinds)
MOST_COMMANDS, MOST_COMMITS, MOST_ERRORS, MOST_IDS, MOST_FILES = 20, 10, 5, 20, 40
LONGEST_LINE, SHORTEST_LINE = 300, 24
SCRATCH = re.compile(
    r"^(?:/private)?/(?:tmp|var/folders|dev)/|^(?:/[^/]+){1,3}/\.(?:claude|codex|gemini|config|local)/"
)
COMMIT = re.compile(
    r"^\[(?P<branch>[^\]\s]{1,200})[^\]\n]{0,40}? (?P<hash>[0-9a-f]{7,40})\] (?P<subject>.+)$", re.MULTILINE
)
SWITCHED = re.compile(r"Switched to (?:a new )?branch '([^'\n]+)'")
URL = re.compile(r"https?://[^\s\"'<>)\]}`]+")
POSITION = re.compile(r"\.\w+:\d+(?::\d+)?$")
PORT = re.compile(r"(?:localhost|127\.0\.0\.1|0\.0\.0\.0):(\d{2,5})\b|\bport[ =:]+(\d{2,5})\b", re.IGNORECASE)
VERSION = re.compile(r"(?:\b[\w./-]+@|\bv)\d+\.\d+(?:\.\d+)?(?:-[\w.]+)?\b")
ISSUE = re.compile(r"(?<![\w/&])#\d{2,6}\b|\b[A-Z]{2,10}-\d{1,6}\b")
NO_ISSUE = re.compile(r"^(?:UTF|SHA|ISO|RFC|CVE|GPT|HTTP|TLS|UTC|AES|RSA|ASCII|MD)-")


class Fact(Struct, frozen=True):
    """Something that holds, to be found in a brief with this value."""

    kind: str
    subject: str
    value: str = ""
    more: str = ""
    """What else helps to recognise it: a commit's subject, the question of an answer."""


class Superseded(Struct, frozen=True):
    """Something that held once: the value now, and values that hold no more."""

    kind: str
    subject: str
    value: str
    old: tuple[str, ...]


class Truth(Struct):
    facts: list[Fact] = field(default_factory=list)
    superseded: list[Superseded] = field(default_factory=list)
    gone_lines: set[str] = field(default_factory=set)
    """Lines of code that were taken out and stand nowhere any more."""
    live_lines: set[str] = field(default_factory=set)
    """Lines of code that were put in and still stand."""


class _Run(Struct):
    core: str
    status: str
    output: str
    command: str
    earlier: list[str]


class _State(Struct):
    files: dict[str, list[str]] = field(default_factory=dict)
    runs: dict[str, _Run] = field(default_factory=dict)
    tests: dict[str, list[str]] = field(default_factory=dict)
    test_runs: dict[str, str] = field(default_factory=dict)
    commits: dict[str, str] = field(default_factory=dict)
    branches: list[str] = field(default_factory=list)
    sessions: dict[str, str] = field(default_factory=dict)
    ids: dict[str, None] = field(default_factory=dict)
    lines: dict[str, bool] = field(default_factory=dict)


def truth(records: list[Record]) -> Truth:
    state = _State()
    calls = {record.call: record for record in records if record.kind == CALL}
    noted = ""
    for record in records:
        if record.branch and record.branch != noted:
            # Some agents note the branch only once: what a command tells later counts more.
            noted = record.branch
            _on_branch(state, noted)
        if record.kind == RESULT and (call := calls.get(record.call)):
            _happened(state, call, record)
        elif record.kind == HUMAN:
            _mentioned(state, record.text)
    found = Truth()
    _add_state(found, state)
    said = asked.gather(records, calls)
    found.facts += [Fact(kind, subject, value, more) for kind, subject, value, more in said.facts]
    found.superseded += [Superseded("todos", text, "done", ("open",)) for text in said.done]
    return found


def _happened(state: _State, call: Record, result: Record) -> None:
    for act in acts(call):
        if act.deed == "run":
            _ran(state, act.subject, result)
        elif not result.is_failed:
            _changed(state, act, call, result)
    if session := call.arguments.get("session_id"):
        command = state.sessions.get(str(session))
        if command and result.exit is not None:
            _ran(state, command, result)


def _ran(state: _State, command: str, result: Record) -> None:
    if session := result.details.get("session"):
        state.sessions[str(session)] = command
        return
    if result.details.get("backgroundTaskId") or result.is_failed is None:
        return
    status = "failed" if result.is_failed else "ok"
    if status == "ok" and commands.is_masked(command) and commands.SHOWS_FAILURE.search(result.text):
        status = "either"
    for match in COMMIT.finditer(result.text) if commands.COMMITS.search(command) else ():
        state.commits[match["hash"][:7]] = match["subject"].strip()
    for name in SWITCHED.findall(result.text) if commands.SWITCHES.search(command) else ():
        _on_branch(state, name)
    for url in URL.findall(result.text) if "gh pr create" in command or "gh issue create" in command else ():
        state.ids[url.rstrip(".,;:")] = None
    for found in (*VERSION.findall(command), *_ports(command)):
        state.ids[found] = None
    if commands.only_looks(command) or (status == "ok" and commands.only_commits(command)):
        return
    key = commands.core(command)
    before = state.runs.pop(key, None)
    earlier = [*before.earlier, before.status] if before else []
    state.runs[key] = _Run(key, status, result.text, command, earlier)
    if commands.is_testing(command):
        _tested(state, command, result, status)


def _tested(state: _State, command: str, result: Record, status: str) -> None:
    who = commands.runner(command)
    for name in commands.tests(commands.PASSED_TEST, result.text):
        if name in state.tests:
            state.tests[name].append("passing")
    if status == "ok":
        for name, values in state.tests.items():
            same = state.test_runs.get(name) == commands.core(command)
            if state.test_runs.get(name, "").startswith(who) and (same or commands.is_broad(command)):
                values.append("passing")
    for name in commands.tests(commands.FAILED_TEST, result.text):
        state.tests.setdefault(name, []).append("failing")
        state.test_runs[name] = commands.core(command)


def _changed(state: _State, act: Act, call: Record, result: Record) -> None:
    if SCRATCH.match(act.subject):
        return
    path = relative(act.subject, call.folder)
    values = state.files.get(path, [])
    if act.deed == "move":
        if path in state.files:
            state.files[path] = [*values, "deleted"]
            state.files[relative(act.to, call.folder)] = [*values[:1], "renamed"]
        return
    if act.deed == "delete":
        if path in state.files:
            state.files[path] = [*values, "deleted"]
        return
    is_new = act.deed == "create" or (act.deed == "write" and _was_new(call, result, bool(values)))
    state.files.pop(path, None)
    state.files[path] = [*values, "created" if is_new else "edited"]
    # What is new is put in after what was there is taken out: a line that is in both stays.
    for line in code_lines(act.old):
        state.lines[line] = False
    for line in code_lines(act.new):
        state.lines[line] = True


def _was_new(call: Record, result: Record, is_known: bool) -> bool:
    told = result.details.get("type")
    if told in ("create", "update"):
        return bool(told == "create")
    if isinstance(result.details.get("exists"), bool):
        return not result.details["exists"]
    if "isNewFile" in result.details:
        return bool(result.details["isNewFile"])
    return not is_known and ("created" in result.text[:200].lower() or call.tool.lower() == "create_file")


def code_lines(text: str) -> Iterable[str]:
    """Lines long enough to be known again, with white space made even."""
    for line in text.split("\n"):
        line = " ".join(line.split())
        if SHORTEST_LINE <= len(line) <= LONGEST_LINE and any(c in line for c in "(){}[]=:;<>"):
            yield line


def relative(path: str, folder: str) -> str:
    path, folder = words.slashed(path), words.slashed(folder)
    if folder and path.startswith(folder.rstrip("/") + "/"):
        return path[len(folder.rstrip("/")) + 1 :]
    return path.removeprefix("./")


def _on_branch(state: _State, name: str) -> None:
    if name != "HEAD" and (not state.branches or state.branches[-1] != name):
        state.branches.append(name)


def _mentioned(state: _State, text: str) -> None:
    text = "\n".join(words.sentences(text[:8000] if len(text) <= 8000 else text[:8000].rpartition("\n")[0]))
    found = [url.rstrip(".,;:") for url in URL.findall(text) if not POSITION.search(url)]
    rest = URL.sub(" ", text)
    found += VERSION.findall(rest)
    found += [one for one in ISSUE.findall(rest) if not NO_ISSUE.match(one)]
    for one in (*found, *_ports(text)):
        state.ids.pop(one, None)
        state.ids[one] = None


def _ports(text: str) -> list[str]:
    return [f":{first or second}" for first, second in PORT.findall(text)]


def _add_state(found: Truth, state: _State) -> None:
    _add_files(found, state)
    _add_runs(found, state)
    _add_tests(found, state)
    found.facts += [Fact("errors", error) for error in _open_errors(state)[-MOST_ERRORS:]]
    if state.branches:
        now = state.branches[-1]
        found.facts.append(Fact("branch", now))
        if old := tuple(sorted(set(state.branches[:-1]) - {now})):
            found.superseded.append(Superseded("branch", now, now, old))
    commits = list(state.commits.items())[-MOST_COMMITS:]
    found.facts += [Fact("commits", digest, more=subject) for digest, subject in commits]
    found.facts += [Fact("ids", one) for one in list(state.ids)[-MOST_IDS:]]


def _add_files(found: Truth, state: _State) -> None:
    for path, values in list(state.files.items())[-MOST_FILES:]:
        found.facts.append(Fact("files", path, _file_value(values)))
    for path, values in state.files.items():
        if values[-1] == "deleted":
            found.superseded.append(Superseded("files", path, "deleted", ("edited",)))
    found.gone_lines = {line for line, is_live in state.lines.items() if not is_live}
    found.live_lines = {line for line, is_live in state.lines.items() if is_live}


def _add_runs(found: Truth, state: _State) -> None:
    for run in list(state.runs.values())[-MOST_COMMANDS:]:
        found.facts.append(Fact("commands", run.core, run.status))
    for run in state.runs.values():
        old = {one for one in run.earlier if one != run.status and "either" not in (one, run.status)}
        if old and not commands.is_fed(run.command):
            found.superseded.append(Superseded("commands", run.core, run.status, tuple(sorted(old))))


def _add_tests(found: Truth, state: _State) -> None:
    for name, results in state.tests.items():
        if results[-1] == "failing":
            found.facts.append(Fact("tests", name, "failing"))
        else:
            found.superseded.append(Superseded("tests", name, "passing", ("failing",)))


def _file_value(values: list[str]) -> str:
    """The state at the end; a file that was made and then changed is both."""
    if values[-1] in ("deleted", "renamed"):
        return values[-1]
    both = "created" in values and "edited" in values
    return "created or edited" if both else values[-1]


def _open_errors(state: _State) -> list[str]:
    """What the last failures said that nothing of their kind has overcome since."""
    healed: set[str] = set()
    found: list[str] = []
    for run in reversed(state.runs.values()):
        if run.status == "ok":
            healed |= commands.healed_by(run.command)
        elif run.status == "failed" and commands.runner(run.command) not in healed:
            line = commands.error_line(run.output)
            if line and line not in found:
                found.append(line)
    return found[::-1]
