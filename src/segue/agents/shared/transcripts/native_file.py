"""Transcript files that Segue writes in an agent's own format, and removes again."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from segue.base import files
from segue.errors import AgentError


@contextlib.contextmanager
def translate_errors(agent: str, what: str) -> Iterator[None]:
    """Raise AgentError for errors of the file system, and for text that cannot be encoded."""
    try:
        yield
    except UnicodeEncodeError as error:
        raise AgentError(agent=agent, what=f"{what}: the conversation is not valid text") from error
    except OSError as error:
        raise AgentError(agent=agent, what=f"{what}: {error.strerror or error}") from error


def starts_with(path: Path, content: bytes) -> bool:
    """Whether a file starts with what was written. The agent may have appended to it."""
    with files.open_file(path) as file:
        return file.read(len(content)) == content


def refuse_other(agent: str, path: Path, content: bytes) -> None:
    """Refuse a file that holds another conversation."""
    if not starts_with(path, content):
        what = f"{path} holds another conversation under this id; it was left as it is"
        raise AgentError(agent=agent, what=what)
