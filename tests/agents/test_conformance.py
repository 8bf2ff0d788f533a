"""One suite over every agent that can be read or handed work: the same promises, kept by each of them."""

from __future__ import annotations

import importlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest

from segue import agents
from segue.agents import Reader, ollama
from segue.agents.capabilities import Capabilities
from segue.agents.shared.launch import Launch, Start, Written
from segue.agents.shared.transcripts import index_scan, reader
from segue.agents.shared.transcripts.index_scan import Scan
from segue.agents.shared.transcripts.reader import Reading
from segue.errors import AgentError
from segue.model import Entry, EntryKind, Mark, Origin, Source, Spend, Tokens, Transcript
from segue.model.conversation import Conversation
from segue.model.delivery import Mode
from segue.testing import check_bad_input, check_reader, check_starter, check_writer, mutations
from segue.testing.entries import check_entries, check_links
from segue.testing.incremental_reads import cuts, earlier
from segue.testing.launch import check_offered, check_piece, check_said, check_spoken, surroundings
from segue.testing.mutations import KINDS, a_long_line
from segue.testing.sample import read_all, source_of
from segue.testing.transcript_writer import Target
from tests import ROOT, world
from tests.samples import THIRD_PARTY, Sample, opencode_database, samples

MUTATIONS = 40
READABLE = [name for name in agents.NAMES if agents.can_be_read(name)]
SAMPLES = [sample for name in READABLE for sample in samples(name)]
WRITABLE = [name for name in agents.NAMES if agents.writer(name)]
CHOSEN = {"opencode": {"OPENCODE_CONFIG_CONTENT": '{"model": "local/m1"}'}}
"""What an agent must be told before anything can be written for it."""
PAGE = ROOT / "docs" / "add-an-agent.md"


def foreign_to(name: str) -> list[bytes]:
    others = [sample for other in READABLE if other != name for sample in samples(other)]
    return sorted({sample.path.read_bytes() for sample in others})


@pytest.mark.parametrize("name", READABLE)
def test_every_agent_that_can_be_read_has_a_sample(name: str) -> None:
    assert samples(name), f"put a transcript into tests/data/{name}/"


@pytest.mark.parametrize("sample", SAMPLES, ids=str)
def test_a_reader_keeps_every_promise(sample: Sample, tmp_path: Path) -> None:
    check_reader(
        agents.reader(sample.agent),
        sample.path,
        tmp_path,
        part=sample.part,
        foreign=foreign_to(sample.agent),
    )


@pytest.mark.parametrize("sample", SAMPLES, ids=str)
def test_a_reader_bears_bad_input(sample: Sample, tmp_path: Path) -> None:
    reader, foreign = agents.reader(sample.agent), foreign_to(sample.agent)
    tolls = check_bad_input(
        reader, sample.path, tmp_path, seed=1, count=MUTATIONS, part=sample.part, foreign=foreign
    )
    assert sum(toll.files for toll in tolls.values()) == MUTATIONS


def test_a_database_keeps_the_promises_and_may_be_damaged(tmp_path: Path) -> None:
    sample = opencode_database(tmp_path / "made")
    reader = agents.reader(sample.agent)
    check_reader(reader, sample.path, tmp_path / "read", part=sample.part)
    tolls = check_bad_input(reader, sample.path, tmp_path / "bad", seed=1, count=120, part=sample.part)
    assert sum(toll.refused for toll in tolls.values()) > 10
    assert sum(toll.entries for toll in tolls.values()) > 100


def test_one_very_long_line_costs_no_other(tmp_path: Path) -> None:
    path = tmp_path / "long.demo.jsonl"
    path.write_bytes(a_long_line(ENTRY * 4, reader.LONGEST_LINE + 1))
    found = reader.records(agents.reader("demo").read(source_of(agents.reader("demo"), path)))
    assert len(list(found)) == 4


@pytest.mark.parametrize("name", READABLE)
def test_what_is_no_file_is_refused_with_an_error_that_says_so(name: str, tmp_path: Path) -> None:
    pipe, folder = tmp_path / "pipe", tmp_path / "folder"
    os.mkfifo(pipe)
    folder.mkdir()
    for path in (pipe, folder, tmp_path / "nowhere", Path("/dev/zero"), tmp_path / "a\0b"):
        with pytest.raises(AgentError):
            list(agents.reader(name).read(Source(agent=name, path=str(path))))


