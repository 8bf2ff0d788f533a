"""Waiting handoffs: a note of each for the hooks of its target agent.

A hook that runs when a conversation begins opens no database. So each waiting handoff has a note with the finished
text, in a folder of its own. Like `guard`, this is loaded while an agent waits.
"""

# pathlib takes as long to load as all the rest
# ruff: noqa: PTH116

from __future__ import annotations

import os

from segue.base import fast_json
from segue.hooks import guard
from segue.hooks.guard import Plain

TYPE_CHECKING = False
if TYPE_CHECKING:  # not from typing, which is slow to load
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from segue.base.clock import Moment

FOLDER = "waiting"
VARIABLE = "SEGUE_VENDORS_ALLOWED"
GIVEN = ".given"
"""Suffix of the file with the conversations that have received a note."""
LARGEST = 1 << 16
MOST_BYTES = 9_900
"""Every agent accepts at least 10,000 bytes of a hook's answer."""


class Waiting(Plain):
    """A handoff that waits in a worktree, from one agent to another."""

    FIELDS = ("handoff", "root", "source", "target", "expires", "text", "withheld", "settings")
    __slots__ = FIELDS

    def __init__(
        self,
        *,
        handoff: str,
        root: str,
        source: str,
        target: str,
        expires: Moment,
        text: str,
        withheld: str,
        settings: str,
    ) -> None:
        self.handoff = handoff
        self.root = root
        self.source = source
        self.target = target
        self.expires = expires
        self.text = text
        self.withheld = withheld
        self.settings = settings

    def is_for(self, agent: str, folder: str, now: Moment) -> bool:
        """Whether a conversation of an agent in a folder gets the handoff: never one of its source."""
        is_theirs = agent == self.target and agent != self.source
        return is_theirs and now < self.expires and guard.is_within(folder, self.root)

    def text_under(self, env: Mapping[str, str]) -> str:
        """What may be told now: the text was put together under settings that may have changed since."""
        files = [line.partition(" ")[2] for line in self.settings.split("\n")[1:]]
        return self.text if self.settings == state_of(files, env) else self.withheld


def state_of(settings_files: Iterable[str], env: Mapping[str, str]) -> str:
    """What tells whether settings changed: the variable that overrides them, and each file as it is, even if there is
    none."""
    return "\n".join([repr(env.get(VARIABLE)), *(f"{_stamp(path)} {path}" for path in settings_files)])


def _stamp(path: str) -> str:
    try:
        found = os.stat(path)
    except OSError:
        return "-"
    return f"{found.st_ino}.{found.st_size}.{found.st_mtime_ns}.{found.st_ctime_ns}"


def answer(data: str, agent: str, given: bytes, env: Mapping[str, str]) -> str:
    """Answer of a hook when a conversation begins; empty if no handoff waits for this agent here."""
    now = guard.now()
    record = guard.asked(given)
    folder, session = record.get("cwd"), record.get("session_id")
    if not isinstance(folder, str) or not isinstance(session, str):
        raise ValueError("the hook input has no cwd or session_id")
    for path in guard.note_files(f"{data}/{FOLDER}"):
        note = _read(path)
        if note is None:
            guard.note_failure(data, ValueError(f"{path} is unreadable, so it is given to nobody"), now)
        elif note.expires <= now:
            _forget(path)
        elif note.is_for(agent, folder, now):
            form = guard.read_manner(data, agent)["tell"]
            text = note.text_under(env)
            if not fits(form, text):
                guard.note_failure(data, ValueError(f"{path} is too long, so it is given to nobody"), now)
            elif _is_new(path, f"{agent} {session}"):
                return fast_json.write(guard.filled(form, text))
    return ""


def _is_new(path: str, whom: str) -> bool:
    """Whether a conversation has not received the note yet; records that it has now."""
    marks = path.removesuffix(".json") + GIVEN
    whom = " ".join(whom.split())[:200]
    try:
        known = guard.read(marks, LARGEST).decode(errors="replace").split("\n")
    except OSError:
        known = []
    except ValueError:  # too many to read: delivering twice is better than never
        guard.forget(marks)
        known = []
    if whom in known:
        return False
    guard.append(marks, whom)
    return True


def put(data: Path, note: Waiting) -> None:
    from segue.base import files  # lazy: see the module's docstring

    files.write_file(data / FOLDER / f"{note.handoff}.json", fast_json.write(note.fields()).encode())


def drop(data: str | Path, handoff: str) -> None:
    _forget(f"{data}/{FOLDER}/{handoff}.json")


def notes(data: str | Path) -> list[Waiting]:
    return [note for path in guard.note_files(f"{data}/{FOLDER}") if (note := _read(path))]


def given_to(data: str | Path, handoff: str) -> list[str]:
    """Conversations that received the handoff: agent and id."""
    try:
        content = guard.read(f"{data}/{FOLDER}/{handoff}{GIVEN}", LARGEST)
    except (OSError, ValueError):
        return []
    return content.decode(errors="replace").split("\n")[:-1]


def fits(form: object, text: str) -> bool:
    """Whether an answer with this text is short enough for every agent."""
    return len(fast_json.write(guard.filled(form, text))) <= MOST_BYTES


def _forget(path: str) -> None:
    guard.forget(path)
    guard.forget(path.removesuffix(".json") + GIVEN)


def _read(path: str) -> Waiting | None:
    """Read a note; None if it is missing or unreadable. Its file has the handoff's name, because any other name
    could lead anywhere."""
    note = guard.read_note(path, Waiting)
    return note if note and path.endswith(f"/{note.handoff}.json") else None
