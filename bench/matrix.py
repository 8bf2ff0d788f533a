"""Every source to every target with the real programs: what reached the target's model, as a table.

    ./dev bench matrix [--data FOLDER] [--only long|short] [--each 2] [--from AGENT] [--to AGENT]

First the cells of tests/programs/matrix.py: work that was done a moment ago, natively and by prompt. Then long sessions
that real people's agents wrote (FOLDER holds their archive; ../shared/data where it is there): of each agent those with
compactions, with sub-agents and of more than 2 MB before others, put into a private home as that agent's own, and handed to
the three other programs natively. The request log tells of each: whether every constraint that is pinned is there, whether the
newest messages of the person are, and whether anything from before the last compaction is there more often than it was said.
A cell that fails is shown as failed, with what was said, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from bench._tree import ARCHIVE, scratch, unpacked
from segue import agents
from segue.agents.shared.tool_calls import classify
from segue.briefs import select
from segue.model import Entry, EntryKind, Origin
from segue.model.tool_action import Deed
from segue.ops.briefs import make
from segue.testing.sample import source_of
from tests.programs import install, matrix
from tests.programs.household import KINDS, Household, Ran, saying

LARGE = 2_000_000
START = 4096
NEWEST = 3
"""How many of the person's last messages are looked for."""
TELLING = 80
"""A text of fewer characters may well be said twice."""
COMPARED = 150
APART = "\n"
FOLDER_OF = re.compile(rb'"(?:cwd|directory)"\s*:\s*("(?:[^"\\]|\\.)+")')
HANDOFF = "# Handoff h-"


@dataclass(frozen=True)
class Session:
    """A transcript that someone's agent wrote, with what is to be expected of its handoff."""

    agent: str
    id: str
    path: Path
    size: int
    summaries: int
    subagents: int
    newest: tuple[str, ...]
    """How the person's last messages begin."""
    before: dict[str, int]
    """What was said before the last compaction, and how often it may be told: as often as it was said before, or, where
    that is more, since; a summary may quote it."""

    @property
    def rank(self) -> tuple[int, int]:
        """Those with the most that can go wrong first."""
        return -sum((self.summaries > 0, self.subagents > 0, self.size > LARGE)), -self.size


@dataclass(frozen=True)
class Long:
    """What the handoff of a long session showed."""

    session: Session
    target: str
    turns: int
    tokens: int
    seconds: float
    constraints: tuple[int, int]
    """Of those that are pinned, how many reached the model, and how many there are."""
    newest: tuple[int, int]
    twice: int
    state: str
    said: str

    @property
    def is_good(self) -> bool:
        is_whole = self.constraints[0] == self.constraints[1] and self.newest[0] == self.newest[1]
        return self.state == "completed" and is_whole and not self.twice


# Choosing


def sessions_in(folder: Path, name: str) -> Iterator[Session]:
    reader = agents.reader(name)
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            with path.open("rb") as file:
                is_its = reader.recognise(file.read(START))
            if is_its and (found := looked_at(name, path)):
                yield found


def looked_at(name: str, path: Path) -> Session | None:
    """What a transcript holds; None where the person says nothing in it."""
    reader = agents.reader(name)
    reading = reader.read(source_of(reader, path))
    entries = list(reading)
    cut = _cut(entries)
    said = [_plain(entry.text) for entry in entries[cut:] if _is_persons(entry)]
    if not any(said):
        return None
    spoken = (EntryKind.PROMPT, EntryKind.REPLY, EntryKind.SUMMARY)
    told = [_plain(entry.text) for entry in entries[:cut] if entry.kind in spoken]
    before = APART.join(told)
    since = APART.join(_plain(entry.text) for entry in entries[cut:] if entry.kind in spoken)
    return Session(
        agent=name,
        id=str(reading.learned.get("id", path.name)),
        path=path,
        size=path.stat().st_size,
        summaries=sum(entry.kind is EntryKind.SUMMARY for entry in entries),
        subagents=sum(_delegates(entry, name) for entry in entries),
        newest=tuple(text[:COMPARED] for text in said if text)[-NEWEST:],
        before={
            line: max(before.count(line), since.count(line))
            for line in (text[:COMPARED] for text in told if len(text) >= TELLING)
        },
    )


