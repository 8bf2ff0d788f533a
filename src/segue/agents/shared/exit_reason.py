"""What an error means for a run that it ended: judged by its status first, then by the wording of all vendors.

Only errors that a program prints itself count. Each agent's `stop_of` knows which lines those are
(docs/add-an-agent.md): a model may write anything about limits.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from segue.agents.shared.transcripts import limit_text
from segue.agents.shared.transcripts.reader import decode, dict_of, text_of
from segue.base import clock
from segue.base.clock import Moment
from segue.base.lazy_regex import lazy_pattern
from segue.base.text import begun, printable
from segue.model import Limit
from segue.model.exit_reason import LONGEST_SAID, Output, Stop, Why

LOOKED_AT = 1 << 20
"""How much of the end of an output is read, in characters."""
SOON_S = 300.0
"""An unnamed limit that ends within this time is a pause, not the end of a plan."""
WORDS_LOOKED_AT = 8_000
MOST_LINES = 200

_BAD_REQUEST, _UNAUTHORIZED, _TOO_LARGE, _TOO_MANY = 400, 401, 413, 429
_LATER = frozenset((408, 409, 425, 429))
_FIRST_FAULT, _LAST_STATUS = 500, 599

_CONTEXT = lazy_pattern(
    r"(?:prompt|conversation|request|input|message)s? (?:is |are )?too (?:long|large)|request_too_large"
    r"|context[ _-]?(?:window|length|limit|size)|maximum context|maximum (?:prompt|input) length"
    r"|exceeds? the (?:maximum number of (?:input )?tokens|model'?s maximum)|input token count"
    r"|reduce the length of the",
    re.IGNORECASE,
)
_REFUSED = lazy_pattern(
    r"(?:invalid|incorrect|missing|wrong|expired|no|specify)\b.{0,30}\bapi[ _-]?key|specify the \w*_KEY|no key found"
    r"|api[ _-]?key.{0,30}\b(?:not valid|invalid|missing|required|not found|not set|expired|disabled|needed)"
    r"|API_KEY_INVALID|missing environment variable|unauthori[sz]ed|unauthenticated|not (?:logged|signed) in"
    r"|authenticat\w*[ _](?:failed|error|required)|failed to authenticate|invalid authentication"
    r"|please (?:run )?/?(?:log|sign) ?in|(?:log|sign) in again|token (?:has |is )?(?:been )?(?:expired|revoked)"
    r"|permission[ _]denied|forbidden|access denied|invalid_request_error"
    r"|credit balance|out of credits|insufficient[ _](?:funds|balance|credit)|payment required|billing"
    r"|model\b.{0,120}?\b(?:not found|does not exist|not supported|not available|not allowed|may not exist)"
    r"|model[ _]?not[ _]?found|unknown model|not found for api version|no such model"
    r"|(?:account|organization|project)\b.{0,30}\b(?:suspended|disabled|deactivated)",
    re.IGNORECASE,
)
_LOGIN = lazy_pattern(
    r"api[ _-]?key|\w_KEY\b|no key found|unauthori[sz]ed|unauthenticated|not (?:logged|signed) in|authenticat"
    r"|(?:log|sign) ?in\b|\blogin\b|token (?:has |is )?(?:been )?(?:expired|revoked)",
    re.IGNORECASE,
)
_OVERLOADED = lazy_pattern(
    r"overloaded|no capacity|at capacity|high demand|temporar|unavailable|try again later|timed? ?out|timeout"
    r"|\bE(?:CONN\w+|NOTFOUND|AI_AGAIN|PIPE|TIMEDOUT|HOSTUNREACH|NETUNREACH)\b|connection|socket|network"
    r"|(?:cannot|could not|unable to|failed to) connect|fetch failed|sending request|other side closed"
    r"|terminated|disconnected|internal (?:server )?error|server[ _]error|bad gateway|too many requests"
    r"|rate[ _-]?limit|retry limit",
    re.IGNORECASE,
)
_RATE = lazy_pattern(r"too many requests|rate[ _-]?limit", re.IGNORECASE)
_QUOTA = lazy_pattern(
    r"quota|usage[ _-]?limit|(?<!rate[ _-])limit reached|hit your|reached your|spending (?:cap|limit)",
    re.IGNORECASE,
)
_STATUS = lazy_pattern(
    r"(?:\b(?:status|http|code|error)(?:[ _](?:code|status))?\"?\s{0,2}[:=]?\s{0,2}|\()([1-5]\d\d)\b",
    re.IGNORECASE,
)
_LEADING = lazy_pattern(r"(?:fatal |api )?error\b", re.IGNORECASE)


# An output


def records(stdout: str) -> Iterator[dict[str, Any]]:
    """The JSON objects of an output, line by line. Incomplete lines are skipped."""
    for line in lines_of(stdout):
        if line.startswith("{") and (record := decode(line.encode(errors="replace"))) is not None:
            yield record


def lines_of(printed: str) -> list[str]:
    """The last lines of an output. Only a line feed ends a line: a model's text may contain other characters
    that `splitlines` would split at."""
    return printed[-LOOKED_AT:].split("\n")


def stop_without_records(output: Output) -> Stop | None:
    """What a program printed that failed before its stream began: plain error lines, without a word of a model."""
    if output.exit_code is None or output.exit_code <= 0:
        return None
    lines = [line for line in lines_of(output.stderr)[-MOST_LINES:] if line.strip() and not line[0].isspace()]
    telling = (line for line in lines if _LEADING.match(line) or why_of(line))
    said = next(telling, lines[-1] if lines else "")
    return stop_at_error(said) if said else None


# An error


def stop_at_error(said: str, status: int | None = None) -> Stop:
    """The meaning of an error that is no limit. An unknown error counts as a crash."""
    return Stop(why=why_of(said, status) or Why.CRASHED, said=one_line(said))


def why_of(said: str, status: int | None = None) -> Why | None:
    """Why a request failed; None if neither its status nor its words show that."""
    said = said[:WORDS_LOOKED_AT]
    status = status if status is not None else status_in(said)
    if status in _LATER or (status is not None and status >= _FIRST_FAULT):
        return Why.OVERLOADED
    if status == _TOO_LARGE or (status in (None, _BAD_REQUEST) and _CONTEXT.search(said)):
        return Why.CONTEXT
    if status is not None and status >= _BAD_REQUEST:
        return Why.REFUSED
    if _REFUSED.search(said):
        return Why.REFUSED
    return Why.OVERLOADED if _OVERLOADED.search(said) else None


def is_about_login(said: str) -> bool:
    """Whether an error says that nobody is signed in, or that the API key is missing or wrong."""
    said = said[:WORDS_LOOKED_AT]
    return status_in(said) == _UNAUTHORIZED or bool(_LOGIN.search(said))


def is_about_rate(said: str) -> bool:
    """Whether an error says that too many requests came in too short a time."""
    said = said[:WORDS_LOOKED_AT]
    return status_in(said) == _TOO_MANY or bool(_RATE.search(said))


def status_in(said: str) -> int | None:
    """The HTTP status that an error names in its text, if it is an error status."""
    found = [int(match[1]) for match in _STATUS.finditer(said[:WORDS_LOOKED_AT])]
    return next((status for status in found if _BAD_REQUEST <= status <= _LAST_STATUS), None)


def status_of(value: Any) -> int | None:
    """The HTTP status in a field."""
    is_status = isinstance(value, int) and not isinstance(value, bool)
    return value if is_status and _BAD_REQUEST <= value <= _LAST_STATUS else None


# A limit


def stop_at_limit(limit: Limit, said: str) -> Stop:
    """The meaning of a limit. A limit per minute is a pause; spent money does not come back at a fixed time."""
    why = _why_of_limit(limit, said)
    # For a pause, only the end of the limit matters.
    is_told = why is not Why.OVERLOADED or limit.resets_at is not None
    return Stop(why=why, said=one_line(said), limit=limit if is_told else None)


def _why_of_limit(limit: Limit, said: str) -> Why:
    if limit.window == "context":
        return Why.CONTEXT
    if limit.window == "spend" and limit.resets_at is None:
        return Why.REFUSED
    if limit.window == "1m":
        return Why.OVERLOADED
    if not limit.window:
        if limit.resets_at is None and not _QUOTA.search(said[:WORDS_LOOKED_AT]):
            return Why.OVERLOADED
        if limit.resets_at and limit.at and limit.resets_at <= clock.later(limit.at, SOON_S):
            return Why.OVERLOADED
    return Why.LIMIT


def stop_of_provider(said: str, now: Moment, model: str = "") -> Stop:
    """The meaning of an error that a program passed on from a provider that it does not know."""
    status = status_in(said)
    is_fault = status is not None and status >= _FIRST_FAULT
    if not is_fault and limit_text.tells_of_limit(said[:WORDS_LOOKED_AT]):
        return stop_at_limit(limit_text.limit_in(said, now, model), said)
    return stop_at_error(said, status)


# Words


def one_line(said: str) -> str:
    """A program's error as one line for the screen. Of a provider's JSON, only the message."""
    said = said[:WORDS_LOOKED_AT]
    return begun(printable(" ".join(message_in(said).split())), LONGEST_SAID - 2)


def message_in(said: str) -> str:
    """The message in an error that is JSON, as providers answer; otherwise the text itself."""
    start = said.find("{")
    if start < 0:
        return said
    body = decode(said[start : said.rfind("}") + 1].encode(errors="replace")) or {}
    error = body.get("error", body)
    return text_of(error) or text_of(dict_of(error).get("message")) or said
