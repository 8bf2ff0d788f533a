"""A quick selection of the texts that are worth a full search for secrets, which takes far longer.

It sees secrets that are found by name or place, and words that are often near other secrets. Most texts are short, so
what none of those contains is searched once in all of them joined.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from segue.redact import context_rules, name_rules, pair_rules
from segue.redact.view import view_of

HINTS = ("assword", "passphrase", "pwd", "secret", "token", "auth", "credential")
"""Words that are often near a secret that does not look like one, in any encoding."""
HINTS_OF_KEYS = ("_key", "-key", "%20key", "apikey", "accesskey")
OTHER_WORDS = [word for word in name_rules.WORDS if not any(hint in word.start for hint in HINTS)]
"""Names of secrets that contain no hint: a text with a hint is searched anyway."""
LOGIN = re.compile(r"://[^\s/@]{1,80}:")
SHORT = 1000


def dangerous(texts: Sequence[str]) -> list[bool]:
    """The texts that may contain a secret, by index."""
    views = [view_of(text) for text in texts]
    lows = [view.lower() for view in views]
    is_short = [len(view) < SHORT for view in views]
    every = _Rules()
    few = every.within(
        "\n".join(view for view, short in zip(views, is_short, strict=True) if short),
        "\n".join(low for low, short in zip(lows, is_short, strict=True) if short),
    )
    return [
        (few if short else every).may_hold(view, low)
        for view, low, short in zip(views, lows, is_short, strict=True)
    ]


class _Rules:
    """What to search for: everything, or only what some text may contain."""

    def __init__(
        self,
        hints: Iterable[str] = (*HINTS, *HINTS_OF_KEYS),
        places: context_rules.Signed = context_rules.BY_SIGN,
        words: Sequence[name_rules.Word] = OTHER_WORDS,
    ) -> None:
        self.hints = tuple(hints)
        self.places = places
        self.words = words

    def within(self, view: str, low: str) -> _Rules:
        return _Rules(
            filter(low.__contains__, self.hints),
            context_rules.narrowed(view, low),
            [word for word in self.words if word.start in low],
        )

    def may_hold(self, view: str, low: str) -> bool:
        return (
            any(map(low.__contains__, self.hints))
            or LOGIN.search(view) is not None
            or next(context_rules.find(view, low, self.places), None) is not None
            or next(name_rules.find(view, low, self.words), None) is not None
            or next(pair_rules.find(view, low), None) is not None
        )
