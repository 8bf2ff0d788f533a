"""Modality: does a sentence say that something is so, or that it will be, should be, might be, or was not?"""

from __future__ import annotations

import re

from segue.base.lazy_regex import lazy_pattern

SPAN = "\ue000-\uf8ff"
TOKEN = re.compile(rf"[A-Za-z]+(?:['’-][A-Za-z]+)*|[{SPAN}]|\d+(?:[.,]\d+)*|[^\s\w]")

OPEN = lazy_pattern(
    r"\b(?:i|we|you|he|she|they|it|that|this)(?:'ll|'d)\b|\b(?:will|would|should|could|might|must|shall|may|can|cannot)\b"
    r"|\b(?:going|need|needs|needed|want|wants|have|has|had|plan|plans|planning|intend|try|trying|attempt|attempting"
    r"|hope|like|ready|supposed|meant|about|yet|remains?|left|still|order|failed|forgot) to\b"
    r"|\blet(?:'s| me| us)\b"
    r"|\b(?:if|unless|until|once(?! more| again)|whether|assuming|suppose|imagine|maybe|perhaps|please|todo|wip)\b"
    r"|\b(?:propos(?:e|es|ed|al|ing)|suggest(?:s|ed|ion|ing)?|recommend(?:s|ed|ation|ing)?|consider|plan|planned"
    r"|expected|pending|next step|next,|instead of|rather than|in case|for example|e\.g\.|would-be|hypothetical)\b"
)
"""Words before something that is not so, or not yet."""
NOT = lazy_pattern(
    r"\b(?:not|never|no|none|neither|nor|without|cannot|nothing|nobody|hardly|barely|almost|nearly|mostly|so far)\b"
    r"|n't\b|n’t\b"
    r"|\b(?:failed to|unable to|refus(?:e|ed) to|forgot to|skipp?(?:ed|ing)?|avoid(?:ed|ing)?|declin(?:e|ed) to)\b"
)
NOT_REALLY = lazy_pattern(
    r"\bnothing else\b|\bno (?:longer|issues?|errors?|warnings?|failures?|problems?|regressions?)\b|\bnot only\b"
    r"|\bwithout (?:any |a |a single )?"
    r"(?:issues?|errors?|warnings?|failures?|problems?|regressions?)\b|\bno need\b"
)
OTHERS = lazy_pattern(
    r"\b(?:you|you've|user|they|he|she|someone|upstream|maintainers?|colleagues?|previously|originally|formerly"
    r"|already|pre-existing|earlier"
    r"|last (?:week|month|year|session)|yesterday|teammate|uncommitted|i (?:see|notice)|workers?|sub-?agents?)\b"
)
"""Words for work of somebody else, or of an earlier time."""
SECTION = lazy_pattern(
    r"\b(?:next steps?|follow[- ]?ups?|to ?dos?|remaining|future|plan(?:ned)?|propos\w+|recommend\w+|suggest\w+"
    r"|options?|alternatives?|how to|usage|examples?|questions?|not done|left to do|open (?:items|points)|ideas?|would"
    r"|could|should|will|i'll|let me|you can|to (?:run|try|test|verify|use)|if you|before|limitations?|caveats?"
    r"|known issues?|the (?:bug|problem|issue)|root cause|requested|requirements?|acceptance)\b"
)
"""Headings and labels of plans, problems and advice: nothing below them reports work."""


def words(text: str) -> list[str]:
    """The words, code spans and punctuation marks of a sentence, in lower case."""
    found = [token.lower().replace("’", "'") for token in TOKEN.findall(text)]
    for at in range(len(found) - 1, 0, -1):
        if found[at - 1 : at + 1] == ["set", "up"]:
            found[at - 1 : at + 1] = ["set-up"]
    return found


def is_open(before: str) -> bool:
    """Whether the words before a verb make it a plan, a wish or a condition."""
    return OPEN.search(before) is not None


def is_denied(before: str) -> bool:
    return NOT.search(NOT_REALLY.sub(" ", before)) is not None


def is_of_others(before: str) -> bool:
    return OTHERS.search(before) is not None


def is_ruled_out(before: str) -> bool:
    """Whether the words before a verb show that the agent does not say it did this."""
    return is_open(before) or is_denied(before) or is_of_others(before)


def is_question(text: str) -> bool:
    return text.rstrip(" \"')*_").endswith(("?", "？"))


def is_aside(section: str) -> bool:
    """Whether a heading is about the future or the past, not about finished work."""
    return SECTION.search(section) is not None