# Handing work over


def test_every_agent_that_can_be_handed_work_is_held_to_it() -> None:
    startable = [name for name in agents.NAMES if agents.can_be_handed_work(name)]
    assert sorted(startable) == sorted([*WRITABLE, "ollama", "demo"])


@pytest.mark.parametrize("name", WRITABLE)
def test_an_agent_is_started_as_promised(name: str, tmp_path: Path) -> None:
    check_starter(agents.starter(name), tmp_path, env=CHOSEN.get(name))


@pytest.mark.parametrize("carrier", ollama.CARRIERS)
def test_a_model_that_another_program_carries_is_started_as_promised(carrier: str, tmp_path: Path) -> None:
    path = tmp_path / "bin" / carrier
    path.parent.mkdir()
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    check_starter(agents.starter("ollama"), tmp_path, env={"PATH": str(path.parent)})


def test_the_demonstration_agent_hears_all_that_is_said(tmp_path: Path) -> None:
    env, demo = surroundings(tmp_path, None), agents.starter("demo")
    check_spoken(demo, env)
    check_said(demo, tmp_path, env, Mode.HEADLESS)
    check_offered(demo, tmp_path, env)


@pytest.mark.parametrize("name", WRITABLE)
@pytest.mark.parametrize("number", [0, -1])
def test_an_agent_is_given_a_conversation_as_promised(name: str, number: int, tmp_path: Path) -> None:
    check_writer(
        cast(Target, agents.writer(name)), samples(name)[number].path, tmp_path, env=CHOSEN.get(name)
    )


# The suite itself


ENTRY = b'{"id": "e1", "kind": "reply", "origin": "assistant", "text": "Yes."}\n'
A_REPLY = Entry(id="e1", kind=EntryKind.REPLY, origin=Origin.ASSISTANT, text="Yes.", native={})


def changed(**fields: object) -> Entry:
    return msgspec.structs.replace(A_REPLY, **fields)


@pytest.mark.parametrize(
    ("entries", "says"),
    [
        ([A_REPLY, A_REPLY], "two entries have the id 'e1'"),
        ([changed(id="")], "has no id"),
        ([changed(parent="e1")], "'e1' is its own ancestor"),
        (
            [changed(id="e0", parent="e1"), changed(parent="e0")],
            "'e0' is its own ancestor: its parent is 'e1'",
        ),
        ([changed(origin=Origin.HUMAN)], "cannot be of origin human"),
        ([changed(text="\ud800")], "cannot be written as UTF-8"),
        ([changed(tool=["x"])], "should be text"),
        ([changed(at="2026-01-01T00:00:00Z")], "is no moment"),
        ([changed(native=None)], "does not keep its record"),
        ([changed(kind=EntryKind.LIMIT)], "does not say which"),
        ([changed(spend=Spend(key="", model="", tokens=Tokens()))], "without a key"),
        ([changed(spend=Spend(key="k", model="", tokens=Tokens(output=-1)))], "impossible tokens"),
        ([changed(spend=Spend(key="k", model="", tokens=Tokens(cache_write_long=1)))], "kept long"),
    ],
)
def test_each_promise_about_entries_can_be_broken(entries: list[Entry], says: str) -> None:
    with pytest.raises(AssertionError, match=says):
        check_entries(entries)


def test_a_result_that_hangs_elsewhere_than_on_its_call_is_noticed() -> None:
    call = changed(id="c", kind=EntryKind.CALL, tool="shell", call="1")
    result = changed(id="r", kind=EntryKind.RESULT, origin=Origin.TOOL, call="1", parent="c", native={"r": 1})
    check_links([A_REPLY, call, result])
    with pytest.raises(AssertionError, match="does not hang on its call"):
        check_links([A_REPLY, call, msgspec.structs.replace(result, parent="e1")])
    with pytest.raises(AssertionError, match="is of 'edit', its call of 'shell'"):
        check_links([A_REPLY, call, msgspec.structs.replace(result, tool="edit")])


