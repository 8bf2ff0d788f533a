"""Checks of a written transcript: what is written for an agent is read back unchanged.

Whether the program opens it can only be tested with the program. Everything else is checked here.
"""

from __future__ import annotations

import json
import shutil
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from segue.agents import Reader
from segue.agents.shared.launch import Launch, Writer, Written
from segue.agents.shared.transcripts.index_scan import scan
from segue.errors import SegueError
from segue.model import EntryKind, Origin, Source
from segue.model.conversation import Conversation, Speaker, ToolUse, Turn
from segue.testing.entries import check_entries, check_links, is_json_lines
from segue.testing.launch import PROGRAM, surroundings, tree_of
from segue.testing.sample import ensure, read_all, source_of

NO_IDS = ("", "x", "-x", "../../x", "a/b", "a\0b", "a\nb", "x" * 300)
AT = "2026-11-12T09:12:37.123456Z"
LATER = "2026-11-12T09:13:37.000000Z"

CONVERSATION = Conversation(
    title="The ferry – 渡船",
    branch="feature-x",
    turns=(
        Turn(speaker=Speaker.PERSON, text="Find out why ünïcode 🙂 fails, see @notes.md", at=AT),
        Turn(
            speaker=Speaker.AGENT,
            text="I look.\n\n```\ncode\n```",
            at=LATER,
            model="another-vendors-model",
            uses=(
                ToolUse(id="call_1", tool="exec_command", arguments={"cmd": ["ls", "-l"]}, result="1 failed\n"),
                ToolUse(id="call-2", tool="Edit", arguments={"old": "", "n": 3}, result="No such file", is_error=True),
            ),
        ),
        Turn(speaker=Speaker.AGENT, uses=(ToolUse(id="c3", tool="read", arguments={}, result="text"),)),
        Turn(speaker=Speaker.PERSON, text="/compact is what I typed"),
        Turn(speaker=Speaker.PERSON, text="<system-reminder> is a word of mine", at=AT),
        Turn(speaker=Speaker.AGENT, text="It rounds twice: in a.py and in b.py."),
    ),
)  # fmt: skip
"""A failed call, two calls at once, consecutive turns of one speaker, times that are missing or go back, and
text that an agent may take for its own."""
OTHER = Conversation(turns=(Turn(speaker=Speaker.PERSON, text="Something else."),))

Env = Mapping[str, str]
Said = list[tuple[Any, ...]]


class Target(Reader, Writer, Protocol):
    """An agent that can be read and accepts a conversation."""


def check_writer(target: Target, sample: Path, scratch: Path, *, env: Env | None = None) -> None:
    """Check that an agent that accepts a conversation keeps every promise. `sample` is a transcript that the
    agent wrote itself. `env` is added to a HOME in `scratch`, and must be enough to write a transcript."""
    around = surroundings(scratch, env)
    project = scratch / "a projéct's folder"
    project.mkdir(parents=True, exist_ok=True)
    id = check_ids(target)
    written = target.write(CONVERSATION, id, project, PROGRAM, around)
    check_written(target, written, id, project, around)
    check_again(target, written, project, around)
    check_refusals(target, project, scratch, env or {})
    check_discard(target, written, sample, scratch, around)
    ensure(not list(project.iterdir()), "something was written into the project")


def check_ids(target: Writer) -> str:
    """Check that an id depends on its seed alone, and can be part of a file name."""
    id, again, other = (target.new_id(seed) for seed in ("a seed", "a seed", "another seed"))
    ensure(id == again, f"the same seed gives {id!r} and {again!r}: a retry would write another transcript")
    ensure(id != other, f"two seeds give the id {id!r}")
    is_plain = id.isascii() and id.isprintable() and not set(id) & set("/\\ '\"$`") and id[:1] not in "-."
    ensure(bool(id) and is_plain, f"{id!r} cannot be passed on safely as an id")
    return id


def check_written(target: Target, written: Written, id: str, project: Path, env: Env) -> None:
    """Check that the transcript is where the agent finds it, is read back unchanged, and adds no usage."""
    ensure(written.id == id, f"{id!r} was asked for and {written.id!r} written")
    ensure(written.path.is_relative_to(env["HOME"]), f"{written.path} is not below the user's home")
    mode = stat.S_IMODE(written.path.stat().st_mode)
    ensure(not mode & 0o077, f"{written.path.name} can be read by others: {mode:o}")
    source = _source(target, written, project, env)
    whole = read_all(target, source)
    found = scan(target.read(source))
    ensure(found.transcript.id == id, f"it is read as {found.transcript.id!r}, and was written as {id!r}")
    told = found.transcript.project
    ensure(
        bool(told) and Path(str(told)).resolve() == project.resolve(),
        f"it is read as of the folder {told!r}, and was written for {str(project)!r}",
    )
    ensure(not found.spends, "it adds usage from elsewhere")
    check_entries(whole.entries)
    check_links(whole.entries)
    _compare(_said_in(whole.entries), said_by(CONVERSATION))


