"""Named SQL: reads the .sql files of this folder. Python holds only what no fixed statement can say: a table's
rows whatever the table, and what a connection is set to."""

from __future__ import annotations

import functools
import os
import re

HERE = os.path.dirname(__file__)  # noqa: PTH120 - quick


def text(name: str) -> str:
    with open(f"{HERE}/{name}", encoding="utf-8") as file:  # noqa: PTH123 - quick
        return file.read()


def parse(source: str) -> dict[str, str]:
    """A file of statements, by the name that stands over each."""
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
    """`:name` as `%(name)s`, the form that psycopg takes."""
    return re.sub(r"(?<![:\w]):(\w+)", r"%(\1)s", statement.replace("%", "%%"))