def _cut(entries: list[Entry]) -> int:
    """Where begins what stands after the last compaction. What the person said last before it was not answered yet."""
    cut = max((n for n, entry in enumerate(entries) if entry.kind is EntryKind.SUMMARY), default=0)
    while cut and not _is_agents(entries[cut - 1]):
        cut -= 1
    return cut


def _is_agents(entry: Entry) -> bool:
    return entry.kind in (EntryKind.REPLY, EntryKind.THOUGHT, EntryKind.CALL, EntryKind.RESULT)


def _is_persons(entry: Entry) -> bool:
    return (
        entry.kind is EntryKind.PROMPT
        and entry.origin is Origin.HUMAN
        and not entry.text.startswith(("/", "!", "<"))
    )


def _delegates(entry: Entry, name: str) -> bool:
    return entry.kind is EntryKind.CALL and any(
        act.deed is Deed.DELEGATE for act in classify.acts_of(entry, name)
    )


def _plain(text: str) -> str:
    """Text as it can be found again: breaks and marks may differ from one vendor's format to the next."""
    return " ".join(text.replace("·", "").split())


# Putting it where its agent keeps it


def placed(household: Household, session: Session, project: Path) -> None:
    """A transcript as its agent's own, written in a project of this home."""
    content = session.path.read_bytes()
    for folder in sorted(set(FOLDER_OF.findall(content)), key=len, reverse=True):
        content = content.replace(folder, json.dumps(str(project)).encode())
    home = household.home
    if session.agent == "claude":
        encoded = re.sub(r"[^A-Za-z0-9]", "-", str(project))
        _put(home / ".claude" / "projects" / encoded / f"{_first(content, 'sessionId')}.jsonl", content)
    elif session.agent == "codex":
        began = _first(content, "timestamp")
        name = f"rollout-{began[:19].replace(':', '-')}-{_first(content, 'id')}.jsonl"
        _put(home.joinpath(".codex", "sessions", *began[:10].split("-"), name), content)
    elif session.agent == "gemini":
        kept = home / ".gemini" / "tmp" / project.name
        _put(kept / ".project_root", str(project).encode())
        _put(kept / "chats" / f"session-{session.path.stem}{session.path.suffix}", content)
    else:
        file = project.parent / f"{project.name}.json"
        _put(file, content)
        program = household.programs[session.agent]
        process = household.sandbox.start(
            [str(program.executable), "import", str(file)], cwd=project, environment=household.environment
        )
        if process.wait():
            raise SystemExit(f"bench: {session.path.name} could not be imported\n{process.stderr}")


