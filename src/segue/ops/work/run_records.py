"""Records of supervised runs: one folder each, with the run's state, a readable log, and a lock that the supervisor
holds. Runs belong to one machine, so they are files outside of the store."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec

from segue.base import clock, files, paths
from segue.base.text import printable
from segue.errors import BadInput, NotFound, Refused
from segue.ops.common.desk import Desk
from segue.ops.work import discovery
from segue.routing import UNFINISHED, Run, RunState

FOLDER = "supervised"
FILE = "run.json"
LOG = "log.txt"
LOCK = ".lock"
STOP = "stop"
LARGEST = 16 << 20
TRIES = 5
MOMENT_SECONDS = 0.05
ID = re.compile(r"r-[0-9a-z]{1,32}")


def folder(desk: Desk, id: str) -> Path:
    return desk.places.data / FOLDER / id


def save(desk: Desk, run: Run, *, is_lasting: bool = True) -> Run:
    from segue.store import os_errors  # lazy: as the desk does

    run = msgspec.structs.replace(run, updated_at=desk.clock())
    path = folder(desk, run.id) / FILE
    with os_errors.translated(path):
        files.write_file(path, msgspec.json.encode(run), is_lasting=is_lasting)
    return run


def load(desk: Desk, id: str) -> Run:
    path = folder(desk, id) / FILE
    try:
        run = msgspec.json.decode(files.read_file(path, LARGEST), type=Run)
        _check(run, id)
        return run
    except FileNotFoundError:
        raise NotFound(noun="run", name=id, next="segue run status --all") from None
    except (OSError, ValueError) as error:
        raise Refused(
            what=f"The record of run {id} cannot be read: {error}.",
            next=f"check {path}; the agents' transcripts are not affected (segue transcripts lists them)",
        ) from error


def _check(run: Run, id: str) -> None:
    """Check that Segue wrote the record: files that it names are written to."""
    if run.id != id:
        raise ValueError(f"it belongs to run {printable(run.id)}")
    moments = [run.created_at, run.updated_at, run.until, run.taken_up_at]
    for leg in run.legs:
        moments += [leg.started_at, leg.ended_at]
    for moment in moments:
        if moment is not None:
            clock.parse(moment)


def _ids(desk: Desk) -> list[str]:
    return sorted(path.parent.name for path in (desk.places.data / FOLDER).glob(f"*/{FILE}"))


def unreadable(desk: Desk) -> list[str]:
    """The ids of runs whose records cannot be read."""
    found = []
    for id in _ids(desk):
        try:
            load(desk, id)
        except Refused:
            found.append(id)
        except NotFound:
            continue
    return found


def listed(desk: Desk, *, everywhere: bool = False) -> list[Run]:
    """This folder's runs, or all, the newest first. Runs with unreadable records are skipped."""
    runs = []
    for id in _ids(desk):
        with contextlib.suppress(Refused, NotFound):
            runs.append(load(desk, id))
    here = discovery.work_folder(paths.as_text(desk.project))
    own = [run for run in runs if everywhere or discovery.work_folder(run.project) == here]
    return sorted(own, key=lambda run: run.created_at, reverse=True)


def find(desk: Desk, id: str | None) -> Run:
    """The run with this id or unique prefix. Without an id, this folder's unfinished run, or else its last one."""
    if id is None:
        own = listed(desk)
        if not own:
            raise NotFound(
                noun="run in", name=paths.as_text(desk.project), next='segue run "TASK" --chain AGENT,AGENT'
            )
        under_way = [run for run in own if run.state in UNFINISHED]
        left = [run for run in own if run.state is not RunState.DONE]
        return (under_way or left or own)[0]
    if ID.fullmatch(id):
        if (folder(desk, id) / FILE).exists():
            return load(desk, id)
        matches = [run for run in listed(desk, everywhere=True) if run.id.startswith(id)]
        if len(matches) == 1:
            return matches[0]
        if matches:
            raise BadInput(what=f"More than one run starts with '{id}'.", next="segue run status --all")
    raise NotFound(noun="run", name=id, next="segue run status --all")


def unfinished_here(desk: Desk, project: str) -> Run | None:
    """A folder's unfinished run."""
    root = discovery.work_folder(project)
    for run in listed(desk, everywhere=True):
        if run.state in UNFINISHED and discovery.work_folder(run.project) == root:
            return run
    return None


# Locks


@contextlib.contextmanager
def attended(desk: Desk, run: Run) -> Iterator[None]:
    """Hold the supervisor's lock of a run; the system releases it if this process dies."""
    fd = _open_lock(desk, run.id)
    try:
        if not any(_is_taken(fd) for _ in range(TRIES)):
            raise Refused(
                what=f"Run {run.id} is already supervised by another process.",
                next=f"segue run attach {run.id} follows its output",
            )
        yield
    finally:
        os.close(fd)


def _is_taken(fd: int) -> bool:
    """Acquire a lock, or wait a moment: `is_supervised` holds it briefly while it checks."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        time.sleep(MOMENT_SECONDS)
        return False
    return True


@contextlib.contextmanager
def alone(desk: Desk) -> Iterator[None]:
    """Lock the list of runs: two that start at once would not see each other."""
    from segue.store import os_errors  # lazy: as above

    with contextlib.ExitStack() as held:
        with os_errors.translated(desk.places.data / FOLDER):
            held.enter_context(files.locked(desk.places.data / f"{FOLDER}.lock"))
        yield


def is_attended(desk: Desk, id: str) -> bool:
    """Whether a process supervises a run now."""
    try:
        fd = os.open(folder(desk, id) / LOCK, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(fd)
    return False


def _open_lock(desk: Desk, id: str) -> int:
    from segue.store import os_errors  # lazy: as above

    with os_errors.translated(folder(desk, id)):
        files.make_private_folder(folder(desk, id))
        return files.open_private(folder(desk, id) / LOCK, os.O_RDWR | os.O_CREAT)


# Stop requests and the log


def ask_to_stop(desk: Desk, id: str) -> None:
    files.write_file(folder(desk, id) / STOP, b"", is_lasting=False)


def is_asked_to_stop(desk: Desk, id: str) -> bool:
    return (folder(desk, id) / STOP).exists()


def forget_stop(desk: Desk, id: str) -> None:
    (folder(desk, id) / STOP).unlink(missing_ok=True)


def log(desk: Desk, id: str, text: str) -> None:
    """Append to the log. A full disk must not stop the work: the record has the same facts."""
    when = clock.parse(desk.clock()).astimezone().strftime("%Y-%m-%d %H:%M:%S")
    lines = [printable(line) for line in text.splitlines()] or [""]
    entry = "\n".join([f"{when}  {lines[0]}", *(f"{'':21}{line}" for line in lines[1:])]) + "\n"
    with contextlib.suppress(OSError):
        files.make_private_folder(folder(desk, id))
        fd = files.open_private(folder(desk, id) / LOG, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        try:
            files.write_all(fd, entry.encode(errors="replace"))
        finally:
            os.close(fd)


def log_of(desk: Desk, id: str) -> str:
    try:
        return files.read_file(folder(desk, id) / LOG, LARGEST).decode(errors="replace")
    except OSError:
        return ""
