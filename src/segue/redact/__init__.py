"""Secrets out, before anything leaves: text in, text with placeholders and a list of findings out. Pure.

Found are: what a vendor's prefix gives away (`vendors`), what stands around a secret (`carried`), what its name
says (`named`, `paired`), what a maintained set of rules adds (`library`); all of it also in base64, behind percent
signs, behind JSON's escapes and in hex (`decoded`). A secret that was found once is replaced wherever it stands.
`glance` tells which of many texts are worth all that.

A placeholder, `[secret:github-token:7f3a9c]`, tells the kind and a keyed hash: the same secret has the same one
everywhere, and without the key it tells nothing. Findings never hold a secret.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b

from segue.model import Value
from segue.redact import allowlist, betterleaks, context_rules, search, value_shape
from segue.redact.view import Hit, placeholder

FEW = 20
"""So many known secrets are sooner looked for one by one."""
SHORTEST_KEY = 16
LONGEST = context_rules.LONGEST_KEY
"""Nothing that is seen as one secret is longer, base64 aside."""


class Finding(Value, frozen=True):
    """Where a secret stood, and what it was. Never the secret."""

    kind: str
    placeholder: str
    """Empty where the text was only looked at."""
    start: int
    length: int
    encoding: str
    """'plain', 'base64', 'url', 'json', 'hex'; with a + between them where one was inside another."""


class Redacted(Value, frozen=True):
    text: str
    findings: tuple[Finding, ...]
    """In the order of the text; their places are those in the text that was given."""
    rules: str
    """Which rules were at hand."""

    @property
    def kinds(self) -> dict[str, int]:
        """How many of each kind, most first."""
        return dict(Counter(finding.kind for finding in self.findings).most_common())


def redact(text: str, *, key: bytes, allow: Sequence[str] = ()) -> Redacted:
    """Replace every secret. What was redacted before stays as it is."""
    hits = search.find_all(text, allowlist.judge(allow))
    findings, pieces, at = [], [], 0
    for hit in hits:
        instead = placeholder_for(hit.secret, hit.kind, key)
        findings.append(_finding(hit, instead))
        pieces += [text[at : hit.start], instead]
        at = hit.end
    return Redacted(text="".join([*pieces, text[at:]]), findings=tuple(findings), rules=at_hand())


class Known:
    """Secrets that were recognised elsewhere, given with their kinds: they are taken out of texts that give none of
    them away. However many there are, a text is gone through once, and of two the longer one is taken out. A plain word
    was a secret in its place only: elsewhere it is a word."""

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
        """A text without them, and the placeholders that stand there instead."""
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
        """Where one of them might begin."""
        if len(self._kinds) <= FEW and not any(secret in text for secret in self._kinds):
            return ()
        last = len(text) - self._size + 1
        return (at for at in range(last) if text[at : at + self._size] in self._heads)


def scan(text: str, allow: Sequence[str] = ()) -> tuple[Finding, ...]:
    """What would be replaced: for a last look at what is about to leave."""
    return tuple(_finding(hit, "") for hit in search.find_all(text, allowlist.judge(allow)))


def at_hand() -> str:
    """Which rules there are, in words: without the library, our own do what they can."""
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
