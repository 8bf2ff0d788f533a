"""What Gemini CLI prints when a quota is used up. It writes nothing of that into its transcript.

The words are Google's, passed on with additions: on standard error, and with `--output-format stream-json` in
the result on standard output. Seen with version 0.61; the sentences with "Access resets" are the interactive
program's.

The quota of a login that is used up for hours does not end the program: it says so once on standard error,
and waits.
"""

from __future__ import annotations

import re

from segue.agents import limit_text
from segue.clock import Moment
from segue.model import Limit, Scope

LONGEST = 1 << 20
SENTENCE = 2000
"""How far from where a limit is first spoken of the rest is looked for."""

_SPENT = re.compile(
    r"exhausted your (?:daily quota|capacity)|exceeded your current quota|quota exceeded|check quota"
    r"|quota will reset|usage limit reached|QUOTA_EXHAUSTED",
    re.IGNORECASE,
)
_REFUSED = re.compile(
    r"RESOURCE_EXHAUSTED|\b(?:status|code)\b\W{1,4}429\b|RetryableQuotaError", re.IGNORECASE
)
_OTHERS_FAULT = re.compile(r"no capacity available|MODEL_CAPACITY_EX", re.IGNORECASE)

_DAY = re.compile(r"daily quota|per ?day|requests per day", re.IGNORECASE)
_MINUTE = re.compile(r"per ?minute", re.IGNORECASE)
_END = re.compile(r"quota will reset|access resets", re.IGNORECASE)
_MODEL = re.compile(
    r"\bmodel[\"']?\s*[:=]\s*[\"']?(?P<a>[a-z][\w.-]*\w)|limit reached for (?P<b>[a-z][\w.-]*\w)",
    re.IGNORECASE,
)
_ONE_MODEL = re.compile(r"\bon this model\b|PerModel\b", re.IGNORECASE)


def limit_of_error(text: str, at: Moment | None, model: str = "") -> Limit | None:
    """The limit that the output of a run tells of that failed or hangs (of one that went well it may be what
    the model talked about). None where it tells of none, or of a server that had no room. `model` is the one
    that was asked, where the caller knows it."""
    text = text[-LONGEST:]
    spent = _SPENT.search(text) or (None if _OTHERS_FAULT.search(text) else _REFUSED.search(text))
    if spent is None:
        return None
    said = text[spent.start() :][:SENTENCE]
    named = _MODEL.search(said)
    is_for_one = named is not None or _ONE_MODEL.search(said) is not None
    return Limit(
        window=_window(said),
        scope=Scope.MODEL if is_for_one else Scope.ACCOUNT,
        used_percent=100,
        resets_at=_end(said, at),
        model=(named["a"] or named["b"] if named else model) if is_for_one else "",
        at=at,
    )


def _window(said: str) -> str:
    if _DAY.search(said):
        return "day"
    return "1m" if _MINUTE.search(said) else ""


def _end(said: str, at: Moment | None) -> Moment | None:
    """When it ends. With a quota of a day Google also tells seconds to wait, after which it is still spent."""
    told = _END.search(said)
    if told:
        return limit_text.reset_in(said[told.start() :], at)
    return None if _DAY.search(said) else limit_text.reset_in(said, at)
