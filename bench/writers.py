"""Sixteen writers on one store, one of them killed every 100 ms: is anything acknowledged ever lost?

    ./dev bench writers [--seconds 30] [--writers 16] [--seed 1]

Each writer adds operations, half of them to a session of its own and half to one that all share, and
notes each acknowledgement in a file of its own. It uses one idempotency key per intention; when it was
killed, its successor starts with the intention that was not acknowledged, under the same key. At the
end every acknowledged operation must be in the store, no key may have led to two, and every chain must
verify. Runs on SQLite and on PostgreSQL, the embedded one or that of TEST_DATABASE_URL.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

import msgspec
from msgspec import Struct

from segue import store
from segue.base import clock
from segue.model import Session, SessionStatus
from segue.ops.common.desk import new_id
from segue.settings import Settings
from segue.store import SESSION, Shared
from tests import postgres

BUSY_SECONDS = 60


class Outcome(Struct, frozen=True):
    commits: int
    acknowledged: int
    kills: int
    violations: tuple[str, ...]
    seconds: float


def open_store(data: Path, url: str, actor: str) -> Shared:
    settings = Settings(store_url=url, store_busy_seconds=BUSY_SECONDS)
    return store.open_shared(data, settings, actor=actor, new_id=new_id, clock=clock.now)


def session_value(id: str, epoch: int) -> Session:
    now = "2026-01-01T00:00:00.000000Z"
    return Session(
        id=id,
        title="campaign",
        owner="all",
        project="/",
        status=SessionStatus.OPEN,
        epoch=epoch,
        created_at=now,
        updated_at=now,
    )


def grow(present: Session | None, id: str) -> Session:
    """The next state: what every writer does to a session."""
    return session_value(id, present.epoch + 1 if present else 1)


def write_for_ever(data: Path, url: str, number: int, acks: Path) -> None:
    """One writer's life, until it is killed."""
    shared = open_store(data, url, f"writer-{number}")
    done = sum(1 for line in acks.read_text().splitlines() if line) if acks.exists() else 0
    fd = os.open(acks, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    while True:
        id = "s-shared" if done % 2 else f"s-{number}"
        key = f"writer-{number}-{done}"
        change = shared.record(SESSION, "session.grown", id, partial(grow, id=id), key=key, request=id)
        os.write(fd, f"{key} {change.operation.id}\n".encode())
        done += 1


def start(data: Path, url: str, number: int, acks: Path) -> int:
    pid = os.fork()
    if pid == 0:
        try:
            write_for_ever(data, url, number, acks)
        except Exception as error:  # noqa: BLE001 - whatever stops a writer is a finding
            with (acks.parent / "errors").open("a") as file:
                file.write(f"writer {number}: {error!r}\n")
        finally:
            os._exit(1)
    return pid


def campaign(data: Path, url: str, *, seconds: float, writers: int, seed: int) -> Outcome:
    with tempfile.TemporaryDirectory(prefix="segue-writers-") as folder:
        return _campaign(data, url, Path(folder), seconds=seconds, writers=writers, seed=seed)


def _campaign(data: Path, url: str, folder: Path, *, seconds: float, writers: int, seed: int) -> Outcome:
    chance = random.Random(seed)
    files = {number: folder / f"acks-{number}" for number in range(writers)}
    open_store(data, url, "parent").close()
    pids = {number: start(data, url, number, files[number]) for number in files}
    begun = time.monotonic()
    kills = 0
    while time.monotonic() - begun < seconds:
        time.sleep(0.1)
        number = chance.randrange(writers)
        end(pids[number])
        kills += 1
        pids[number] = start(data, url, number, files[number])
    for pid in pids.values():
        end(pid)
    taken = time.monotonic() - begun
    acknowledged = [
        line.split() for file in files.values() if file.exists() for line in file.read_text().splitlines()
    ]
    errors = folder / "errors"
    problems = errors.read_text().splitlines() if errors.exists() else []
    shared = open_store(data, url, "judge")
    problems += judge(shared, acknowledged)
    with shared.database.read() as transaction:
        commits = sum(row["n"] for row in transaction.all("head_all"))
    shared.close()
    return Outcome(commits, len(acknowledged), kills, tuple(problems), taken)


def end(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


def judge(shared: Shared, acknowledged: list[list[str]]) -> list[str]:
    """Everything that is not as promised."""
    found = [f"{flaw.chain} link {flaw.n}: {flaw.what}" for flaw in shared.verify()[1]]
    with shared.database.read() as transaction:
        by_key = {row["key"]: row for row in transaction.rows("operation")}
    for line in acknowledged:
        key, id = (*line, "")[:2]
        if by_key.get(key, {}).get("id") != id:
            found.append(f"acknowledged and lost: {key} {id}")
    for session in shared.all(SESSION):
        count = sum(row["chain"] == session.id for row in by_key.values())
        if session.epoch != count:
            found.append(f"{session.id} grew {session.epoch} times in {count} operations")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--writers", type=int, default=16)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    failed = False
    with (
        postgres.server() as server,
        postgres.database(server) as url,
        tempfile.TemporaryDirectory(prefix="segue-bench-") as folder,
    ):
        for name, address in (("SQLite", ""), ("PostgreSQL", url)):
            outcome = campaign(
                Path(folder) / "data",
                address,
                seconds=options.seconds,
                writers=options.writers,
                seed=options.seed,
            )
            failed = failed or bool(outcome.violations)
            print(
                f"{name:<11} {options.writers} writers, {outcome.seconds:.0f} s:",
                f"{outcome.commits:,} commits,",
                f"{outcome.acknowledged:,} acknowledged, {outcome.kills} kills,",
                f"{len(outcome.violations)} violations",
            )
            for violation in outcome.violations[:10]:
                print("   ", msgspec.json.encode(violation).decode())
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
