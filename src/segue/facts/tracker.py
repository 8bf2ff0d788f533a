"""Tracker of one transcript: its current facts, by kind and subject, updated entry by entry.

A later value replaces an earlier one. A tracker can be stored and resumed, so a long transcript is read only once.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

import msgspec
from msgspec import Struct

from segue.base.lazy_regex import lazy_pattern
from segue.base.text import begun
from segue.facts import background, constraints, decisions, file_states, questions, received_brief, relevance
from segue.facts.background import Running
from segue.facts.command_results import Failing
from segue.facts.mentions import references
from segue.facts.open_errors import Blame
from segue.facts.relevance import Heat, Spot
from segue.facts.todos import Todos
from segue.model import INTERRUPT, Entry, EntryKind, Fact, Origin
from segue.model.brief_format import STAND_INS
from segue.model.tool_action import ON_FILES, Act, Answer, Deed, Going, Verdict
from segue.shell import commands

LONGEST_WORDS = 20_000
"""Characters of a message in which mentions are searched."""
TOLD_ERRAND = 300
TOLD_ANSWER = 100
"""Characters of an answer in a decision: the whole message is a fact of its own."""
SHORTEST_QUOTE = 40
"""Minimum length of a sentence that counts as quoted from the agent when it is repeated."""
LAST_REPLIES = 3
LAST_DONE, TOLD_CALL = 4, 100
"""Number of calls reported after the agent's last words, and characters of each."""
MOST_ASIDE = 20
KEPT_TALK = 200
SHOWN_CODE = lazy_pattern(r"```[^`]*+(?:`{1,2}[^`]++)*+```")
DRAFT = lazy_pattern(
    r"\A(?s:.){0,600}?^(?:<analysis>|#{0,3} ?Analysis:?[ \t]*$)(?s:.){0,40000}?"
    r"^#{0,3} ?(?:Summary:?|<summary>)[ \t]*\n",
    re.MULTILINE,
)
"""Draft that some agents write before a summary."""
PATHS = ("file", "read")
DOING = (EntryKind.REPLY, EntryKind.CALL, EntryKind.RESULT)
STEPS = (EntryKind.PROMPT, *DOING)
NOT_BEGUN = "Nothing was done yet about the person's last message, and it is not answered."
REFUSED = "The person refused what the agent was about to do, and has not said how to go on."
MAY_BE_OVER = "something was committed since: it may be done, or a part of it"
BROKEN_OFF = "The person broke off the work on their last message, and has not said how to go on."
NOT_DONE = "The agent was at work on the person's last message; it has not said that it is done."
USES = {
    Deed.RUN: "run",
    Deed.WRITE: "edit",
    Deed.EDIT: "edit",
    Deed.DELETE: "edit",
    Deed.MOVE: "edit",
    Deed.READ: "read",
    Deed.SEARCH: "search",
}
OUTLIVING = (Deed.RUN, Deed.DELEGATE)


class Reads(Protocol):
    """Meaning of an agent's calls, which only its reader knows."""

    def acts(self, call: Entry, result: Entry | None) -> tuple[Act, ...]:
        """Actions of a call."""

    def is_done(self, call: Entry, result: Entry) -> bool:
        """Whether the call succeeded."""

    def answer(self, call: Entry, result: Entry) -> Answer | None:
        """The user's answer to the call."""

    def going(self, call: Entry, result: Entry) -> Going | None:
        """A background command that the call started or checked."""