class Notebook:
    """The example's reader, with one thing wrong with it."""

    def __init__(self, reader: Reader, fault: str) -> None:
        self.reader, self.fault = reader, fault
        self.AGENT = reader.AGENT
        if fault == "scans otherwise":
            self.scan = self.scan_without_title
        if fault == "misses a spend":
            self.spends = self.spends_but_one

    def scan_without_title(self, source: Source, mark: Mark | None, so_far: Transcript | None) -> Scan:
        found = index_scan.scan(self.read(source, mark), so_far)
        return msgspec.structs.replace(found, transcript=msgspec.structs.replace(found.transcript, title=""))

    def spends_but_one(self, source: Source, mark: Mark | None = None) -> reader.Spends:
        found = index_scan.scan(self.read(source, mark))
        return reader.Spends(source=source, spends=found.spends[1:], mark=found.mark, is_anew=found.is_anew)

    def find(self, env: Mapping[str, str], projects: Iterable[Path]) -> Iterator[Source]:
        return iter([Source(agent="notebook", path="/")] if self.fault == "finds" else [])

    def recognise(self, start: bytes) -> bool:
        return self.fault == "takes all" or self.reader.recognise(start)

    def read(self, source: Source, mark: Mark | None = None) -> Reading:
        if self.fault == "writes":
            Path(source.path).with_name("index").write_text("x")
        return Reading(source, mark, self.entries)

    def entries(self, found: Reading) -> Iterator[Entry]:
        if self.fault == "crashes" and b"\0" in Path(found.source.path).read_bytes():
            raise ValueError("NUL")
        if self.fault == "gives up" and b"\0" in Path(found.source.path).read_bytes():
            raise AgentError(agent="notebook", what="NUL")
        if self.fault == "trusts the mark":
            kept = found.mark
            kept = msgspec.structs.replace(kept, before=self.witness(found)) if kept.offset else kept
            found.mark = kept
        started = bool(found.mark.offset)
        for entry in self.reader.read(found.source, found.mark)._entries(found):
            if self.fault == "forgets" and started:
                entry = msgspec.structs.replace(entry, parent=None)
            if not (self.fault == "drops" and entry.kind is EntryKind.NOTE):
                yield entry

    def witness(self, found: Reading) -> str:
        with reader.open_file(found.source) as file:
            return reader.witness(file, found.mark.offset)


@pytest.fixture
def notebook(monkeypatch: pytest.MonkeyPatch) -> Iterator[Reader]:
    agents.names()  # what is installed is looked for once: not while this is among it
    monkeypatch.syspath_prepend(THIRD_PARTY)
    yield cast(Reader, importlib.import_module("segue_notebook"))


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        ("drops", "2 of 8 records gave no entry"),
        ("forgets", "parent None instead of"),
        ("writes", "has changed the folder"),
        ("takes all", "takes this for its own"),
        ("finds", "found something in an empty home"),
        ("trusts the mark", "was replaced"),
        ("scans otherwise", "own scan differs in transcript: title '' instead of 'Invoices are"),
        ("misses a spend", "own pass for spends: 1 spends are missing, such as 'notebook:a-1'"),
    ],
)
def test_a_reader_that_breaks_a_promise_is_noticed(
    notebook: Reader, tmp_path: Path, fault: str, says: str
) -> None:
    check_reader(notebook, THIRD_PARTY / "sample.jsonl", tmp_path)
    with pytest.raises(AssertionError, match=says):
        check_reader(Notebook(notebook, fault), THIRD_PARTY / "sample.jsonl", tmp_path)


def test_a_reader_that_crashes_on_bad_input_is_noticed(notebook: Reader, tmp_path: Path) -> None:
    reader = Notebook(notebook, "crashes")
    with pytest.raises(AssertionError, match=r"sample.jsonl, seed 3, mutation \d+ .*ValueError\('NUL'\)"):
        check_bad_input(reader, THIRD_PARTY / "sample.jsonl", tmp_path, seed=3, count=60)


def test_a_reader_that_gives_up_at_a_bad_line_is_noticed(notebook: Reader, tmp_path: Path) -> None:
    reader = Notebook(notebook, "gives up")
    with pytest.raises(AssertionError, match="bad lines end the reading"):
        check_bad_input(reader, THIRD_PARTY / "sample.jsonl", tmp_path, seed=3, count=60)


def test_a_mutation_comes_again_from_its_seed_and_each_kind_comes_up() -> None:
    content = (THIRD_PARTY / "sample.jsonl").read_bytes()
    made = list(mutations(content, 2, len(KINDS)))
    assert made == list(mutations(content, 2, len(KINDS)))
    assert {kind for kind, _ in made} == set(KINDS)
    assert sum(spoilt != content for _, spoilt in made) > len(KINDS) - 3


