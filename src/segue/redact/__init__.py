"""Removal of secrets before anything leaves: text in, text with placeholders and a list of findings out. Pure.

Secrets are found by a vendor's prefix (`vendor_rules`), by their surroundings (`context_rules`), by their name
(`name_rules`, `pair_rules`) and by a maintained library (`betterleaks`); each also in base64, percent-encoding, JSON
escapes and hex (`encodings`). A secret that was found once is replaced everywhere in the text. `prefilter` selects,
among many texts, those that need the full search.

A placeholder such as `[secret:github-token:7f3a9c]` has the kind and a keyed hash: the same secret always has the
same placeholder, which reveals nothing without the key. Findings never contain a secret.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b

from segue.model import Value
from segue.redact import allowlist, betterleaks, context_rules, search, value_shape
from segue.redact.view import Hit, placeholder

FEW = 20
"""Up to this many known secrets, searching for each one is faster."""
SHORTEST_KEY = 16
LONGEST = context_rules.LONGEST_KEY
"""No single secret is longer, except in base64."""


class Finding(Value, frozen=True):
    """The place and kind of a secret. Never the secret."""

    kind: str
    placeholder: str
    """Empty if the text was only scanned."""
    start: int
    length: int
    encoding: str
    """'plain', 'base64', 'url', 'json', 'hex'; joined with + if one was inside another."""


class Redacted(Value, frozen=True):
    text: str
    findings: tuple[Finding, ...]
    """In the order of the text, with their places in the original text."""
    rules: str

    @property
    def kinds(self) -> dict[str, int]:
        """The number of findings of each kind, highest first."""
        return dict(Counter(finding.kind for finding in self.findings).most_common())


def redact(text: str, *, key: bytes, allow: Sequence[str] = ()) -> Redacted:
    """Replace every secret. Existing placeholders stay as they are."""
    hits = search.find_all(text, allowlist.judge(allow))
    findings, pieces, at = [], [], 0
    for hit in hits:
        instead = placeholder_for(hit.secret, hit.kind, key)
        findings.append(_finding(hit, instead))
        pieces += [text[at : hit.start], instead]
        at = hit.end
    return Redacted(text="".join([*pieces, text[at:]]), findings=tuple(findings), rules=at_hand())


class Known:
    """Secrets that were found elsewhere, with their kinds, to be replaced in other texts. A text is searched once,
    however many secrets there are, and of two the longer one is replaced. A plain word is a secret only where it was
    found: elsewhere it is a word."""

    def __init__(self, secrets: Mapping[str, str], key: bytes, allow: Sequence[str] = ()) -> None:
        is_allowed = allowlist.judge(allow)
        self._key = key
        self._kinds = {
            one: kind for one, kind in secrets.items() if value_shape.is_telling(one) and not is_allowed(one)
        }
        self._size = min(map(len, self._kinds), default=0)
        self._heads: dict[str, list[str]] = {}
        for secret in sorted(self._kinds, key=len, reverse=True):
            self._heads.setdefault(secret[: self._size], []).append(secret)

    def out_of(self, text: str) -> tuple[str, set[str]]:
        """A text without the secrets, and the placeholders in it."""
        placeholders, pieces, at = set(), [], 0
        for start in self._starts(text):
            likely = self._heads[text[start : start + self._size]] if start >= at else ()
            secret = next((one for one in likely if search.stands_at(text, start, one)), "")
            if secret:
                instead = placeholder_for(secret, self._kinds[secret], self._key)
                placeholders.add(instead)
                pieces += [text[at:start], instead]
                at = start + len(secret)
        return "".join([*pieces, text[at:]]), placeholders

    def _starts(self, text: str) -> Iterable[int]:
        """The places where a secret might begin."""
        if len(self._kinds) <= FEW and not any(secret in text for secret in self._kinds):
            return ()
        last = len(text) - self._size + 1
        return (at for at in range(last) if text[at : at + self._size] in self._heads)


def scan(text: str, allow: Sequence[str] = ()) -> tuple[Finding, ...]:
    """What would be replaced: a last check of what is about to leave."""
    return tuple(_finding(hit, "") for hit in search.find_all(text, allowlist.judge(allow)))


def at_hand() -> str:
    """The available rules, in words. Without the library, only Segue's own."""
    return betterleaks.rules()


def placeholder_for(secret: str, kind: str, key: bytes) -> str:
    if len(key) < SHORTEST_KEY:
        raise ValueError(f"a key has at least {SHORTEST_KEY} bytes")
    hashed = blake2b(secret.encode("utf-8", "surrogatepass"), key=key[:64], digest_size=3, person=b"secret")
    return placeholder(kind, hashed.hexdigest())


def _finding(hit: Hit, instead: str) -> Finding:
    return Finding(
        kind=hit.kind,
        placeholder=instead,
        start=hit.start,
        length=hit.end - hit.start,
        encoding=hit.encoding,
    )
