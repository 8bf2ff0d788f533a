"""Kill -9 in the middle of everything that changes a store: is it always whole afterwards?

    ./dev bench kills [--rounds 300] [--seed 1]

For each operation, on SQLite and on PostgreSQL: a process begins it and is killed at a random moment of
the time that it usually takes. Then the store must open, every chain must verify, all content must be
there, and doing it again under the same idempotency key must leave exactly one result.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from segue import store
from segue.model import Session
from segue.ops import backups, demo, log
from segue.ops.common.desk import Desk, open_desk
from segue.ops.work import sessions
from segue.store import SESSION, migrate
from segue.store.database import in_transaction
from tests import postgres


class Tally(Struct):
    rounds: int = 0
    cut: int = 0
    """How many were killed before they were done."""
    violations: list[str] = []


def desk_in(folder: Path, url: str) -> Desk:
    return open_desk(env={"SEGUE_HOME": str(folder), "SEGUE_STORE": url, "HOME": "/"}, cwd=Path("/"))


def create(desk: Desk, key: str) -> None:
    sessions.create(desk, "kept", key=key)


def close_and_undo(desk: Desk, key: str) -> None:
    session: Session = sessions.create(desk, "kept", key=key).kept()
    sessions.close(desk, session.id)
    log.undo(desk)


def hand_over(desk: Desk, key: str) -> None:
    folder = Path(tempfile.mkdtemp(prefix="project-", dir=desk.places.data.parent)) / "p"
    own = open_desk(env={**desk.env, "SEGUE_DEMO": "1"}, cwd=folder)
    with contextlib.closing(own):
        demo.play(own, folder)
    sessions.create(desk, "kept", key=key)


def back_up(desk: Desk, key: str) -> None:
    sessions.create(desk, "kept", key=key)
    backups.make(desk)


def restore(desk: Desk, key: str) -> None:
    backups.restore(desk, "latest")
    sessions.create(desk, "kept", key=key)


def upgrade(desk: Desk, key: str) -> None:
    """Back to the first version of the schema, in one transaction, and up again by opening it."""
    database = desk.shared.database
    plan = store.plan_for(database)

    def back(transaction: object) -> None:
        for table in ("handoff", "lease"):
            transaction.script(f"drop table {table}")  # type: ignore[attr-defined]
        for column in ("transcripts", "satisfaction", "task"):
            transaction.script(f"alter table session drop column {column}")  # type: ignore[attr-defined]
        transaction.run("meta_put", key="version", value=str(plan.migrations[0].version))  # type: ignore[attr-defined]

    in_transaction(database, back, alone=True)
    desk.close()
    migrate.bring_up(desk.shared.database, plan, before_upgrade=lambda _found: None)
    sessions.create(desk, "kept", key=key)


OPERATIONS: dict[str, Callable[[Desk, str], None]] = {
    "create": create,
    "close and undo": close_and_undo,
    "hand over": hand_over,
    "back up": back_up,
    "restore": restore,
    "upgrade": upgrade,
}


def begin(work: Callable[[Desk, str], None], folder: Path, url: str, key: str) -> int:
    pid = os.fork()
    if pid == 0:
        try:
            desk = desk_in(folder, url)
            work(desk, key)
            os._exit(0)
        except Exception as error:  # noqa: BLE001 - whatever stops it is a finding
            os.write(2, f"{key}: {error!r}\n".encode())
            os._exit(1)
    return pid


def judge(folder: Path, url: str, key: str) -> list[str]:
    """What is not as promised after a kill."""
    desk = desk_in(folder, url)
    try:
        found = [f"{flaw.chain} {flaw.n} {flaw.what}" for flaw in desk.shared.verify()[1]]
        found += [str(error) for error in desk.shared.damaged_blobs()]
        first, second = (sessions.create(desk, "kept", key=key).kept().id for _ in range(2))
        with desk.shared.database.read() as transaction:
            made = [row for row in transaction.rows("operation") if row["key"] == key]
        if first != second or len(made) != 1:
            found.append(f"{key}: {len(made)} results")
        desk.shared.get(SESSION, first)
        return found
    finally:
        desk.close()


def campaign(name: str, folder: Path, url: str, *, rounds: int, seed: int) -> Tally:
    chance = random.Random(f"{name} {seed}")
    desk = desk_in(folder, url)
    sessions.create(desk, "first")
    desk.shared.keep(b"precious" * 1000)
    backups.make(desk)
    desk.close()
    tally, usual = Tally(), 10.0
    for number in range(rounds):
        key = f"{name}-{number}"
        begun = time.monotonic()
        pid = begin(OPERATIONS[name], folder, url, key)
        if number >= 3:
            time.sleep(chance.uniform(0, usual))
            os.kill(pid, signal.SIGKILL)
        status = os.waitpid(pid, 0)[1]
        if number < 3:
            usual = min(usual, time.monotonic() - begun)
        tally.rounds += 1
        tally.cut += os.WIFSIGNALED(status)
        if os.WIFEXITED(status) and os.WEXITSTATUS(status):
            tally.violations.append(f"{key}: it failed")
        tally.violations += judge(folder, url, key)
    return tally


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=300, help="for each operation and database")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    failed = False
    with postgres.server() as server:
        for database in ("SQLite", "PostgreSQL"):
            for name in OPERATIONS:
                folder = Path(tempfile.mkdtemp(prefix="segue-kills-"))
                with postgres.database(server) as url:
                    address = url if database == "PostgreSQL" else ""
                    tally = campaign(name, folder, address, rounds=options.rounds, seed=options.seed)
                shutil.rmtree(folder)
                failed = failed or bool(tally.violations)
                print(
                    f"{database:<11} {name:<15} {tally.rounds} rounds, {tally.cut} cut short, {len(tally.violations)} violations"
                )
                for violation in tally.violations[:5]:
                    print("   ", violation)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
