"""Secrets that what stands around them gives away: in addresses, headers, cookies, key files, command lines.

Each rule begins with letters, so that it is quick to find where it could hold, and none reaches further than it
says: a transcript can hold a line of any length, written by anyone.
"""

from __future__ import annotations

import binascii
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from segue.redact import manifests, shapes
from segue.redact.view import ESCAPED, FILLER, Hit

LONGEST_KEY = 20_000
WORD = rf"[^\s\"'`<>\\{FILLER}{ESCAPED}]"
QUOTES = rf"[\"'`\\ \t{ESCAPED}]{{0,6}}"
LINE = r"[^\r\n]"

Judge = Callable[[str, re.Match[str]], bool]


def _any(value: str, _found: re.Match[str]) -> bool:
    return not shapes.is_dummy(value) and not shapes.VARIABLE.fullmatch(value)


def _random(value: str, _found: re.Match[str]) -> bool:
    return shapes.is_random(value)


def _no_plain(value: str, found: re.Match[str]) -> bool:
    return _any(value, found) and not shapes.NUMBER.fullmatch(value) and not shapes.FILE.fullmatch(value)


def _in_address(value: str, found: re.Match[str]) -> bool:
    """Anything but a stand-in; and a port is no password: '://host:8080/@scope'."""
    stand_ins = ("password", "passwd", "pass", "pwd", "secret", "token", "pw", found.group("user").lower())
    return not (
        value.lower() in stand_ins
        or any(sign in value for sign in ("(.", "[^", ":("))
        or re.match(r"\d{1,5}/", value)
        or shapes.VARIABLE.fullmatch(value)
        or shapes.STAND_IN.search(value)
        or set(value) <= set("*x.-_#?")
    )


def _in_header(value: str, found: re.Match[str]) -> bool:
    if found.group("scheme") is None:
        return shapes.is_random(value)
    return _any(value, found) and not shapes.is_plain(value)


def _user_and_password(value: str, _found: re.Match[str]) -> bool:
    """Both, in base64."""
    try:
        inner = binascii.a2b_base64(value + "=" * (-len(value) % 4))
    except ValueError:
        return False
    return b":" in inner and all(32 <= byte < 127 for byte in inner)


def _in_query(value: str, found: re.Match[str]) -> bool:
    return found.string[found.start() - 1 : found.start()] in ("?", "&", ";", "-", "_") and _any(value, found)


def _after_host(value: str, found: re.Match[str]) -> bool:
    line = found.string[max(0, found.start() - 130) : found.start()].rpartition("\n")[2]
    return re.search(r"(?:^|[\s\"'=(])[\w.*-]{1,128}$", line) is not None and _no_plain(value, found)


class Rule(NamedTuple):
    kind: str
    judge: Judge
    pattern: re.Pattern[str]


def _rules(*rows: tuple[str, Judge, str]) -> tuple[Rule, ...]:
    return tuple(Rule(kind, judge, re.compile(pattern)) for kind, judge, pattern in rows)