def test_cuts_lie_around_the_ends_of_lines_and_are_bounded() -> None:
    assert {0, 3, 4, 5, 8}.issubset(cuts(b"abc\ndef\n"))
    assert len(cuts(b"a\n" * 5000)) == 200


def test_a_document_grows_by_its_longest_list() -> None:
    assert list(earlier(b'{"a": [1], "m": {"l": [1, 2, 3, 4]}}')) == [
        b'{"a": [1], "m": {"l": []}}',
        b'{"a": [1], "m": {"l": [1]}}',
        b'{"a": [1], "m": {"l": [1, 2]}}',
        b'{"a": [1], "m": {"l": [1, 2, 3]}}',
    ]


class Handed:
    """The example as a receiver of work, with one thing wrong with it."""

    def __init__(self, agent: Any, fault: str) -> None:
        self.agent, self.fault = agent, fault
        self.tries = 0
        if fault == "says other words":
            self.spoken = lambda prompt: prompt.replace("# Handoff", "Handoff:")
        if fault == "never settles":
            self.spoken = lambda prompt: f"{prompt} {os.urandom(4).hex()}"

    def __getattr__(self, name: str) -> Any:
        return getattr(self.agent, name)

    def command(self, start: Start, env: Mapping[str, str]) -> Launch:
        left_out = {"forgets the model": "model", "forgets the transcript": "resume"}.get(self.fault)
        if left_out:
            start = msgspec.structs.replace(start, **{left_out: ""})
        if self.fault == "forgets the arguments":
            start = msgspec.structs.replace(start, arguments=())
        if self.fault == "writes":
            Path(env["HOME"], "notes").write_text("x")
        launch: Launch = self.agent.command(start, env)
        return self.spoilt(launch, start)

    def spoilt(self, launch: Launch, start: Start) -> Launch:
        argv, stdin = launch.argv, launch.stdin
        match self.fault:
            case "is another program":
                argv = ("/bin/sh", "-c", *argv)
            case "says it twice" if stdin:
                argv = (*argv, "--", stdin)
            case "says nothing" if stdin:
                stdin = None
            case "says it as an argument" if stdin:
                argv, stdin = (*argv, "--", stdin), None
            case "says it as an option" if "--" in argv:
                argv = tuple(text for text in argv if text != "--")
            case "takes the terminal" if start.mode is Mode.OPEN:
                stdin = "go on"
            case "speaks by itself" if not start.prompt:
                argv = (*argv, "")
            case "may all":
                argv = (argv[0], "--yolo", *argv[1:])
            case "is never the same":
                self.tries += 1
                argv = (*argv[:1], f"--try={self.tries}", *argv[1:])
        return Launch(argv=argv, stdin=stdin, env=launch.env)

    def new_id(self, seed: str) -> str:
        match self.fault:
            case "has an id for each try":
                self.tries += 1
                return str(self.agent.new_id(f"{seed} {self.tries}"))
            case "has one id":
                return str(self.agent.new_id(""))
            case "has ids that lead elsewhere":
                return f"../{self.agent.new_id(seed)}"
        return str(self.agent.new_id(seed))

    def write(
        self, talk: Conversation, id: str, project: Path, program: str, env: Mapping[str, str]
    ) -> Written:
        path = Path(env.get("HOME", "/"), ".notebook", f"{id}.jsonl") if self.fault != "trusts ids" else None
        match self.fault:
            case "drops a turn":
                talk = msgspec.structs.replace(talk, turns=talk.turns[:-1])
            case "writes anew" if path and len(id) == 36:
                path.unlink(missing_ok=True)
            case "trusts ids" if len(id) < 36:
                id = self.agent.new_id(id)
            case "is of another folder":
                project = Path("/elsewhere")
            case "crashes":
                Path(env["HOME"]).joinpath("x").write_text("")
        made: Written = self.agent.write(talk, id, project, program, env)
        if self.fault == "lets all read":
            made.path.chmod(0o644)
        if self.fault == "confuses who spoke":
            made.path.write_text(
                made.path.read_text().replace('"who":"agent","says"', '"who":"person","says"')
            )
        return made

    def discard(self, source: Source, program: str, env: Mapping[str, str]) -> Launch | None:
        if self.fault == "takes all away":
            Path(source.path).unlink(missing_ok=True)
            return None
        if self.fault == "takes nothing away":
            return None
        return cast("Launch | None", self.agent.discard(source, program, env))


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        ("says other words", "changes the line that a handoff is found by"),
        ("never settles", "`spoken` gives different texts"),
        ("is another program", "is not the program"),
        ("says it twice", "it is said 2 times"),
        ("says nothing", "it is said 0 times"),
        ("says it as an argument", "use standard input"),
        ("says it as an option", "put -- before it"),
        ("takes the terminal", "is the user's"),
        ("speaks by itself", "the user speaks first"),
        ("may all", "more permissions than the user gave: --yolo"),
        ("is never the same", "different command lines"),
        ("forgets the model", "the model is not passed on"),
        ("forgets the transcript", "the transcript to resume is not named"),
        ("forgets the arguments", "the user's arguments are not passed on unchanged"),
        ("writes", "`command` has changed files"),
    ],
)
def test_a_start_that_breaks_a_promise_is_noticed(
    notebook: Reader, tmp_path: Path, fault: str, says: str
) -> None:
    with pytest.raises(AssertionError, match=says):
        check_starter(Handed(notebook, fault), tmp_path)


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        ("has an id for each try", "a retry would write another transcript"),
        ("has one id", "two seeds give the id"),
        ("has ids that lead elsewhere", "cannot be passed on safely"),
        ("drops a turn", r"words?s were to be written"),
        ("writes anew", "loses what the agent added"),
        ("trusts ids", "is taken for an id"),
        ("is of another folder", "it is read as of the folder '/elsewhere'"),
        ("crashes", "an error that is not Segue's own comes out"),
        ("lets all read", "can be read by others: 644"),
        ("confuses who spoke", "it reads .'human', 'I look"),
        ("takes all away", "Segue did not make it"),
        ("takes nothing away", "removed once, it is still there"),
    ],
)
def test_a_transcript_that_breaks_a_promise_is_noticed(
    notebook: Reader, tmp_path: Path, fault: str, says: str
) -> None:
    with pytest.raises(AssertionError, match=says):
        check_writer(cast(Target, Handed(notebook, fault)), THIRD_PARTY / "sample.jsonl", tmp_path)


