"""Storage of OpenCode's records: a database, a folder of small files, or one exported document.

The database is opened read-only, left without traces, and read in one transaction, so that an active session
is seen as of one moment.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import quote

from segue.agents.shared.transcripts.reader import (
    Reading,
    decode,
    dict_of,
    document,
    list_of,
    open_file,
    text_of,
)
from segue.errors import AgentError
from segue.model import Source

BUSY_SECONDS = 1.0
MAGIC = b"SQLite format 3\0"
LOGGED = slice(18, 20)
"""The bytes that say whether a database uses a write-ahead log: two bytes, each 2 if so."""
LARGEST_FILE = 64 << 20
NS_PER_MS = 1_000_000
LATEST_MS = 1 << 43
"""Times beyond this, in the year 2248, count as missing."""

Record = dict[str, Any]
Messages = Iterator[tuple[Record, list[Record]]]

SESSIONS = """
select id, max(time_updated, ifnull(message_updated, 0), ifnull(part_updated, 0)), parts
from (
  select s.id, s.time_created, s.time_updated,
    (select m.time_updated from message m where m.session_id = s.id
      order by m.time_created desc, m.id desc limit 1) as message_updated,
    (select max(p.time_updated) from part p where p.message_id =
      (select m.id from message m where m.session_id = s.id
        order by m.time_created desc, m.id desc limit 1)) as part_updated,
    (select count(*) from part p where p.session_id = s.id) as parts
  from session s
)
order by time_created, id
"""
"""Each session with its last change. A session's own time only says when its last turn began or ended."""

MESSAGES = "select id, data from message where session_id = ? order by time_created, id"
PARTS = "select id, data from part where message_id = ? order by id"
IDS = """
select id from message where session_id = :session
union all select p.id from message m join part p on p.message_id = m.id where m.session_id = :session
"""
ORIGIN = """
select s.id from session s
where s.id != :session and s.time_created <= :created and :began =
  (select m.time_created from message m where m.session_id = s.id order by m.time_created, m.id limit 1)
order by s.title = :title desc, s.time_created desc limit 1
"""
"""The session that a fork came from: a fork keeps the times of the messages that it copies."""


class Kept(Protocol):
    """One session, in any storage."""

    session: Record

    def messages(self) -> Messages:
        """Each message with its parts, in order."""

    def ids(self) -> set[str]:
        """The ids of the session, its messages and their parts. Faster than reading them."""

    def origin(self, title: str) -> str:
        """The id of the session with this title that it was forked from; empty if unknown."""


# Finding


def in_databases(agent: str, folder: Path, named: str) -> Iterator[Source]:
    """A source for each session of each database. Raises the error of an unreadable database after the others."""
    unread = []
    paths = {path for path in _listed(folder) if path.name.startswith("opencode") and path.suffix == ".db"}
    if named and named != ":memory:":
        paths.add(folder / named)
    for path in sorted(paths):
        try:
            yield from list(_sessions(agent, path))
        except ValueError:
            continue  # not a file
        except (sqlite3.Error, OSError) as error:
            unread.append(f"{path} cannot be read: {error}")
    if unread:
        raise AgentError(agent=agent, what="; ".join(unread))


def _sessions(agent: str, path: Path) -> Iterator[Source]:
    _check(path)
    with contextlib.closing(_connect(path)) as database:
        for id, updated, parts in database.execute(SESSIONS):
            if isinstance(id, str) and id and _is_utf8(id):
                stamp = updated * NS_PER_MS if isinstance(updated, int) and 0 < updated < LATEST_MS else 0
                yield Source(agent=agent, path=str(path), part=id, size=parts, stamp=stamp)


def _check(path: Path) -> None:
    """Check the header before SQLite opens the file: SQLite would block on a pipe."""
    if not path.is_file() or not _is_utf8(str(path)):
        raise ValueError("not a regular file")


def in_files(agent: str, folder: Path, without: set[str]) -> Iterator[Source]:
    """A source for each session from before the database. Sessions that are in the database are skipped."""
    storage = folder / "storage"
    for project in _listed(storage / "session"):
        for path in _listed(project):
            if path.suffix != ".json" or path.stem in without or not _is_utf8(str(path)):
                continue
            with contextlib.suppress(OSError):
                found = path.stat()
                changed = max(found.st_mtime_ns, _last_change(storage, path.stem))
                yield Source(agent=agent, path=str(path), size=found.st_size, stamp=changed)


def _last_change(storage: Path, session: str) -> int:
    """The newest of its messages and of that message's parts, which every turn writes."""
    messages = _listed(storage / "message" / session)
    places = [storage / "message" / session, *messages[-1:]]
    if messages:
        parts = storage / "part" / messages[-1].stem
        places += [parts, *_listed(parts)[-1:]]
    return max((place.stat().st_mtime_ns for place in places if place.exists()), default=0)