LOWER = _rules(
    (
        "authorization",
        _in_header,
        rf"authorization{QUOTES}[:=,]{QUOTES}(?:[frb][\\{ESCAPED}]{{0,4}}[\"'])?"
        r"(?:(?P<scheme>[a-z][a-z0-9-]{1,20})[ \t]{1,3})?"
        r"(?P<secret>[a-z0-9._~+/=:%-]{8,4096})",
    ),
    ("bearer-token", _random, r"bearer[ \t]{1,3}(?P<secret>[a-z0-9._~+/=-]{16,4096})"),
    (
        "basic-auth",
        _user_and_password,
        r"basic[ \t]{1,3}(?P<secret>[a-z0-9+/]{12,1024}={0,2})(?![a-z0-9+/=])",
    ),
    ("signature", _in_query, r"sig(?:nature)?=(?P<secret>[\w%+/=-]{20,2048})"),
    (
        "password",
        _no_plain,
        rf"curl\b{LINE}{{0,250}}?[ \t](?:-u|--user)[ =]?[\"']?[^\s:\"']{{1,64}}:(?P<secret>{WORD}{{3,200}})",
    ),
    (
        "password",
        _no_plain,
        rf"mysql(?:dump|admin)?\b{LINE}{{0,200}}?[ \t]-p[\"']?(?P<secret>{WORD}{{4,100}})",
    ),
    ("password", _no_plain, rf"sshpass\b{LINE}{{0,40}}?[ \t]-p[ =]?[\"']?(?P<secret>{WORD}{{4,200}})"),
    ("password", _no_plain, rf"login\b{LINE}{{0,200}}?[ \t]-p[ =]?[\"']?(?P<secret>{WORD}{{4,200}})"),
    (
        "password",
        _no_plain,
        rf"login[ \t\r\n]{{1,4}}\S{{1,128}}[ \t\r\n]{{1,8}}password[ \t]{{1,4}}(?P<secret>{WORD}{{3,200}})",
    ),
    (
        "password",
        _no_plain,
        rf"identified[ \t]{{1,3}}(?:with[ \t]{{1,3}}\w{{1,40}}[ \t]{{1,3}})?by[ \t]{{1,3}}"
        rf"[\\{ESCAPED}]{{0,4}}[\"'](?P<secret>{WORD}{{4,128}})",
    ),
    (
        "private-key",
        _any,
        r"private-lines:[ \t]*\d{1,3}(?P<secret>(?:[\r\n]{1,4}[ \t]*[a-z0-9+/=]{1,80}){1,200})",
    ),
)
"""Rules that don't care for capitals."""
EXACT = _rules(
    (
        "url-password",
        _in_address,
        rf"://(?P<user>[^\s:/@\"'`<>\[(|^\\{FILLER}{ESCAPED}]{{0,128}}):(?P<secret>{WORD}{{1,160}}?)@(?=[\w\[.-])",
    ),
    (
        "npm-token",
        _any,
        rf":_(?:authToken|auth|password)[ \t]{{0,4}}=[ \t]{{0,4}}(?P<secret>{WORD}{{8,300}})",
    ),
    ("url-token", _random, r"://(?P<secret>[A-Za-z0-9_.~-]{20,255})(?::x-oauth-basic)?@(?=[\w\[.-])"),
    (
        "aws-secret-key",
        _random,
        r"(?:AKIA|ASIA)[A-Z2-7]{16}[^A-Za-z0-9/+]{1,4}(?:[\w -]{0,40}[^A-Za-z0-9/+]{1,4})?"
        r"(?P<secret>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])",
    ),
    (
        "password",
        _after_host,
        rf":(?:5432|5433|6432|\*):[\w*.-]{{1,64}}:[\w*.-]{{1,64}}:(?P<secret>{WORD}{{5,128}})",
    ),
    ("password-hash", _any, r"\$(?P<secret>2[abxy]?\$\d\d\$[./A-Za-z0-9]{53})"),
    ("password-hash", _any, r"\$argon2(?P<secret>(?:id|i|d)\$[\w=,$+/.-]{40,200})"),
    (
        "password-hash",
        _any,
        r"\$(?P<secret>(?:[156y]|gy|apr1|md5)[$,](?:rounds=\d+\$)?[./\w]{1,40}\$[./A-Za-z0-9$]{22,120})",
    ),
)

BEGIN = re.compile(r"-----BEGIN (?:[A-Z0-9]+ ){0,4}PRIVATE KEY(?: BLOCK)?-----")
END = re.compile(r"-----END (?:[A-Z0-9]+ ){0,4}PRIVATE KEY(?: BLOCK)?-----")
BODY = re.compile(r"[\sA-Za-z0-9+/=:,\\-]*")
COOKIES = re.compile(rf"cookies?{QUOTES}(?:[:=]{QUOTES})?(?P<all>[^\r\n\"'`{FILLER}]{{8,8192}})")
COOKIE = re.compile(rf"[\w.$!-]{{1,64}}=(?P<secret>[^\s;,\"{ESCAPED}]{{12,4096}})")


def find(view: str, low: str) -> Iterator[Hit]:
    yield from _private_keys(view)
    yield from _cookies(view, low)
    yield from manifests.find(view, low)
    for text, rules in ((low, LOWER), (view, EXACT)):
        for rule in rules:
            for found in rule.pattern.finditer(text):
                start, end = found.span("secret")
                value = view[start:end]
                if rule.judge(value, found):
                    yield Hit(start, end, rule.kind, value)


def _private_keys(view: str) -> Iterator[Hit]:
    """Whole; of a key that was cut off, what is left of it."""
    at = view.find("-----BEGIN ")
    while at >= 0:
        begin = BEGIN.match(view, at)
        stop = _end_of_key(view, begin.end()) if begin else at
        inner = "".join(view[begin.end() : stop].split()) if begin else ""
        is_key = len(inner) >= 32
        if is_key:
            yield Hit(at, stop, "private-key", inner)
        at = view.find("-----BEGIN ", stop if is_key else at + 11)


def _end_of_key(view: str, start: int) -> int:
    last = min(len(view), start + LONGEST_KEY)
    filler = view.find(FILLER, start, last)
    last = filler if filler >= 0 else last
    end = END.search(view, start, last)
    body = BODY.match(view, start, last)
    return end.end() if end else body.end() if body else start


def _cookies(view: str, low: str) -> Iterator[Hit]:
    for found in COOKIES.finditer(low):
        for cookie in COOKIE.finditer(view, *found.span("all")):
            value = cookie.group("secret")
            if shapes.is_random(value) or shapes.UUID.fullmatch(value):
                yield Hit(*cookie.span("secret"), "cookie", value)
