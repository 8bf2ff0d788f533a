"""Packages: the complete context of a session, compressed into one file."""

from __future__ import annotations

from pathlib import Path

import msgspec
from msgspec import Struct

from segue import agents
from segue.base import files
from segue.briefs import goals
from segue.errors import BadInput
from segue.model import Tier, context
from segue.model.context import CompressedContext, HandoffContext
from segue.ops.briefs import make
from segue.ops.common.desk import Desk
from segue.ops.index.tracked_transcript import Warm
from segue.store import os_errors


class Packaged(Struct, frozen=True):
    file: str
    size: int
    stored: int
    hash: str


def context_of(desk: Desk, known: Warm, *, tier: Tier, target: str = "", reason: str = "") -> HandoffContext:
    """The context of a transcript and its session, without the history, which is long and added while
    packing. Fields for later features are empty."""
    facts = known.facts()
    work = make.work_of(desk, known)
    task = goals.task_from(facts)
    said = work.session.task if work else None
    return HandoffContext(
        session_id=work.session.id if work else known.learned.get("id", ""),
        timestamp=desk.clock(),
        source_model=(work.main.model if work and work.main else "") or known.source.agent,
        target_model=target,
        handoff_reason=reason,
        preservation_level=tier.preserve,
        current_task=said.over(task) if said else task,
        pending_subagents=tuple(
            {"id": fact.entry, "task": fact.subject, "status": "pending"}
            for fact in facts
            if fact.kind == "delegation" and fact.value == "pending"
        ),
    )


def of_transcript(
    desk: Desk, name: str | None, *, tier: Tier, target: str, reason: str = ""
) -> CompressedContext:
    """The compressed context of a transcript with its history."""
    known = make.open_known(desk, name)
    entries = agents.reader(known.source.agent).read(known.source)
    return context.compress(context_of(desk, known, tier=tier, target=target, reason=reason), iter(entries))


def package(desk: Desk, name: str | None, file: Path, *, tier: Tier, target: str = "") -> Packaged:
    """Write a transcript's complete context, compressed, to a new file."""
    if file.exists():
        raise BadInput(what=f"{file} already exists.", next="segue pack --package NEW_FILE")
    packed = of_transcript(desk, name, tier=tier, target=target)
    with os_errors.translated(file):
        files.write_file(file, msgspec.msgpack.encode(packed))
    return Packaged(str(file), packed.size, packed.stored, packed.hash)


def unpacked(file: Path) -> HandoffContext:
    """Read the context back from a file that `write_package` wrote."""
    try:
        packed = msgspec.msgpack.decode(files.read_file(file, context.LARGEST), type=CompressedContext)
    except OSError as error:
        what = f"{file} cannot be read: {error.strerror}."
        raise BadInput(what=what, next="segue pack --package FILE creates a package") from error
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise BadInput(
            what=f"{file} is not a package.", next="segue pack --package FILE creates a package"
        ) from error
    return context.decompress(packed)