def _listed(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except (OSError, ValueError):
        return []


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


# Reading


@contextlib.contextmanager
def opened(reading: Reading) -> Iterator[Kept]:
    source = reading.source
    with open_file(source) as file:
        is_database = file.read(len(MAGIC)) == MAGIC
    if source.part and not is_database:
        raise AgentError(agent=source.agent, what=f"{source.path} is no database")
    if is_database:
        try:
            with contextlib.closing(_connect(Path(source.path))) as database:
                database.execute("begin")
                yield Database(reading, database)
        except sqlite3.Error as error:
            what = f"{source.path} cannot be read: {error}"
            raise AgentError(agent=source.agent, what=what) from error
        return
    found = document(reading)
    if isinstance(found, dict) and "messages" not in found and "id" in found:
        yield Files(reading, found)
    else:
        yield Export(reading, dict_of(found))


def _connect(path: Path) -> sqlite3.Connection:
    """Open a database. One with a write-ahead log, but no log file next to it, is open nowhere: it is opened
    as immutable. Otherwise SQLite would leave a log file, even when only reading."""
    how = "mode=ro&immutable=1" if _is_at_rest(path) else "mode=ro"
    address = f"file:{quote(os.fsencode(path.absolute()))}?{how}"
    database = sqlite3.connect(address, uri=True, timeout=BUSY_SECONDS, isolation_level=None)
    database.text_factory = lambda content: content.decode("utf-8", "replace")
    return database


def _is_at_rest(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            is_logged = file.read(LOGGED.stop)[LOGGED] == b"\x02\x02"
    except OSError:
        return False
    return is_logged and not path.with_name(f"{path.name}-wal").exists()


class Database:
    """A session in the database."""

    def __init__(self, reading: Reading, database: sqlite3.Connection) -> None:
        self._reading, self._database = reading, database
        source = reading.source
        cursor = database.execute("select * from session where id = ?", [source.part])
        names = [column[0] for column in cursor.description]
        row = cursor.fetchone()
        if row is None:
            one = f"no session {source.part!r} any more" if source.part else "many sessions; name one of them"
            what = f"{source.path} holds {one}"
            raise AgentError(agent=source.agent, what=what)
        kept = {name: value for name, value in zip(names, row, strict=True) if not isinstance(value, bytes)}
        time = {"created": kept.get("time_created"), "updated": kept.get("time_updated")}
        self.session: Record = {**kept, "parentID": kept.get("parent_id"), "time": time}
        reading.lines += 1

    def messages(self) -> Messages:
        session = self._reading.source.part
        for id, data in self._database.execute(MESSAGES, [session]):
            message = self._record(data, id=id, sessionID=session)
            found = (
                self._record(content, id=part, messageID=id, sessionID=session)
                for part, content in self._database.execute(PARTS, [id])
            )
            parts = [part for part in found if part is not None]
            yield {"id": id} if message is None else message, parts

    def _record(self, data: Any, **ids: Any) -> Record | None:
        content = data.encode(errors="replace") if isinstance(data, str) else data
        record = decode(content) if isinstance(content, bytes) else None
        return _counted(self._reading, record if record is None else {**record, **ids})

    def ids(self) -> set[str]:
        session = self._reading.source.part
        return {session, *(id for (id,) in self._database.execute(IDS, {"session": session}))}

    def origin(self, title: str) -> str:
        asked = {"session": self._reading.source.part, "title": title}
        asked["created"] = self.session["time"]["created"]
        first = self._database.execute(
            "select min(time_created) from message where session_id = ?", [asked["session"]]
        ).fetchone()
        found = self._database.execute(ORIGIN, {**asked, "began": first[0]}).fetchone()
        return text_of(found[0]) if found else ""


class Files:
    """A session from before the database: a file, a folder of messages, and a folder of parts for each message."""

    def __init__(self, reading: Reading, session: Record) -> None:
        self._reading, self.session = reading, session
        path = Path(reading.source.path)
        self._storage = path.parent.parent.parent
        self._messages = _listed(self._storage / "message" / path.stem)

    def messages(self) -> Messages:
        """In the order of their names, which begin with the time."""
        for path in self._messages:
            message = self._record(path)
            found = map(self._record, _listed(self._storage / "part" / path.stem))
            parts = [part for part in found if part is not None]
            yield {"id": path.stem} if message is None else message, parts

    def _record(self, path: Path) -> Record | None:
        try:
            with open_file(Source(agent=self._reading.source.agent, path=str(path))) as file:
                record = decode(file.read(LARGEST_FILE))
        except AgentError:  # gone in the meantime, or not a regular file
            record = None
        return _counted(self._reading, record if record is None else {"id": path.stem, **record})

    def ids(self) -> set[str]:
        parts = (_listed(self._storage / "part" / path.stem) for path in self._messages)
        names = {path.stem for path in [*self._messages, *(part for found in parts for part in found)]}
        return {text_of(self.session.get("id")), *names}

    def origin(self, title: str) -> str:
        return ""


class Export:
    """A session written by `opencode export`."""

    def __init__(self, reading: Reading, content: Record) -> None:
        self._reading = reading
        told = {name: value for name, value in content.items() if name != "messages"}
        self.session = dict_of(content.get("info", told))
        self._messages = list_of(content.get("messages"))

    def messages(self) -> Messages:
        for found in self._messages:
            told = _counted(self._reading, found if isinstance(found, dict) else None)
            if told is None:
                continue
            parts = (_counted(self._reading, part) for part in list_of(told.get("parts")))
            info = told.get("info")
            yield info if isinstance(info, dict) else told, [part for part in parts if part is not None]

    def ids(self) -> set[str]:
        return {text_of(self.session.get("id")), *_ids(self._messages)}

    def origin(self, title: str) -> str:
        return ""


def _ids(messages: Iterable[Any]) -> Iterator[str]:
    for message in map(dict_of, messages):
        yield text_of(dict_of(message.get("info")).get("id"))
        yield from (text_of(dict_of(part).get("id")) for part in list_of(message.get("parts")))


def _counted(reading: Reading, record: Any) -> Record | None:
    """A record, counted as a line; anything else counts as broken."""
    reading.lines += 1
    if isinstance(record, dict):
        return record
    reading.broken += 1
    return None
