"""Quota errors of Gemini CLI, and of Qwen Code, which was made from it. Gemini CLI no longer writes them into its
transcript.

The texts are Google's, passed on with additions: on standard error, and with `--output-format stream-json` in the
result on standard output. Seen with version 0.61; the sentences with "Access resets" come from the interactive
program.

If an account's quota is used up for hours, the program does not end: it says so once on standard error, and waits.
"""

from __future__ import annotations

import re

from segue.agents.shared.transcripts import limit_text
from segue.base.clock import Moment
from segue.model import Limit, Scope

LONGEST = 1 << 20
LEAD, SENTENCE = 200, 2000
"""How many characters before and after the first mention of a limit are searched."""

_SPENT = re.compile(
    r"exhausted your (?:daily quota|capacity)|exceeded your (?:current |daily )?quota|quota exceeded|check quota"
    r"|quota will reset|usage limit reached|QUOTA_EXHAUSTED|quota has been reached|insufficient_quota"
    r"|reached your (?:daily )?(?P<model>[a-z][\w.-]* )?quota limit|rate.?limit (?:exceeded|reached|hit)",
    re.IGNORECASE,
)
"""Texts of this and older versions, and of the services that Qwen Code uses."""
_REFUSED = re.compile(
    r"RESOURCE_EXHAUSTED|resource (?:has been )?exhausted|\b(?:status|code)\b\W{1,4}429\b|RetryableQuotaError",
    re.IGNORECASE,
)
_OTHERS_FAULT = re.compile(r"no capacity available|MODEL_CAPACITY_EX", re.IGNORECASE)

_DAY = re.compile(r"daily|per.?day", re.IGNORECASE)
_MINUTE = re.compile(r"per ?minute", re.IGNORECASE)
_END = re.compile(r"quota will reset|access resets", re.IGNORECASE)
_FAMILY = re.compile(r"\ball (\w+) models\b|quota metric '(gemini [\d.]+ [\w-]+)", re.IGNORECASE)
_MODEL = re.compile(
    r"\bmodel[\"']?\s*[:=]\s*[\"']?([a-z][\w.-]*\w)|limit reached for ([a-z][\w.-]*\w)", re.IGNORECASE
)
_ONE_MODEL = re.compile(r"\bon this model\b|PerModel\b", re.IGNORECASE)


def limit_of_error(text: str, at: Moment | None, model: str = "") -> Limit | None:
    """The limit in an error, or in the output of a run that failed or hangs (after a successful run, the text
    may be the model's). None if there is no limit, or if a server had no capacity. `model` is the requested
    model, if known."""
    text = text[-LONGEST:]
    spent = _SPENT.search(text)
    found = spent or (None if _OTHERS_FAULT.search(text) else _REFUSED.search(text))
    if found is None:
        return None
    line = text.rfind("\n", 0, found.start()) + 1
    said = text[max(line, found.start() - LEAD) :][:SENTENCE]
    named = (spent["model"] or "").strip() if spent else ""
    named = named or _model_in(said) or (model if _ONE_MODEL.search(said) else "")
    is_for_one = bool(named) or _ONE_MODEL.search(said) is not None
    window = _window(said)
    return Limit(
        window=window,
        scope=Scope.MODEL if is_for_one else Scope.ACCOUNT,
        used_percent=100,
        resets_at=_end(said, at, window),
        model=named,
        at=at,
    )


def _model_in(said: str) -> str:
    """The model whose quota is used up, by its name in requests; or a family of models, as 'pro'."""
    if family := _FAMILY.search(said):
        return (family[1] or family[2]).lower().replace(" ", "-")
    found = _MODEL.search(said)
    return found[1] or found[2] if found else ""


def _window(said: str) -> str:
    if _DAY.search(said):
        return "day"
    return "1m" if _MINUTE.search(said) else ""


def _end(said: str, at: Moment | None, window: str) -> Moment | None:
    told = _END.search(said)
    return limit_text.end_of(said[told.start() :] if told else said, at, window)