def check_again(target: Target, written: Written, project: Path, env: Env) -> None:
    """Check that a second write changes nothing, even if the agent has appended to the file, and replaces no
    other conversation."""
    content = written.path.read_bytes()
    again = target.write(CONVERSATION, written.id, project, PROGRAM, env)
    ensure(again == written and again.path.read_bytes() == content, "a second write gives another transcript")
    if written.admit or not is_json_lines(content):
        return  # the program imported it, or rewrites it as a whole, so nothing can be lost here
    grown = content + b'{"added": "by the agent"}\n'
    written.path.write_bytes(grown)
    target.write(CONVERSATION, written.id, project, PROGRAM, env)
    ensure(written.path.read_bytes() == grown, "a second write loses what the agent added")
    _ensure_refused(
        lambda: target.write(OTHER, written.id, project, PROGRAM, env),
        "another conversation under the same id is written",
    )
    ensure(written.path.read_bytes() == grown, "another conversation replaced the first")


def check_refusals(target: Target, project: Path, scratch: Path, env: Env) -> None:
    """Check that failures raise Segue's own errors, and leave nothing behind."""
    usual = surroundings(scratch, env)
    before = tree_of(scratch)
    for id in NO_IDS:
        _ensure_refused(
            lambda id=id: target.write(CONVERSATION, id, project, PROGRAM, usual), f"{id[:20]!r} is taken for an id"
        )  # fmt: skip
    ensure(tree_of(scratch) == before, "what was refused has left something behind")
    file = scratch / "no-folder"
    file.write_text("")
    id = target.new_id("a third seed")
    for home in ({}, {"HOME": str(file)}):
        _ensure_refused(
            lambda home=home: target.write(CONVERSATION, id, project, PROGRAM, {**env, **home}),
            f"a transcript is written without a place for it ({home or 'no HOME'})",
        )
    file.unlink()


def check_discard(target: Target, written: Written, sample: Path, scratch: Path, env: Env) -> None:
    """Check that only transcripts made by Segue are removed."""
    own = written.path.with_name(sample.name)
    shutil.copy2(sample, own)
    elsewhere = scratch / "elsewhere" / written.path.name
    elsewhere.parent.mkdir(exist_ok=True)
    shutil.copy2(written.path, elsewhere)
    for path in (own, elsewhere):
        try:
            launch = target.discard(source_of(target, path), PROGRAM, env)
        except SegueError:
            launch = None
        ensure(path.exists() and launch is None, f"{path.name} was removed, although Segue did not make it")
        path.unlink()
    part = written.id if written.admit else ""
    source = Source(agent=target.AGENT.name, path=str(written.path), part=part)
    for time in ("once", "twice"):
        launch = target.discard(source, PROGRAM, env)
        ensure(launch is None or launch.argv[0] == PROGRAM, f"{time}: another program would remove it")
        ensure(isinstance(launch, Launch) or not written.path.exists(), f"removed {time}, it is still there")


# What the checks share


def _source(target: Target, written: Written, project: Path, env: Env) -> Source:
    """The source: found by `find`, or the written file if the program must import it first."""
    if written.admit:
        ensure(written.admit[0] == PROGRAM, f"{written.admit[0]} would import it, but is not the program")
        return source_of(target, written.path)
    found = [one for one in target.find(env, [project]) if one.path == str(written.path)]
    ensure(len(found) == 1, f"`find` does not find {written.path.name}")
    return found[0]


def _ensure_refused(attempt: Any, otherwise: str) -> None:
    try:
        attempt()
    except SegueError:
        return
    except Exception as error:
        raise AssertionError(f"an error that is not Segue's own comes out: {error!r}") from error
    raise AssertionError(otherwise)


def said_by(conversation: Conversation) -> Said:
    """Texts, calls and results in order."""
    found: Said = []
    for turn in conversation.turns:
        origin = Origin.HUMAN if turn.speaker is Speaker.PERSON else Origin.ASSISTANT
        found += [(origin.value, turn.text.strip())] if turn.text.strip() else []
        found += [("call", use.id, use.tool, use.arguments) for use in turn.uses]
        found += [("result", use.id, use.result.strip(), use.is_error) for use in turn.uses]
    return found


def _said_in(entries: list[Any]) -> Said:
    """The same for a transcript. Results that directly follow each call are moved behind the calls of a turn."""
    found: Said = []
    results: Said = []
    for entry in entries:
        match entry.kind:
            case EntryKind.PROMPT | EntryKind.REPLY:
                found += [*results, (entry.origin.value, entry.text.strip())]
                results = []
            case EntryKind.CALL:
                found.append(("call", entry.call, entry.tool, json.loads(entry.text or "{}")))
            case EntryKind.RESULT:
                results.append(("result", entry.call, entry.text.strip(), entry.is_error))
    return [*found, *results]


def _compare(found: Said, wanted: Said) -> None:
    """Compare the order within each kind: consecutive turns without text may be merged."""
    for name in ("words", "call", "result"):
        own, due = ([one for one in said if _kind(one) == name] for said in (found, wanted))
        for mine, theirs in zip(own, due, strict=False):
            ensure(_is_same(mine, theirs), f"it reads {mine!r:.200}, and {theirs!r:.200} was to be written")
        ensure(len(own) == len(due), f"{len(due)} {name}s were to be written, and {len(own)} are read")


def _is_same(mine: tuple[Any, ...], theirs: tuple[Any, ...]) -> bool:
    """Some agents can mark a failed call only in the result's text, before it."""
    if mine == theirs or mine[0] != "result":
        return mine == theirs
    (_, call, text, is_error), (_, wanted, words, is_due) = mine, theirs
    return call == wanted and bool(is_error and is_due) and str(text).endswith(words)


def _kind(one: tuple[Any, ...]) -> str:
    return str(one[0]) if one[0] in ("call", "result") else "words"
