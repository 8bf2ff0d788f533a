"""The usage in Claude Code's transcripts, as values."""

from __future__ import annotations

from typing import Any

from segue.agents.claude.token_decoder import told_quickly
from segue.agents.claude.token_scan import Told, told_in, told_since
from segue.agents.shared.transcripts.coerce import moment_of
from segue.agents.shared.transcripts.reader import Spends, found_from
from segue.model import Mark, Source, Spend, Tokens


def spends_in(record: dict[str, Any]) -> list[Spend]:
    """The usage in a record: one spend, or none."""
    told = told_in(record)
    return [_spend(told)] if told else []


def spends(source: Source, mark: Mark | None = None) -> Spends:
    """The usage since the mark, each answer once."""
    offset, before = (mark.offset, mark.before) if mark else (0, "")
    told, offset, before, is_anew = told_since(found_from(source), offset, before, told_quickly)
    mark = Mark(offset=offset, before=before)
    return Spends(source=source, spends=tuple(map(_spend, told)), mark=mark, is_anew=is_anew)


def _spend(told: Told) -> Spend:
    key, at, model, input, output, read, written, long = told
    tokens = Tokens(input=input, output=output, cache_read=read, cache_write=written, cache_write_long=long)
    return Spend(key=key, model=model, tokens=tokens, at=moment_of(at))
