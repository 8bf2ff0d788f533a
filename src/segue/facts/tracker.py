"""The facts of one transcript as its entries arrive: what holds now, under the subject it holds for.

A later value takes the place of an earlier one. A tracker can be kept and gone on with, so that a long
transcript is gone through once and every further entry costs only itself.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Protocol

import msgspec
from msgspec import Struct

from segue.acts import Act, Answer, Deed, Going, Verdict
from segue.facts import files, handed, heat, runs, speech
from segue.facts.heat import Heat
from segue.facts.mentions import mentions
from segue.facts.todos import Todos
from segue.model import Entry, EntryKind, Fact, Origin
from segue.text import begun

LONGEST_SUBJECT = 1000
LONGEST_WORDS = 20_000
"""How much of one message is looked through for what it mentions."""
MOST_BINDING = 40
"""How many sentences of one message can bind: one with more of them is pasted from somewhere."""
LAST_REPLIES = 3
KEPT_TALK = 200
PATHS = ("file", "read")
STEPS = (EntryKind.PROMPT, EntryKind.REPLY, EntryKind.CALL, EntryKind.RESULT)
USES = {
    Deed.RUN: "run",
    Deed.WRITE: "edit",
    Deed.EDIT: "edit",
    Deed.DELETE: "edit",
    Deed.MOVE: "edit",
    Deed.READ: "read",
    Deed.SEARCH: "search",
}
CARRIED = {"url", "commit", "port", "version", "id"}


class Reads(Protocol):
    """What an agent's calls mean, which only its reader knows."""

    def acts(self, call: Entry, result: Entry | None) -> tuple[Act, ...]:
        """What it did."""

    def is_done(self, call: Entry, result: Entry) -> bool:
        """Whether it came to be."""

    def answer(self, call: Entry, result: Entry) -> Answer | None:
        """What the person said to it."""

    def going(self, call: Entry, result: Entry) -> Going | None:
        """A command that goes on after the call, or that the call looked at again."""


