"""The local store: SQLite, one user, one machine. It holds trusted settings files, the session chosen for each project,
consents per vendor, and confirmed transcripts."""

from __future__ import annotations

from pathlib import Path

from segue.base import paths
from segue.base.clock import Moment
from segue.model import Hash
from segue.store import migrate
from segue.store.database import Row, in_transaction
from segue.store.sqlite import SqliteDatabase


class Local:
    def __init__(self, path: Path, *, busy_seconds: float = 30) -> None:
        self.database = SqliteDatabase(path, busy_seconds=busy_seconds)
        plan = migrate.read_plan("local", "sqlite", schema=False)
        try:
            migrate.bring_up(self.database, plan, before_upgrade=lambda _found: None)
        except BaseException:
            self.database.close()
            raise

    def trusts(self, path: Path, hash: Hash) -> bool:
        with self.database.read() as transaction:
            row = transaction.one("trust_get", path=paths.as_text(path))
        return row is not None and row["hash"] == hash

    def trust(self, path: Path, hash: Hash, at: Moment) -> None:
        in_transaction(
            self.database, lambda t: t.run("trust_put", path=paths.as_text(path), hash=hash, at=at)
        )

    def distrust(self, path: Path) -> bool:
        return bool(in_transaction(self.database, lambda t: t.run("trust_drop", path=paths.as_text(path))))

    def trusted(self) -> list[Row]:
        with self.database.read() as transaction:
            return transaction.all("trust_list")

    def chosen(self, project: str) -> str | None:
        """The session that the user chose for a project folder."""
        with self.database.read() as transaction:
            row = transaction.one("current_get", project=project)
        return row["session"] if row else None

    def choose(self, project: str, session: str, at: Moment) -> None:
        in_transaction(self.database, lambda t: t.run("current_put", project=project, session=session, at=at))

    def consents(self, project: str, vendor: str) -> bool:
        """Did the user consent to sending this project's context to this vendor?"""
        with self.database.read() as transaction:
            return transaction.one("consent_get", project=project, vendor=vendor) is not None

    def consent(self, project: str, vendor: str, at: Moment) -> None:
        in_transaction(self.database, lambda t: t.run("consent_put", project=project, vendor=vendor, at=at))

    def confirms(self, project: str, agent: str) -> bool:
        """Did the user confirm an agent's transcripts inside a project folder as their own?"""
        with self.database.read() as transaction:
            return transaction.one("confirmed_get", project=project, agent=agent) is not None

    def confirm(self, project: str, agent: str, at: Moment) -> None:
        in_transaction(self.database, lambda t: t.run("confirmed_put", project=project, agent=agent, at=at))

    def take_back(self, project: str, agent: str) -> bool:
        return bool(
            in_transaction(self.database, lambda t: t.run("confirmed_drop", project=project, agent=agent))
        )

    def close(self) -> None:
        self.database.close()