@pytest.mark.parametrize("name", [name for name in agents.NAMES if agents.load(name).pieces])
def test_a_piece_that_stays_where_it_was_put_is_noticed(name: str) -> None:
    pieces = agents.load(name).pieces
    for piece in pieces() if pieces else ():
        check_piece(piece, {"HOME": "/home/ada"})
        sticky = msgspec.structs.replace(piece, drop=lambda text, reach: text)
        with pytest.raises(AssertionError, match="a piece that was dropped is still there"):
            check_piece(sticky, {"HOME": "/home/ada"})


# Agents of other packages


def run_with_third_party(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(folder)}
    return subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=60)


CHECK = """
import sys
from pathlib import Path
from segue import agents
from segue.testing import check_bad_input, check_reader, check_starter, check_writer
assert agents.names()[-1] == "notebook", agents.names()
assert agents.get("notebook").title == "Notebook"
reader = agents.reader("notebook")
assert reader in agents.all_readers()
sample, scratch = map(Path, {paths!r})
check_reader(reader, sample, scratch)
check_bad_input(reader, sample, scratch, seed=1, count=100)
check_starter(agents.starter("notebook"), scratch / "start")
check_writer(agents.writer("notebook"), sample, scratch / "write")
print("kept")
"""


def test_an_agent_of_another_package_is_found_by_its_entry_point_and_keeps_the_promises(
    tmp_path: Path,
) -> None:
    code = CHECK.format(paths=(str(THIRD_PARTY / "sample.jsonl"), str(tmp_path)))
    done = run_with_third_party(code, THIRD_PARTY)
    assert (done.stdout, done.stderr) == ("kept\n", "")