def _put(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def _first(content: bytes, name: str) -> str:
    found = re.search(rb'"%s"\s*:\s*"([^"]+)"' % name.encode(), content)
    return found[1].decode() if found else name


# Handing over


def pinned_in(path: Path) -> tuple[str, ...]:
    """What the person insists on, as a brief has it."""
    receipt = make.pack_file(path).receipt
    return tuple(_plain(line.fact.value) for line in receipt.lines if select.is_pinned(line.fact))


def handed(
    household: Household, session: Session, target: str, project: Path, pinned: tuple[str, ...]
) -> Long:
    began = time.perf_counter()
    ran = household.segue(
        *("to", target, "--headless", "--yes", "--way", "native", "--json"),
        cwd=project,
        script=saying("Taken over."),
    )
    seconds = time.perf_counter() - began
    text = _plain(ran.requests[0].text) if ran.requests else ""
    above = text.partition(HANDOFF)[0]
    handoff = ran.data["handoff"] if ran.exit_code == 0 else {}
    delivery = handoff.get("delivery", {})
    household.segue("undo", cwd=project)
    return Long(
        session=session,
        target=target,
        turns=delivery.get("turns", 0),
        tokens=delivery.get("tokens", 0),
        seconds=seconds,
        constraints=(sum(line in text for line in pinned), len(pinned)),
        newest=(sum(line in above for line in session.newest), len(session.newest)),
        twice=sum(above.count(line) > times for line, times in session.before.items()),
        state=handoff.get("state", "")
        if delivery.get("way") == "native"
        else f"by {delivery.get('way', 'nothing')}",
        said="" if ran.exit_code == 0 else _error(ran),
    )


def _error(ran: Ran) -> str:
    last = ran.stderr.strip().rpartition("\n")[2]
    try:
        return str(json.loads(last)["error"])
    except (ValueError, KeyError, TypeError):
        return last[:300]


def long_cells(household: Household, sessions: Iterable[Session], targets: Iterable[str]) -> Iterator[Long]:
    for number, session in enumerate(sessions):
        project = household.project(f"long-{session.agent}-{number}")
        placed(household, session, project)
        pinned = pinned_in(session.path)
        for target in targets:
            if target != session.agent:
                yield handed(household, session, target, project, pinned)


COLUMNS = (
    "from",
    "to",
    "MB",
    "compacted",
    "sub-agents",
    "turns",
    "tokens",
    "constraints",
    "newest",
    "twice",
    "s",
    "state",
)
WIDTHS = (8, 8, 4, 9, 10, 5, 7, 11, 6, 5, 5, 10)


def row(cell: Long) -> str:
    session = cell.session
    values = (
        *(session.agent, cell.target, f"{session.size / 1e6:.1f}", session.summaries, session.subagents),
        *(
            cell.turns,
            f"{cell.tokens:,}",
            "{} of {}".format(*cell.constraints),
            "{} of {}".format(*cell.newest),
        ),
        *(cell.twice, f"{cell.seconds:.1f}", cell.state),
    )
    verdict = "ok" if cell.is_good else f"FAILED {cell.said}".rstrip()
    return f"{_line(values)}  {verdict}  {session.path.name}"


def _line(values: Iterable[object]) -> str:
    return "  ".join(str(value).ljust(width) for value, width in zip(values, WIDTHS, strict=True))


# The command


def short_cells(household: Household, sources: list[str], targets: list[str]) -> Iterator[matrix.Cell]:
    for source in sources:
        project = matrix.begun(household, source)
        for target in targets:
            ways = (
                ("native", "prompt")
                if source != target
                else ("resume",)
                if source in matrix.OTHER_MODEL
                else ()
            )
            for way in ways:
                yield matrix.hand_over(household, source, target, way, project)
                household.segue("undo", cwd=project)


def show_short(household: Household, sources: list[str], targets: list[str]) -> bool:
    cells = list(short_cells(household, sources, targets))
    print(matrix.table(cells))
    for cell in cells:
        if not cell.is_good:
            print(f"\n{cell.source} to {cell.target} by {cell.way}: {cell.ran.report[-2000:]}")
    return all(cell.is_good for cell in cells)


def show_long(household: Household, folder: Path, sources: list[str], targets: list[str], each: int) -> bool:
    print(_line(COLUMNS))
    is_good = True
    for name in sources:
        distinct: dict[str, Session] = {}
        for session in sorted(sessions_in(folder, name), key=lambda session: session.rank):
            distinct.setdefault(session.id, session)  # of a conversation that was kept twice, a home has one
        for cell in long_cells(household, list(distinct.values())[:each], targets):
            print(row(cell), flush=True)
            is_good = is_good and cell.is_good
    return is_good


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--data", type=Path, default=ARCHIVE.parent, help="where the archive of transcripts is"
    )
    parser.add_argument("--unpacked", type=Path, help="the archive's content, if it is unpacked already")
    parser.add_argument("--only", choices=("short", "long"))
    parser.add_argument("--each", type=int, default=2, help="how many long sessions of each agent")
    parser.add_argument("--from", dest="sources", action="append", choices=list(KINDS))
    parser.add_argument("--to", dest="targets", action="append", choices=list(KINDS))
    given = parser.parse_args()
    if not install.is_installed():
        raise SystemExit("bench: the agent programs are not installed: run ./dev setup")
    sources, targets = given.sources or list(KINDS), given.targets or list(KINDS)
    is_good = True
    with scratch("matrix") as folder, Household(Path(folder)) as household:
        if given.only != "long":
            is_good = show_short(household, sources, targets)
        if given.only != "short" and (given.unpacked or (given.data / ARCHIVE.name).exists()):
            Path(folder, "data").mkdir()
            data = given.unpacked or unpacked(Path(folder, "data"))
            is_good = show_long(household, data, sources, targets, given.each) and is_good
    return int(not is_good)


if __name__ == "__main__":
    sys.exit(main())
