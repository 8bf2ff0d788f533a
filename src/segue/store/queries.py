"""Named SQL statements, read from the .sql files of this folder. Only dynamic statements are in Python."""

from __future__ import annotations

import functools
import os
import re

HERE = os.path.dirname(__file__)  # noqa: PTH120 - quick


def text(name: str) -> str:
    with open(f"{HERE}/{name}", encoding="utf-8") as file:  # noqa: PTH123 - quick
        return file.read()


def parse(source: str) -> dict[str, str]:
    """Parse a file of statements into a dict by name."""
    found = {}
    for part in source.split("\n-- name: ")[1:]:
        name, *lines = part.split("\n")
        found[name] = "\n".join(line for line in lines if not line.startswith("--")).strip().rstrip(";")
    return found


@functools.cache
def for_sqlite() -> dict[str, str]:
    return {**parse(text("queries.sql")), **parse(text("queries.local.sql"))}


@functools.cache
def for_postgres() -> dict[str, str]:
    both = {**parse(text("queries.sql")), **parse(text("queries.postgres.sql"))}
    return {name: to_psycopg(statement) for name, statement in both.items()}


def to_psycopg(statement: str) -> str:
    """Convert `:name` to psycopg's `%(name)s`."""
    return re.sub(r"(?<![:\w]):(\w+)", r"%(\1)s", statement.replace("%", "%%"))