NOTEBOOK = """#!{python}
import json, os, sys
from pathlib import Path
options = sys.argv[1:]
name = options[options.index("--continue") + 1] if "--continue" in options else "of-its-own"
path = Path(os.environ["HOME"], ".notebook", name + ".jsonl")
path.parent.mkdir(exist_ok=True)
about = [] if path.exists() else [dict(notebook=1, folder=os.getcwd())]
said = [dict(who="person", says=sys.stdin.read()), dict(who="agent", says="Taken over.")]
with path.open("a") as file:
    file.writelines(json.dumps(line) + "\\n" for line in [*about, *said])
"""


@pytest.mark.parametrize("way", ["native", "prompt"])
def test_an_agent_of_another_package_is_handed_work(tmp_path: Path, way: str) -> None:
    home, project, program = tmp_path / "home", tmp_path / "project", tmp_path / "bin" / "notebook"
    for folder in (home, project, program.parent):
        folder.mkdir()
    program.write_text(NOTEBOOK.format(python=sys.executable))
    program.chmod(0o755)
    before = world.Conversation(home, project, "11111111-2222-4333-8444-555555555555")
    before.prompt("Find out why totals are off. Never edit ledger.txt.")
    before.reply("I looked: a.py rounds twice. Next I will fix a.py.")
    env = {"HOME": str(home), "PATH": str(program.parent), "PYTHONPATH": str(THIRD_PARTY)}
    command = ["to", "notebook", "--way", way, "--headless", "--yes", "--json"]
    done = subprocess.run(
        [sys.executable, "-m", "segue", *command], cwd=project, env=env, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    handoff = json.loads(done.stdout)["handoff"]
    assert (handoff["state"], handoff["delivery"]["way"]) == ("completed", way)
    (path,) = (home / ".notebook").glob("*.jsonl")
    assert handoff["delivery"]["transcript"] == path.stem
    *earlier, brief, answer = [json.loads(line)["says"] for line in path.read_text().splitlines()[1:]]
    assert brief.startswith(f"# Handoff {handoff['id']}") and "Never edit ledger.txt." in brief
    assert len(earlier) == (2 if way == "native" else 0) and answer == "Taken over."


def test_an_agent_whose_package_is_broken_says_so_and_harms_no_other(tmp_path: Path) -> None:
    folder = tmp_path / "broken-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n")
    (folder / "entry_points.txt").write_text("[segue.agents]\nbroken = there_is_no_such_module\n")
    code = "from segue import agents; print(agents.names()[-1]); agents.get('broken')"
    done = run_with_third_party(code, tmp_path)
    assert done.stdout == "broken\n"
    assert "AgentError" in done.stderr and "cannot be loaded" in done.stderr


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)


def test_the_example_of_the_page_is_the_one_that_is_tested() -> None:
    module, test = blocks("python")
    assert module == (THIRD_PARTY / "segue_notebook.py").read_text()
    (sample,) = blocks("json")
    assert sample == (THIRD_PARTY / "sample.jsonl").read_text()
    (points,) = blocks("ini")
    shipped = (THIRD_PARTY / "segue_notebook-1.0.dist-info" / "entry_points.txt").read_text()
    assert points == shipped
    compile(test, str(PAGE), "exec")


def test_the_page_names_everything_that_an_agent_may_be_asked_for() -> None:
    asked = {name for part in Capabilities.__mro__ for name in getattr(part, "__annotations__", ())}
    page = PAGE.read_text()
    assert len(asked) > 10
    assert sorted(name for name in asked if not re.search(rf"`{name}[(`]", page)) == []


def test_the_test_of_the_page_passes(tmp_path: Path) -> None:
    module, test = blocks("python")
    (tmp_path / "segue_notebook.py").write_text(module)
    (tmp_path / "test_notebook.py").write_text(test)
    (tmp_path / "sample.jsonl").write_text(blocks("json")[0])
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_notebook.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0 and "4 passed" in done.stdout, done.stdout + done.stderr


def test_the_suite_can_be_used_without_a_test_framework(tmp_path: Path) -> None:
    code = "import sys, segue.testing; sys.exit('pytest' in sys.modules)"
    assert run_with_third_party(code, tmp_path).returncode == 0


@pytest.mark.parametrize("sample", SAMPLES, ids=str)
def test_a_sample_is_small_enough_to_be_looked_at(sample: Sample) -> None:
    assert sample.path.stat().st_size < 400_000
    assert read_all(
        agents.reader(sample.agent), source_of(agents.reader(sample.agent), sample.path, sample.part)
    )