class Tracker(Struct):
    """Everything that is known so far."""

    facts: dict[str, dict[str, Fact]] = {}
    files: files.Files = msgspec.field(default_factory=files.Files)
    todos: Todos = msgspec.field(default_factory=Todos)
    heat: Heat = msgspec.field(default_factory=Heat)
    waiting: dict[str, Entry] = {}
    """Calls without a result."""
    running: dict[str, tuple[Act, Entry]] = {}
    """Commands that go on, by what later calls name them by."""
    replies: list[Entry] = []
    """The last few words of the agent since the person's last."""
    talk: list[Entry] = []
    """What the agent said before, the latest of it."""
    tests: dict[str, str] = {}
    """The name that a test was last told by, for its name without a folder."""
    failing: dict[str, str] = {}
    """The tests that fail, each with the command that ran it."""
    blamed: dict[str, dict[str, str]] = {}
    """For each program its open errors, each with the command that reported it."""
    folder: str = ""
    branch: str = ""
    n: int = 0

    def put(self, kind: str, subject: str, value: str, entry: Entry, note: str = "") -> None:
        """A fact, in the place of the one that held for its subject."""
        known = self.facts.setdefault(kind, {})
        known.pop(subject, None)
        known[subject] = Fact(
            kind=kind, subject=subject, value=value, entry=entry.id, origin=entry.origin, n=self.n, note=note
        )

    def add(self, entry: Entry, reads: Reads) -> None:
        """Learn from one more entry."""
        self.n += 1
        if entry.cwd and not self.folder:
            self.folder = entry.cwd
            self.put("folder", "", entry.cwd, entry)
        if entry.branch and entry.branch != self.branch:
            self.branch = entry.branch
            self.put("branch", "", entry.branch, entry)
        if entry.kind in STEPS:
            self.heat.tick()
        match entry.kind:
            case EntryKind.CALL:
                self.waiting[entry.call or entry.id] = _light(entry)
            case EntryKind.RESULT:
                self._add_result(self.waiting.pop(entry.call or entry.parent or "", None), entry, reads)
            case EntryKind.PROMPT if entry.origin is Origin.HUMAN:
                self._add_prompt(entry)
            case EntryKind.PROMPT if entry.origin is Origin.ASSISTANT and not entry.subagent:
                self._add_plan(entry.text, entry)
            case EntryKind.REPLY if not entry.subagent and entry.text.strip():
                self._add_reply(entry, reads)
            case EntryKind.IMAGE:
                self.put("image", begun(entry.text, 300), "shown", entry)
            case EntryKind.SUMMARY:
                self.put("summary", "", entry.text, entry)

    # What was said

    def _add_prompt(self, entry: Entry) -> None:
        text = entry.text.strip()
        if not text:
            return
        # What has no result by now will have none: the person went on.
        self.waiting.clear()
        if handed.id_in(text):
            self._add_handoff(text, entry)
            return
        asked = speech.question_in(self.replies[-1].text) if self.replies else ""
        if asked and speech.is_answer(text):
            self.put(
                "decision",
                asked,
                begun(text, speech.LONGEST_SENTENCE),
                entry,
            )
        self.talk += self.replies
        self.replies = []
        self.put("instruction", entry.id, text, entry)
        for kind, sentence in itertools.islice(speech.binding(text), MOST_BINDING):
            self.put(kind, sentence, sentence, entry)
        for todo, state in speech.todos_in(text):
            self.todos.note(todo, state, entry, self.n)
        self._mention(text, entry)
        self.heat.used(text, "prompt")

    def _add_handoff(self, text: str, entry: Entry) -> None:
        """What an agent was told when it took over: the person's words in it hold on, unless they are known already
        from the conversation itself."""
        self.talk += self.replies
        self.replies = []
        known = [_plain(fact.value) for fact in self.facts.get("instruction", {}).values()]
        for number, (kind, words) in enumerate(handed.words_in(text)):
            if any(_plain(words) in said for said in known):
                continue
            bound = list(itertools.islice(speech.binding(words), MOST_BINDING))
            if kind == "instruction" or bound:
                self.put("instruction", f"{entry.id} {number}", words, entry)
            for kind_of_sentence, sentence in bound if kind == "constraint" else ():
                self.put(kind_of_sentence, sentence, sentence, entry)
            if kind == "constraint" and not bound:
                self.put(kind, words, words, entry)

    def _add_reply(self, entry: Entry, reads: Reads) -> None:
        self.replies.append(_light(entry))
        if len(self.replies) > LAST_REPLIES:
            self.talk.append(self.replies.pop(0))
        if len(self.talk) > 2 * KEPT_TALK:
            self.talk = self.talk[-KEPT_TALK:]
        for todo, state in speech.todos_in(entry.text):
            self.todos.note(todo, state, entry, self.n)
        self.heat.used(entry.text, "reply")
        for act in reads.acts(entry, None):
            self._warm(act)

    def _add_plan(self, text: str, entry: Entry) -> None:
        """What the agent is to do as another agent put it, or as it put it itself and the person agreed: its rules
        are told apart, as they are lost first when it is shortened."""
        self.put("plan", "", text.strip(), entry)
        self.facts.pop("rule", None)
        for kind, sentence in speech.binding(text):
            if kind == "constraint" and speech.is_firm(sentence):
                self.put("rule", sentence, sentence, entry)
        for todo, state in speech.todos_in(text):
            self.todos.note(todo, state, entry, self.n)

    def _mention(self, text: str, entry: Entry) -> None:
        for found in mentions(text[:LONGEST_WORDS]):
            if found.kind in CARRIED and (entry.origin is Origin.HUMAN or found.kind != "version"):
                self.put(found.kind, found.text, "mentioned", entry)

    # What was done

    def _add_result(self, call: Entry | None, result: Entry, reads: Reads) -> None:
        if call is None:
            # Some agents tell what they did without a call of its own.
            for act in reads.acts(result, None):
                self._warm(act)
                self._do(act, result)
            return
        if answer := reads.answer(call, result):
            self._decide(call, result, answer, reads)
        is_done = reads.is_done(call, result)
        acts = reads.acts(call, result)
        going = reads.going(call, result)
        if going and going.is_over and going.handle in self.running:
            started, by = self.running.pop(going.handle)
            runs.add(self, started, by, result, is_done)
        for act in acts:
            self._warm(act)
            if act.deed is Deed.RUN and going and not going.is_over:
                self.running[going.handle] = (act, _light(call))
            elif act.deed is Deed.RUN:
                runs.add(self, act, call, result, is_done)
            elif is_done:
                self._do(act, result)
        if acts and result.text:
            how = "failed" if not is_done else USES.get(acts[0].deed, "other")
            self.heat.saw(result.text, how)

    def _warm(self, act: Act) -> None:
        """What a call names is what the work is about, whether it came to be or not."""
        how = USES.get(act.deed, "other")
        todos = "\n".join(todo.text for todo in act.todos)
        self.heat.used(f"{act.subject}\n{act.to}\n{todos}", how)
        if act.deed in (Deed.WRITE, Deed.EDIT):
            text = "\n".join(f"{change.old}\n{change.new}" for change in act.changes) or act.content or ""
            self.heat.used(text, how, files.relative(act.subject, self.folder))

    def _decide(self, call: Entry, result: Entry, answer: Answer, reads: Reads) -> None:
        acts = reads.acts(call, result)
        said = answer.text.split("\n")
        if answer.verdict is Verdict.ANSWERED and len(said) == len(acts):
            for act, words in zip(acts, said, strict=True):
                self.put("decision", begun(act.subject.strip(), LONGEST_SUBJECT), words, result)
            return
        for act in acts[:1]:
            subject = begun(act.subject.strip() or call.tool or "a call", LONGEST_SUBJECT)
            self.put("decision", subject, answer.verdict.value, result, note=answer.text)
            if answer.verdict is Verdict.ANSWERED and answer.text:
                self.put("decision", subject, answer.text, result)
            if answer.verdict is Verdict.APPROVED and act.deed is Deed.PROPOSE and act.subject:
                self._add_plan(act.subject, call)

    def _do(self, act: Act, result: Entry) -> None:
        deed = act.deed
        if deed in (Deed.WRITE, Deed.EDIT, Deed.DELETE, Deed.MOVE):
            self.files.add(act, files.relative(act.subject, self.folder), result, self.n, self.folder)
        elif deed is Deed.READ:
            self.put("read", files.relative(act.subject, self.folder), "read", result)
        elif deed is Deed.FETCH and "://" in act.subject:
            self.put("url", act.subject, "fetched", result)
        elif deed is Deed.PLAN:
            self.todos.plan(act, result, self.n)
        elif deed is Deed.PROPOSE:
            for todo, state in speech.todos_in(act.subject):
                self.todos.note(todo, state, result, self.n)
        elif deed is Deed.DELEGATE:
            self.put("delegation", begun(act.subject, 300), "done", result)

    # What holds now

    def all(self, reads: Reads) -> tuple[Fact, ...]:
        """Every fact, those of one kind in the order in which they came about."""
        found = [fact for known in self.facts.values() for fact in known.values()]
        found += self.files.facts()
        spots = self.heat.now()
        found = [
            msgspec.structs.replace(fact, weight=heat.heat_of(fact.subject, self.folder, spots))
            if fact.kind in PATHS
            else fact
            for fact in found
        ]
        found += self.files.contents(self.folder, spots)
        found += self.todos.facts()
        told = {fact.subject for fact in found if fact.kind in PATHS}
        found += heat.facts(spots, self.n, told, self.folder)
        found += self._open(reads)
        return tuple(sorted(found, key=lambda fact: (fact.n, fact.kind)))

    def _open(self, reads: Reads) -> list[Fact]:
        """What still waits: a question, a call without a result, and the agent's last words."""
        found = [
            self._fact("pending", act.subject, "still running", call) for act, call in self.running.values()
        ]
        by = self.replies[-1] if self.replies else None
        asked = speech.question_in(by.text) if by else ""
        # What it meant to do before it spoke last is done, or given up.
        if by and (intent := speech.intent_in(by.text)):
            found.append(self._fact("next step", "", intent, by))
        for call in self.waiting.values():
            for act in reads.acts(call, None):
                if act.deed in (Deed.ASK, Deed.PROPOSE):
                    asked, by = act.subject, call
                elif act.deed is Deed.RUN:
                    found.append(self._fact("pending", act.subject, "has no result", call))
                elif act.deed is Deed.DELEGATE:
                    found.append(self._fact("delegation", begun(act.subject, 300), "pending", call))
                elif act.subject:
                    found.append(
                        self._fact("pending", f"{act.deed} {begun(act.subject, 300)}", "has no result", call)
                    )
        if asked and by:
            found.append(self._fact("question", "", asked, by))
        found += [self._fact("reply", entry.id, entry.text, entry) for entry in self.replies]
        found += [self._fact("talk", entry.id, entry.text, entry) for entry in self.talk[-KEPT_TALK:]]
        return found

    def _fact(self, kind: str, subject: str, value: str, entry: Entry) -> Fact:
        return Fact(kind=kind, subject=subject, value=value, entry=entry.id, origin=entry.origin, n=self.n)


def _plain(text: str) -> str:
    return " ".join(text.split())


def _light(entry: Entry) -> Entry:
    """An entry without the record that it came from."""
    return msgspec.structs.replace(entry, native=None, spend=None, limits=())


def derive(entries: Iterable[Entry], reads: Reads) -> tuple[Fact, ...]:
    """The facts of a transcript, the latest last."""
    tracker = Tracker()
    for entry in entries:
        tracker.add(entry, reads)
    return tracker.all(reads)