class Tracker(Struct):
    facts: dict[str, dict[str, Fact]] = {}
    files: file_states.Files = msgspec.field(default_factory=file_states.Files)
    todos: Todos = msgspec.field(default_factory=Todos)
    heat: Heat = msgspec.field(default_factory=Heat)
    waiting: dict[str, Entry] = {}
    """Calls without a result."""
    aside: dict[str, Entry] = {}
    """Calls without a result when the user wrote: a message typed while they run does not undo them."""
    running: dict[str, Running] = {}
    """Background commands by their handle in later calls."""
    replies: list[Entry] = []
    """The agent's last messages since the user's."""
    talk: list[Entry] = []
    """The agent's messages before those, the newest ones."""
    before: Entry | None = None
    """The agent's last message before the user's, which usually answers it."""
    since: list[tuple[Act, bool]] = []
    """Actions since the last message of the agent or the user, and whether they succeeded."""
    last: EntryKind | None = None
    """The last event: a call, a result, a message of the agent, or a request of the user."""
    is_refused: bool = False
    """Whether the user refused the last event."""
    is_broken_off: bool = False
    """Whether the user interrupted the last event."""
    taken_back: str = ""
    """The message that the user interrupted before anything was done about it."""
    tests: dict[str, str] = {}
    """The last full name of each test, by its name without a folder."""
    failing: dict[str, Failing] = {}
    """The failing tests, each with the run that reported it."""
    blamed: dict[str, Blame] = {}
    """The open errors, each with the command that reported it."""
    calls: int = 0
    checks: set[str] = set()
    """Commands that test, build or lint."""
    failed: dict[str, list[str]] = {}
    """The commands that failed last, each with its parts."""
    stopped: list[str] = []
    """Commands that stopped at an unresolved conflict."""
    committed: int = 0
    """Number of the entry with the last commit here."""
    folder: str = ""
    branch: str = ""
    noted_branch: str = ""
    """The last branch in the agent's records."""
    n: int = 0

    def put(self, kind: str, subject: str, value: str, entry: Entry, note: str = "") -> None:
        """Set a fact, replacing the previous one for its subject."""
        known = self.facts.setdefault(kind, {})
        known.pop(subject, None)
        known[subject] = self._fact(kind, subject, value, entry, note)

    def add(self, entry: Entry, reads: Reads) -> None:
        self.n += 1
        self._add_place(entry)
        if entry.kind in STEPS and not entry.subagent:
            self.heat.tick()
        if entry.kind in DOING and not entry.subagent:
            self.last, self.is_refused, self.is_broken_off = entry.kind, False, False
        match entry.kind:
            case EntryKind.CALL:
                self.waiting[entry.call or entry.id] = _light(entry)
                self.calls += not entry.subagent
            case EntryKind.RESULT:
                id = entry.call or entry.parent or ""
                late = self.aside.pop(id, None)
                self._add_result(self.waiting.pop(id, None) or late, entry, reads, is_late=late is not None)
            case EntryKind.PROMPT if entry.origin is Origin.HUMAN:
                self._add_prompt(entry, reads)
            case EntryKind.PROMPT if entry.origin is Origin.ASSISTANT and not entry.subagent:
                decisions.add_plan(self, entry.text, entry, is_order=True)
            case EntryKind.REPLY if not entry.subagent and entry.text.strip():
                self._add_reply(entry, reads)
            case EntryKind.IMAGE:
                self.put("image", begun(entry.text, 300), "shown", entry)
            case EntryKind.SUMMARY | EntryKind.NOTE:
                self._add_note(entry, reads)

    def _add_place(self, entry: Entry) -> None:
        if entry.cwd and not self.folder:
            self.folder = entry.cwd
            self.put("folder", "", entry.cwd, entry)
        # Some agents keep recording the first branch: only a change is news.
        if entry.branch and entry.branch != self.noted_branch:
            self.branch = self.noted_branch = entry.branch
            self.put("branch", "", entry.branch, entry)

    # Messages

    def _add_prompt(self, entry: Entry, reads: Reads) -> None:
        text = entry.text.strip()
        if not text or constraints.OF_PROGRAM.match(text.lower()):
            return
        is_asked = any(
            act.deed is Deed.ASK for call in self.waiting.values() for act in reads.acts(call, None)
        )
        self.aside = dict(list((self.aside | self.waiting).items())[-MOST_ASIDE:])
        self.waiting.clear()
        if text in STAND_INS:
            self._end_turn()
            return
        if received_brief.id_in(text):
            self._add_handoff(text, entry)
            return
        self._replace_broken_off(text)
        # If a call asks, the message answers the call.
        asked = self._asked() if not is_asked else ""
        if asked and questions.is_answer(text, asked):
            told = questions.with_options(begun(text, TOLD_ANSWER), self.replies[-1].text)
            self.put("decision", asked.partition("\n")[0], told, entry)
        self._end_turn()
        self.facts.pop("findings", None)
        self.last = EntryKind.PROMPT if constraints.is_work(text) else self.last
        self.is_refused = self.is_broken_off = False
        self.put("instruction", entry.id, text, entry)
        for kind, sentence in itertools.islice(constraints.binding(text), constraints.MOST_BINDING):
            if kind != "correction" or not self._is_quoted(sentence):
                self.put(kind, sentence, sentence, entry)
        for todo, state in constraints.todos_in(constraints.own_words(text)):
            self.todos.note(todo, state, entry, self.n)
        self._mention(text, entry)
        self.heat.said(text)

    def _asked(self) -> str:
        """The agent's open question. An agent that continues with calls does not wait for an answer."""
        is_last = self.last is EntryKind.REPLY and self.replies
        return questions.question_in(self.replies[-1].text) if is_last else ""

    def _is_quoted(self, sentence: str) -> bool:
        """Whether the sentence is the agent's own: quoting the agent does not correct it."""
        words = _plain(sentence)
        return len(words) >= SHORTEST_QUOTE and any(words in _plain(one.text) for one in self.talk)

    def _end_turn(self) -> None:
        self.before = self.replies[-1] if self.replies else self.before
        self.talk += self.replies
        self.replies, self.since = [], []

    def _replace_broken_off(self, text: str) -> None:
        """Drop an interrupted message that the new one repeats in full, and answer the same question instead."""
        broken_off = self.facts.get("instruction", {}).get(self.taken_back)
        if broken_off and _plain(text).startswith(_plain(broken_off.value)):
            for kind in ("instruction", "constraint", "correction", "decision"):
                self._forget(kind, self.taken_back)
            if not self.replies and self.talk and self.talk[-1] == self.before:
                self.replies.append(self.talk.pop())
                self.last = EntryKind.REPLY
        self.taken_back = ""

    def _forget(self, kind: str, entry: str) -> None:
        known = self.facts.get(kind, {})
        for subject in [subject for subject, fact in known.items() if fact.entry == entry]:
            del known[subject]

    def _add_handoff(self, text: str, entry: Entry) -> None:
        """Read the brief that an agent received: the user's words in it still apply, unless the conversation
        contains them already."""
        self._end_turn()
        known = [_plain(fact.value) for fact in self.facts.get("instruction", {}).values()]
        for number, (kind, words) in enumerate(received_brief.words_in(text)):
            if any(_plain(words) in said for said in known):
                continue
            bound = list(itertools.islice(constraints.binding(words), constraints.MOST_BINDING))
            if kind == "instruction" or bound:
                self.put("instruction", f"{entry.id} {number}", words, entry)
            for kind_of_sentence, sentence in bound if kind == "constraint" else ():
                self.put(kind_of_sentence, sentence, sentence, entry)
            if kind == "constraint" and not bound:
                self.put(kind, words, words, entry)

    def _add_reply(self, entry: Entry, reads: Reads) -> None:
        self.replies.append(_light(entry))
        self.since = []
        if len(self.replies) > LAST_REPLIES:
            self.talk.append(self.replies.pop(0))
        if len(self.talk) > 2 * KEPT_TALK:
            self.talk = self.talk[-KEPT_TALK:]
        for todo, state in constraints.todos_in(entry.text):
            self.todos.note(todo, state, entry, self.n)
        self.heat.used(entry.text, "reply")
        for act in reads.acts(entry, None):
            self._warm(self.heat, act)

    def _add_note(self, entry: Entry, reads: Reads) -> None:
        if entry.kind is EntryKind.SUMMARY:
            if entry.text.strip():  # some agents compact into a format that only their vendor can read
                self.put("summary", "", DRAFT.sub("", entry.text, count=1), entry)
            return
        if entry.tool == INTERRUPT and not entry.subagent:
            self.is_broken_off = True
            if self.last is EntryKind.PROMPT:
                self.taken_back = next(reversed(self.facts.get("instruction", {})), "")
        for act in reads.acts(entry, None):
            self._do(act, entry)
        if self.running:
            background.notice(self, reads.going(entry, entry), entry)

    def _mention(self, text: str, entry: Entry) -> None:
        for found in references(begun(text, LONGEST_WORDS)):
            if entry.origin is Origin.HUMAN or found.kind != "version":
                self.put(found.kind, found.text, "mentioned", entry)

    # Actions

    def _add_result(self, call: Entry | None, result: Entry, reads: Reads, *, is_late: bool = False) -> None:
        if call is None:
            # Some agents record actions without a call.
            for act in reads.acts(result, None):
                self._warm(self.heat, act)
                self._do(act, result)
            return
        answer = reads.answer(call, result)
        if answer:
            decisions.decide(self, call, result, answer, reads.acts(call, result))
            if answer.verdict is Verdict.ANSWERED and not result.subagent:
                # The answer belongs to this call, not to the message before it.
                self._end_turn()
        is_refused = answer is not None and answer.verdict is Verdict.REFUSED
        is_done = reads.is_done(call, result)
        acts = reads.acts(call, result)
        lasting = reads.going(call, result)
        background.follow(self, lasting, result, is_done)
        for act in acts:
            if not result.subagent:
                self._warm(self.heat, act)
            if act.deed in OUTLIVING and lasting and not lasting.is_over:
                background.start(self, lasting.handle, act, _light(call), result)
            elif act.deed is Deed.RUN and not is_refused:
                background.end(self, act, call, result, is_done)
            elif act.deed is Deed.DELEGATE and is_done:
                self.report(act, lasting.report if lasting else result.text, result)
            elif is_done:
                self._do(act, result)
        if acts and not result.subagent:
            is_news = not (answer or is_late or (lasting and not lasting.is_over))
            self._add_done(acts if is_news else (), is_done)
            self.heat.saw(result.text, _how_shown(acts[0]) if is_done else "failed")

    def _add_done(self, acts: Sequence[Act], is_done: bool) -> None:
        """Record the last actions, for the next step."""
        # Without the contents of files, which would be stored with the tracker.
        done = [
            (Act(deed=act.deed, subject=begun(act.subject, decisions.LONGEST_SUBJECT)), is_done)
            for act in acts
            if act.subject
        ]
        self.since = [*self.since, *done][-LAST_DONE:]

    def _warm(self, heat: Heat, act: Act) -> None:
        """Count a call as relevant, whether it succeeded or not."""
        how = USES.get(act.deed, "other")
        todos = "\n".join(todo.text for todo in act.todos)
        text = f"{act.subject}\n{act.to}\n{todos}"
        if act.deed in ON_FILES:
            heat.opens(file_states.relative(act.subject, self.folder))
        if act.deed not in (Deed.WRITE, Deed.EDIT):
            heat.used(text, how)
            return
        changes = "\n".join(f"{change.old}\n{change.new}" for change in act.changes)
        context = ({*change.old.split("\n")} & {*change.new.split("\n")} for change in act.changes)
        beside = set[str]().union(*context)
        home = file_states.relative(act.subject, self.folder)
        heat.used(f"{text}\n{changes or act.content or ''}", how, home, beside)

    def _since(self) -> str:
        return "; ".join(self._told(act, is_done) for act, is_done in self.since)

    def _told(self, act: Act, is_done: bool) -> str:
        """A short description of a call, with its result."""
        called = begun(" ".join(decisions.title_of(act, self.folder).split()), TOLD_CALL)
        if act.deed is Deed.RUN:
            called = f"`{called}`"
        elif act.deed not in ON_FILES:
            called = f"{act.deed} {called}"
        return called if is_done else f"{called} (failed)"

    def _do(self, act: Act, result: Entry) -> None:
        deed = act.deed
        if deed is Deed.READ:
            self.put("read", file_states.relative(act.subject, self.folder), "read", result)
        elif deed in ON_FILES:
            if not result.subagent:
                decisions.allow(self, act)
            self.files.add(act, file_states.relative(act.subject, self.folder), result, self.n, self.folder)
        elif deed is Deed.FETCH and "://" in act.subject:
            self.put("url", act.subject, "fetched", result)
        elif deed is Deed.PLAN:
            self.todos.plan(act, result, self.n)
        elif deed is Deed.PROPOSE:
            for todo, state in constraints.todos_in(act.subject):
                self.todos.note(todo, state, result, self.n)
        elif deed is Deed.COMMIT:
            sha, _, message = act.subject.partition(" ")
            self.put("commit", sha, message or "seen", result)
        elif deed is Deed.DELEGATE:
            self.report(act, "", result)

    def report(self, act: Act, text: str, result: Entry) -> None:
        """Record a finished delegation. Its report counts until the user writes: by then the agent has used it.
        Data for programs is not a report."""
        if result.subagent:
            return  # sub-agents report to their parent
        errand = begun(act.subject, TOLD_ERRAND)
        self.put("delegation", errand, "done", result)
        if text.strip() and not _is_data(text):
            self.put("findings", errand, text.strip(), result)

    # Current facts

    def all(self, reads: Reads) -> tuple[Fact, ...]:
        """All facts; those of one kind are in order."""
        found = [fact for known in self.facts.values() for fact in known.values()]
        changed = self.files.facts()
        found = [
            self._with_age(fact, changed) for fact in found if not self._is_idle(fact, changed)
        ] + changed
        spots = self._spots(reads)
        found = [
            msgspec.structs.replace(fact, weight=relevance.heat_of(fact.subject, self.folder, spots))
            if fact.kind in PATHS
            else fact
            for fact in found
        ]
        found += self.files.contents(self.folder, spots)
        found += self.todos.facts()
        told = {fact.subject for fact in found if fact.kind in PATHS}
        for name, spot in spots.items():
            spot.home = "" if self.files.lacks(spot.home, name) else spot.home
        found += relevance.facts(spots, self.n, told, self.folder)
        found += self._open(reads)
        return tuple(sorted(found, key=lambda fact: (fact.n, fact.kind)))

    def _is_idle(self, fact: Fact, changed: Sequence[Fact]) -> bool:
        """Whether the fact is another worktree or repository where nothing was changed."""
        if fact.kind != "worktree":
            return False
        place = file_states.relative(fact.subject, self.folder).rstrip("/") + "/"
        return not any(file.subject.startswith(place) for file in changed)

    def _with_age(self, fact: Fact, changed: Sequence[Fact]) -> Fact:
        """Note how many files changed after a check passed, and whether a plan may be finished."""
        if fact.kind == "plan" and fact.n < self.committed:
            return msgspec.structs.replace(fact, note=MAY_BE_OVER)
        if fact.kind != "command" or fact.value != "passed" or fact.subject not in self.checks:
            return fact
        later = sum(file.n > fact.n and not file.subject.startswith(("/", "../")) for file in changed)
        since = f"{later} {'file' if later == 1 else 'files'} changed since" if later else ""
        return msgspec.structs.replace(fact, note="; ".join(filter(None, (fact.note, since))))

    def _spots(self, reads: Reads) -> dict[str, Spot]:
        """Relevance scores, including calls without a result."""
        heat = msgspec.structs.replace(self.heat, uses=[*self.heat.uses], opened={**self.heat.opened})
        for call in self.waiting.values():
            for act in reads.acts(call, None) if not call.subagent else ():
                self._warm(heat, act)
        return heat.now(has_changed=bool(self.files.known or self.committed))

    def _open(self, reads: Reads) -> list[Fact]:
        """Facts that are open: questions, pending calls, and the agent's last messages."""
        found = [
            self._fact("delegation", begun(one.act.subject, TOLD_ERRAND), "pending", one.call)
            if one.act.deed is Deed.DELEGATE
            else self._fact("pending", one.act.subject, "still running", one.call)
            for one in background.still(self)
        ]
        by = self.replies[-1] if self.replies else None
        asked = self._asked()
        found += self._next(by)
        for call in self.waiting.values():
            for act in reads.acts(call, None):
                if act.deed in (Deed.ASK, Deed.PROPOSE):
                    asked, by = act.subject, call
                elif act.deed is Deed.RUN:
                    found.append(self._fact("pending", act.subject, "has no result", call))
                elif act.deed is Deed.DELEGATE:
                    found.append(self._fact("delegation", begun(act.subject, TOLD_ERRAND), "pending", call))
                elif act.subject:
                    found.append(
                        self._fact("pending", f"{act.deed} {begun(act.subject, 300)}", "has no result", call)
                    )
        if asked and by:
            found.append(self._fact("question", "", asked, by))
        is_before = self.before is not None and self.before not in self.replies
        if self.before and is_before:
            # Code in it may have changed since.
            words = SHOWN_CODE.sub("[…]", self.before.text)
            found.append(self._fact("reply", self.before.id, words, self.before))
        found += [self._fact("reply", entry.id, entry.text, entry) for entry in self.replies]
        earlier = [entry for entry in self.talk[-KEPT_TALK:] if not is_before or entry != self.before]
        found += [self._fact("talk", entry.id, entry.text, entry) for entry in earlier]
        return found

    def _next(self, by: Entry | None) -> Iterator[Fact]:
        """The next step: what the agent last announced (earlier announcements are done or given up), otherwise the
        state of the user's last request."""
        is_asked = self.last is EntryKind.PROMPT
        is_stopped = self.is_refused or self.is_broken_off
        intent = constraints.intent_in(by.text) if by and not is_asked and not is_stopped else ""
        asked = next(reversed(self.facts.get("instruction", {}).values()), None)
        if by and intent:
            yield self._fact("next step", "", intent, by, self._since())
        elif asked and self.last and self.last is not EntryKind.REPLY:
            stands = NOT_BEGUN if is_asked else BROKEN_OFF if self.is_broken_off else NOT_DONE
            stands = REFUSED if self.is_refused else stands
            yield msgspec.structs.replace(
                asked,
                kind="next step",
                subject="",
                value=stands,
                note="" if self.is_refused else self._since(),
                origin=Origin.SYSTEM,
                n=self.n,
            )

    def _fact(self, kind: str, subject: str, value: str, entry: Entry, note: str = "") -> Fact:
        origin = entry.origin
        return Fact(
            kind=kind, subject=subject, value=value, entry=entry.id, origin=origin, n=self.n, note=note
        )


def _how_shown(act: Act) -> str:
    """How a call showed its result. Looking through a shell is almost reading."""
    is_look = act.deed is Deed.RUN and commands.purpose(act.subject) == "look"
    return "look" if is_look else USES.get(act.deed, "other")


def _is_data(text: str) -> bool:
    """Whether the text is JSON, which only programs read."""
    if not text.lstrip().startswith(("{", "[")):
        return False
    try:
        msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return False
    return True


def _plain(text: str) -> str:
    return " ".join(text.split())


def _light(entry: Entry) -> Entry:
    """The entry without its native record."""
    return msgspec.structs.replace(entry, native=None, spend=None, limits=())


def derive(entries: Iterable[Entry], reads: Reads) -> tuple[Fact, ...]:
    """Facts of a transcript, the latest last."""
    tracker = Tracker()
    for entry in entries:
        tracker.add(entry, reads)
    return tracker.all(reads)
