"""What a transcript shows that was done: commands with their ends, files with what was done to them, every output.

Facts (`facts`) tell what holds now. Here the order matters as well: what was said is held against what had been done
until then.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable

from msgspec import Struct

from segue.facts import file_states
from segue.facts.command_results import EFFECTS
from segue.facts.output import command_output
from segue.facts.tracker import Reads, Tracker
from segue.model import Entry, EntryKind
from segue.model.tool_action import Act, Change, Deed, End
from segue.shell import commands

LONGEST_OUTPUT = 200_000
"""Of one result, how much is kept to be compared with what is quoted."""
LONGEST_ALL = 20_000_000
CHANGES = (Deed.WRITE, Deed.EDIT, Deed.DELETE, Deed.MOVE)


class Run(Struct, frozen=True):
    """A command that came to an end."""

    n: int
    command: str
    purpose: str
    is_done: bool
    output: str
    tally: command_output.Tally | None = None
    begun: int = 0
    """Where it was called, before it came to its end."""
    folder: str = ""
    """In which it ran; empty where that is not known."""

    @property
    def is_test(self) -> bool:
        return self.purpose == "test" or self.tally is not None


class Touched(Struct, frozen=True):
    """Something that was done to a file."""

    n: int
    path: str
    is_deleted: bool = False
    changes: tuple[Change, ...] = ()
    """Of an edit: the texts that it replaced."""
    begun: int = 0
    """Where it was called."""


class Record(Struct, frozen=True):
    """What was done and seen in a part of a transcript."""

    folder: str = ""
    runs: tuple[Run, ...] = ()
    touched: tuple[Touched, ...] = ()
    outputs: tuple[str, ...] = ()
    """What calls gave back, with white space made even."""
    failing: tuple[tuple[str, int], ...] = ()
    """The tests that fail in the end, each with when it was last run."""
    has_delegated: bool = False
    """Whether a part of the work was done by a sub-agent, of which this transcript shows little."""
    has_calls: bool = False
    commits: tuple[tuple[str, int], ...] = ()
    """The commits that it tells of, each with when."""

    def before(self, entry: int) -> Record:
        """The commands and the changes that were called before an entry."""
        return Record(
            folder=self.folder,
            runs=tuple(run for run in self.runs if run.begun < entry),
            touched=tuple(one for one in self.touched if one.begun < entry),
        )

    def after(self, entry: int) -> Record:
        return Record(
            folder=self.folder,
            runs=tuple(run for run in self.runs if run.begun >= entry),
            touched=tuple(one for one in self.touched if one.begun >= entry),
        )

    def shows(self, text: str) -> bool:
        """Whether an output holds a text, however it is broken into lines."""
        wanted = even(text)
        return any(wanted in output for output in self.outputs)


def even(text: str) -> str:
    return " ".join(text.split())


def record_of(entries: Iterable[Entry], reads: Reads) -> Record:
    """The record of entries."""
    making = _Making()
    tracker = Tracker()
    for entry in entries:
        tracker.add(entry, reads)
        making.add(entry, reads)
    found = tracker.all(reads)
    return Record(
        folder=making.folder,
        runs=tuple(making.runs),
        touched=tuple(making.touched),
        outputs=tuple(making.outputs),
        failing=tuple(
            (fact.subject, fact.n) for fact in found if (fact.kind, fact.value) == ("test", "failing")
        ),
        has_delegated=making.has_delegated,
        has_calls=making.has_calls,
        commits=tuple(
            (fact.subject, fact.n) for fact in found if fact.kind == "commit" and fact.value != "mentioned"
        ),
    )


class _Making:
    def __init__(self) -> None:
        self.n = 0
        self.folder = ""
        self.runs: list[Run] = []
        self.touched: list[Touched] = []
        self.outputs: list[str] = []
        self.length = 0
        self.has_delegated = self.has_calls = False
        self.begun = 0
        self.waiting: dict[str, tuple[Entry, int]] = {}
        self.running: dict[str, tuple[Act, Entry, int]] = {}

    def add(self, entry: Entry, reads: Reads) -> None:
        self.n += 1
        self.folder = self.folder or entry.cwd or ""
        self.has_delegated = self.has_delegated or bool(entry.subagent)
        if entry.kind is EntryKind.CALL:
            self.has_calls = True
            self.waiting[entry.call or entry.id] = entry, self.n
        elif entry.kind is EntryKind.RESULT:
            if self.length < LONGEST_ALL:
                self.outputs.append(even(entry.text[:LONGEST_OUTPUT]))
                self.length += len(self.outputs[-1])
            call, self.begun = self.waiting.pop(entry.call or entry.parent or "", (None, self.n))
            self._add_result(call, entry, reads)

    def _add_result(self, call: Entry | None, result: Entry, reads: Reads) -> None:
        if call is None:
            for act in reads.acts(result, None):
                self._touch(act)
            return
        is_done = reads.is_done(call, result)
        going = reads.going(call, result)
        if going and going.is_over and going.handle in self.running:
            looked, (started, by, self.begun) = self.begun, self.running.pop(going.handle)
            if going.end is not End.STOPPED:
                self._run(started, by, result, going.end is End.PASSED if going.end else is_done)
            self.begun = looked
        for act in reads.acts(call, result):
            self.has_delegated = self.has_delegated or act.deed is Deed.DELEGATE
            if act.deed is Deed.RUN and going and not going.is_over:
                self.running[going.handle] = (act, call, self.begun)
            elif act.deed is Deed.RUN:
                self._run(act, call, result, is_done)
            elif is_done:
                self._touch(act)

    def _run(self, act: Act, call: Entry, result: Entry, is_done: bool) -> None:
        purpose, output = commands.purpose(act.subject), result.text[:LONGEST_OUTPUT]
        tally = command_output.tally_in(output) if purpose not in ("look", "install") else None
        is_done = is_done and not (tally and tally.failed)
        where = posixpath.join(call.cwd or self.folder, act.folder)
        self.runs.append(Run(self.n, act.subject, purpose, is_done, output, tally, self.begun, where))
        if is_done:
            for effect in commands.effects(act.subject):
                path, to = (posixpath.join(where, one) if one else "" for one in (effect.path, effect.to))
                self._touch(Act(deed=EFFECTS[effect.kind], subject=path, to=to))

    def _touch(self, act: Act) -> None:
        if act.deed not in CHANGES:
            return
        if path := file_states.relative(act.subject, self.folder):
            is_gone = act.deed in (Deed.DELETE, Deed.MOVE)
            self.touched.append(Touched(self.n, path, is_gone, act.changes, self.begun))
        if act.deed is Deed.MOVE and (path := file_states.relative(act.to, self.folder)):
            self.touched.append(Touched(self.n, path, begun=self.begun))
