"""`segue doctor`: checks of settings, stores and agents. Each finding names the command that fixes it."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import StrEnum
from pathlib import Path

from msgspec import Struct

from segue import agents, settings, store
from segue.agents.shared.settings.settings_patch import SCRIPT
from segue.base import files, paths
from segue.errors import LocalDamaged, SegueError, StoreDamaged, StoreForeign
from segue.hooks import guard, spool, waiting_handoffs
from segue.ops import log
from segue.ops.common import tree
from segue.ops.common.desk import INDEX_FILE, LOCAL_FILE, Desk, open_desk
from segue.ops.handoff import leases
from segue.ops.index import refresh
from segue.ops.index.refresh import Pass
from segue.ops.setup import hook_script, install
from segue.store.sqlite import SqliteDatabase

STALE_SECONDS = 3600
"""A temporary file older than this was left by a killed process."""

FEW = 3
"""How many findings of one kind are listed."""

OTHER_VARIABLES = {"SEGUE_HOME", "SEGUE_HANDOFF", "SEGUE_STEP", "SEGUE_COMPLETE"}


class Level(StrEnum):
    OK = "ok"
    NOTE = "note"
    PROBLEM = "problem"


class Finding(Struct, frozen=True):
    area: str
    level: Level
    text: str
    mend: str = ""


def examine(
    env: Mapping[str, str], cwd: Path, flags: Iterable[str] = (), *, mend: bool = False
) -> list[Finding]:
    """Check everything, each part even if another is broken. `apply_fixes` also applies the safe fixes."""
    found = paths.find(env)
    findings = [Finding("python", Level.OK, f"Python {sys.version.split()[0]} at {sys.executable}")]
    if mend:
        findings += _guarded("repair", lambda: _apply_fixes(found))
    desk: Desk | None = None
    try:
        desk = open_desk(env=env, cwd=cwd, flags=list(flags))
    except SegueError as error:
        findings.append(_problem("settings", error))
        findings.append(Finding("stores", Level.NOTE, "not checked: their location comes from the settings"))
    if desk:
        findings += _settings(desk)
    findings += _variables(env)
    findings += _guarded("folders", lambda: _folders(found))
    if desk:
        try:
            findings += _guarded("local store", lambda: _local(desk))
            findings += _guarded("index", lambda: _index(desk))
            findings += _guarded("status line", lambda: _status_line(desk))
            findings += _guarded("shared store", lambda: _shared(desk))
            findings += _guarded("worktrees", lambda: _worktrees(desk))
            findings += _guarded("hooks", lambda: _hooks(desk))
        finally:
            desk.close()
    return findings + list(_agents(env))


def _problem(area: str, error: SegueError) -> Finding:
    return Finding(area, Level.PROBLEM, str(error), error.next_step)


def _guarded(area: str, look: Callable[[], Iterator[Finding]]) -> Iterator[Finding]:
    try:
        yield from look()
    except SegueError as error:
        yield _problem(area, error)
    except OSError as error:
        what = f"{error.filename}: {error.strerror}"
        yield Finding(
            area, Level.PROBLEM, what, "make it readable for your user, or set SEGUE_HOME to another folder"
        )


def _settings(desk: Desk) -> Iterator[Finding]:
    files = {
        source.place.rpartition(":")[0] for source in desk.resolved.sources.values() if ":" in source.place
    }
    yield Finding("settings", Level.OK, "read from " + (", ".join(sorted(files)) or "the defaults"))
    if desk.project_file and desk.project_file.problem:
        yield Finding(
            "settings", Level.NOTE, "ignored: " + desk.project_file.problem, "fix or remove the file"
        )
    for assignment in desk.resolved.ignored:
        yield Finding(
            "settings",
            Level.NOTE,
            f"{assignment.key} in {assignment.source.place} is ignored: that file is not trusted",
            "review the file, then run segue trust",
        )


def _variables(env: Mapping[str, str]) -> Iterator[Finding]:
    known = OTHER_VARIABLES | set(settings.environment_names())
    for name in sorted(env):
        if name.startswith("SEGUE_") and name not in known and not name.startswith("SEGUE_LIMITS_MODELS_"):
            yield Finding(
                "settings", Level.NOTE, f"{name} is set, but there is no such setting", "segue config list"
            )


def _private_paths(found: paths.Places) -> list[Path]:
    shared = store.shared_file(found.data)
    inner = (shared.parent, shared, shared.parent / "blobs", store.backups_folder(found.data))
    spooled = found.data / spool.FOLDER
    kept = (found.data, found.data / LOCAL_FILE, found.data / INDEX_FILE, spooled, *inner)
    return [path for path in kept if path.exists()]


def _folders(found: paths.Places) -> Iterator[Finding]:
    for path in _private_paths(found):
        if not files.is_ours(path):
            yield _problem("folders", StoreForeign(place=path))
    exposed = [(path, what) for path in _private_paths(found) if (what := files.exposure(path))]
    for path, what in exposed:
        yield Finding(
            "folders", Level.PROBLEM, f"{path} is accessible to other users ({what})", "segue doctor --mend"
        )
    for path in _leftovers(found):
        yield Finding("folders", Level.NOTE, f"{path} was left by a killed process", "segue doctor --mend")
    if blocked := _unwritable(found.data):
        fix = "make it writable for your user, or set SEGUE_HOME to another folder"
        yield Finding("folders", Level.PROBLEM, f"{blocked} is not writable", fix)
    elif not exposed:
        what = "private" if found.data.exists() else "not created yet"
        yield Finding("folders", Level.OK, f"{found.data}: {what}")


def _unwritable(folder: Path) -> Path | None:
    """The folder, or its nearest existing parent, if that is not writable."""
    while not folder.exists():
        folder = folder.parent
    return None if os.access(folder, os.W_OK | os.X_OK) and folder.is_dir() else folder


def _leftovers(found: paths.Places) -> list[Path]:
    old = time.time() - STALE_SECONDS
    candidates = found.data.rglob(files.TEMPORARY + "*") if found.data.exists() else ()
    return sorted(path for path in candidates if path.lstat().st_mtime < old)


def _local(desk: Desk) -> Iterator[Finding]:
    if not (desk.places.data / LOCAL_FILE).exists():
        yield Finding("local store", Level.OK, "not created yet")
        return
    for what in desk.local.database.check():
        yield _problem("local store", LocalDamaged(place=desk.local.database.place, what=what))
    count = len(desk.local.trusted())
    yield Finding("local store", Level.OK, f"{desk.local.database.place}: {count} trusted settings files")


def _index(desk: Desk) -> Iterator[Finding]:
    if not desk.has_index:
        yield Finding("index", Level.OK, "not created yet (run segue transcripts)")
        return
    if desk.index.is_in_memory:
        what = f"{desk.places.data} is not writable, so every command reads all transcripts again"
        yield Finding(
            "index", Level.NOTE, what, "make it writable for your user, or set SEGUE_HOME to another folder"
        )
    refreshed = refresh.refresh(desk, [Pass.SPENDS, Pass.ENTRIES])
    for problem in refreshed.problems:
        yield Finding(
            "transcripts", Level.PROBLEM, problem, "nothing to do: the other transcripts are not affected"
        )
    known = desk.index.transcripts().values()
    broken = [
        (entry.path, transcript.broken)
        for entry in known
        if (transcript := entry.transcript) and transcript.broken
    ]
    yield Finding("index", Level.OK, f"{len(known)} transcripts indexed")
    for path, count in broken[:FEW]:
        text = f"{path}: {count} unreadable lines are skipped"
        yield Finding("index", Level.NOTE, text, "nothing to do: all other lines are read")


def _status_line(desk: Desk) -> Iterator[Finding]:
    failures = spool.read_failures(desk.places.data)
    for failure in failures[-FEW:]:
        text = f"the status line failed at {failure.at[:19]}Z: {failure.error}"
        yield Finding("status line", Level.NOTE, text, f"after fixing it, remove {failure.path}")


def _worktrees(desk: Desk) -> Iterator[Finding]:
    """The size of worktree snapshots, and the leases that hooks enforce."""
    data = desk.places.data
    if taken := tree.size(data):
        text = f"{data / tree.FOLDER}: {taken / 1e6:.1f} MB of snapshots, kept for {tree.KEEP_DAYS} days"
        yield Finding("worktrees", Level.OK, text)
    for held in guard.notes(data):
        if held.expires <= desk.clock():
            continue
        path, root = guard.note_of(data, held.root), paths.as_text(Path(held.root))
        text, fix = (
            f"{held.holder} has held {root} since {held.since[:16]}Z ({held.handoff})",
            f"run {held.back} in that folder to return it",
        )
        if not (now := leases.holder(desk, Path(held.root))) or now.handoff != held.handoff:
            text, fix = f"{text}, but the store has no such lease", f"remove {path}"
        yield Finding("worktrees", Level.NOTE, text, fix)


def _hooks(desk: Desk) -> Iterator[Finding]:
    """The state of installed hooks, recent hook failures, and waiting handoffs."""
    data = desk.places.data
    troubles = list(install.trouble(desk))
    for title, why in troubles:
        fix = (
            "segue init"
            if "another version" in why
            else "fix that, or run segue init --undo to remove the hooks"
        )
        yield Finding("hooks", Level.NOTE, f"{title}: {why}", fix)
    for title in install.sound(desk):
        text = f"{title}: hooks are installed, and no setting disables them"
        yield Finding("hooks", Level.OK, text)
    if install.is_set_up(desk) and not hook_script.is_whole(desk):
        text = f"{data / SCRIPT} is missing, or was written by another version of Segue"
        yield Finding("hooks", Level.NOTE, text, "segue init")
    for failure in guard.failures(data)[-FEW:]:
        text = f"a hook failed at {failure.at[:19]}Z and let the agent continue: {failure.error}"
        yield Finding("hooks", Level.NOTE, text, f"after fixing it, remove {data / guard.LOG}")
    for note in waiting_handoffs.notes(data):
        if note.expires > desk.clock():
            given = ", ".join(waiting_handoffs.given_to(data, note.handoff)) or "nobody yet"
            text = f"{note.handoff} is waiting in {paths.as_text(Path(note.root))} for {note.target}; shown to {given}"
            yield Finding("hooks", Level.OK, text)


def _shared(desk: Desk) -> Iterator[Finding]:
    if not desk.has_store:
        yield Finding("shared store", Level.OK, "not created yet: the first session or handoff creates it")
        return
    database = desk.shared.database
    version = store.plan_for(database).newest
    yield Finding("shared store", Level.OK, f"{database.place}: schema {version}")
    if isinstance(database, SqliteDatabase):
        mode = database.journal_mode
        yield Finding(
            "shared store", Level.OK, f"SQLite {sqlite3.sqlite_version} with the {mode.upper()} journal"
        )
    restore = "segue backup list, then segue backup restore latest"
    for what in database.check():
        yield Finding("shared store", Level.PROBLEM, what, restore)
    verdict = log.verify(desk)
    for flaw in verdict.flaws:
        yield Finding("log", Level.PROBLEM, f"{flaw.chain} link {flaw.n}: {flaw.what}", restore)
    if not verdict.flaws:
        yield Finding("log", Level.OK, f"all chains verified ({verdict.chains})")
    damaged = desk.shared.damaged_blobs()
    for error in damaged:
        yield _problem("blobs", error)
    if not damaged:
        yield Finding("blobs", Level.OK, "all blobs match their hashes")


def _agents(env: Mapping[str, str]) -> Iterator[Finding]:
    missing = []
    for agent in agents.all_programs():
        found = agents.ask_version(agent, env)
        if found.path is None:
            missing.append(f"{agent.title} ({agent.program})")
        else:
            yield _agent(found)
    if missing:
        text = "not on PATH: " + ", ".join(missing)
        yield Finding("agents", Level.NOTE, text, "install the agents that you want to use")


def _agent(found: agents.Installed) -> Finding:
    title = found.agent.title
    if found.problem:
        fix = f"run {found.path} --version to see the error"
        return Finding("agents", Level.PROBLEM, f"{title} at {found.path}: {found.problem}", fix)
    if not found.agent.tested:
        return Finding("agents", Level.OK, f"{title} {found.version} at {found.path}")
    if found.version != found.agent.tested:
        text = f"{title} {found.version} at {found.path}; Segue is tested with {found.agent.tested}"
        return Finding("agents", Level.NOTE, text, "nothing to do unless handoffs fail")
    return Finding("agents", Level.OK, f"{title} {found.version} at {found.path}")


def _apply_fixes(found: paths.Places) -> Iterator[Finding]:
    """Apply the safe fixes: make files private, remove leftovers, move a damaged local store aside."""
    for path in _private_paths(found):
        if files.exposure(path) and files.is_ours(path):
            path.chmod(0o700 if path.is_dir() else 0o600)
            yield Finding("fixed", Level.OK, f"{path} is private now")
    for path in _leftovers(found):
        _remove(path)
        yield Finding("fixed", Level.OK, f"{path} was removed")
    local = found.data / LOCAL_FILE
    try:
        if local.exists():
            with contextlib.closing(store.open_local(found.data, settings.Settings())) as opened:
                damage = opened.database.check()
            if damage:
                raise LocalDamaged(place=local, what=damage[0])
    except StoreDamaged as error:
        aside = local.with_name(f"local.db.damaged-{int(time.time())}")
        local.rename(aside)
        yield Finding("fixed", Level.OK, f"{error.details.get('what')}: moved to {aside}")


def _remove(path: Path) -> None:
    """Remove a leftover, but never the target of a link."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()
