"""Secrets found by their surroundings: in addresses, headers, cookies, key files, command lines.

Each rule begins with letters, so that possible places are found quickly, and none looks further than a fixed length:
a transcript can contain lines of any length, written by anyone.
"""

from __future__ import annotations

import binascii
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from segue.base.lazy_regex import lazy_pattern
from segue.redact import kubernetes, value_shape
from segue.redact.view import ESCAPED, FILLER, Hit

SHORTEST_KEY, LONGEST_KEY = 32, 20_000
WORD = rf"[^\s\"'`<>\\{FILLER}{ESCAPED}]"
QUOTES = rf"[\"'`\\ \t{ESCAPED}]{{0,6}}"
LINE = r"[^\r\n]"

Judge = Callable[[str, re.Match[str]], bool]


def _any(value: str, _found: re.Match[str]) -> bool:
    return not value_shape.is_dummy(value) and not value_shape.VARIABLE.fullmatch(value)


def _random(value: str, _found: re.Match[str]) -> bool:
    return value_shape.is_random(value) or value_shape.is_gibberish(value)


def _no_plain(value: str, found: re.Match[str]) -> bool:
    return (
        _any(value, found)
        and not value_shape.NUMBER.fullmatch(value)
        and not value_shape.FILE.fullmatch(value)
    )


def _in_address(value: str, found: re.Match[str]) -> bool:
    """Anything but a stand-in. A port is not a password: '://host:8080/@scope'."""
    stand_ins = ("password", "passwd", "pass", "pwd", "secret", "token", "pw", found.group("user").lower())
    return not (
        value.lower() in stand_ins
        or any(sign in value for sign in ("(.", "[^", ":("))
        or re.match(r"\d{1,5}/", value)
        or value_shape.VARIABLE.fullmatch(value)
        or value_shape.STAND_IN.search(value)
        or set(value) <= set("*x.-_#?")
    )


def _in_header(value: str, found: re.Match[str]) -> bool:
    if found.group("scheme") is None:
        return value_shape.is_random(value)
    return _any(value, found) and (not value_shape.is_plain(value) or value_shape.is_gibberish(value))


def _user_and_password(value: str, _found: re.Match[str]) -> bool:
    """Whether a value is user and password in base64."""
    try:
        inner = binascii.a2b_base64(value + "=" * (-len(value) % 4))
    except ValueError:
        return False
    return b":" in inner and all(32 <= byte < 127 for byte in inner)


def _in_query(value: str, found: re.Match[str]) -> bool:
    return found.string[found.start() - 1 : found.start()] in ("?", "&", ";", "-", "_") and _any(value, found)


COMMANDS = {
    "a": r"redis-cli\b",
    "-pass": r"redis-cli\b",
    "p": r"(?:login|sshpass|mongo(?:sh|dump|restore|export|import)|\bzip)\b",
    "w": r"\bldap(?:search|modify|add|delete|passwd|whoami)\b",
    "n": r"ssh-keygen\b",
    "b": r"secret[ \t]+set\b",
    "-body": r"secret[ \t]+set\b",
    "-value": r"secret[ \t]+set\b|put-parameter\b.*(?:pass|secret|token|key|secure)",
}
"""The commands that take a secret after each flag."""


def _given(value: str, found: re.Match[str]) -> bool:
    line = found.string[max(0, found.start() - 200) : found.start()].rpartition("\n")[2]
    command = rf"(?:{COMMANDS[found.group('flag')]})(?!.*(?:&&|[;|]))"
    return re.search(command, line) is not None and _no_plain(value, found)


def _after_host(value: str, found: re.Match[str]) -> bool:
    line = found.string[max(0, found.start() - 130) : found.start()].rpartition("\n")[2]
    return re.search(r"(?:^|[\s\"'=(])[\w.*-]{1,128}$", line) is not None and _no_plain(value, found)


PASSED = rf"(?!-)[\"']?(?P<secret>{WORD}{{4,200}})"
"""The value of a command's flag."""
PIPED = (
    r"[\"']?(?:[\w.-]{1,32}:(?=\S{1,200}[ \t]{0,4}\|[^\r\n]{0,20}chpasswd))?"
    rf"(?P<secret>[^\s\"'`<>|\\{FILLER}{ESCAPED}]{{4,200}})"
    r"[\"']?[ \t]{0,4}\|[ \t]{0,4}[^\r\n|]{0,120}?(?:--password-stdin|chpasswd|secret set\b|sudo -s\b)"
)
"""Text that is piped into a command that reads a password."""


class Rule(NamedTuple):
    kind: str
    judge: Judge
    sign: str
    """The literal beginning of its pattern: few texts contain it, and a search for it is fast."""
    pattern: re.Pattern[str]


def _rules(*rows: tuple[str, Judge, str]) -> tuple[Rule, ...]:
    return tuple(Rule(kind, judge, _sign(pattern), lazy_pattern(pattern)) for kind, judge, pattern in rows)


def _sign(pattern: str) -> str:
    """The literal characters at the beginning of a pattern, without a last one that is optional."""
    found = re.match(r"(?:\\[$]|[A-Za-z0-9 :/_-](?![?*{]))*", pattern)
    return found.group().replace("\\", "") if found else ""


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
    (
        "password",
        _no_plain,
        rf"login[ \t\r\n]{{1,4}}\S{{1,128}}[ \t\r\n]{{1,8}}password[ \t]{{1,4}}(?P<secret>{WORD}{{3,200}})",
    ),
    ("password", _given, rf" -(?P<flag>[abnpw]|-pass|-body|-value)[ =]?{PASSED}"),
    (
        "password",
        _no_plain,
        r"htpasswd[ \t]{1,4}-(?=[a-z]{0,8}b)(?:[a-z]{0,8}n[a-z]{0,8}|[a-z]{1,8}[ \t]{1,4}[^\s-]\S{0,200})"
        rf"[ \t]{{1,4}}[\w.@-]{{1,64}}[ \t]{{1,4}}{PASSED}",
    ),
    ("password", _no_plain, rf"-pass(?:in|out)?[ \t]{{1,4}}[\"']?pass:{PASSED}"),
    ("password", _no_plain, rf"convertto-securestring[ \t]{{1,4}}(?:-string[ \t]{{1,4}})?(?=[\"']){PASSED}"),
    ("password", _no_plain, rf"echo[ \t]{{1,4}}(?:-n[ \t]{{1,4}})?{PIPED}"),
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
"""Rules that ignore case."""
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
NOISE = rf"[^A-Za-z0-9\x00{FILLER}\x04-\x08\x0b-\x1f]|\r"
BEFORE = (
    rf"(?:(?:{NOISE}){{0,60}}?(?:\d{{1,7}}(?:(?![/+=])(?:{NOISE})){{1,8}}){{0,2}}"
    rf"|(?:{NOISE}){{0,8}}[\r\n][ \t]{{0,8}}[\w./@-]{{1,100}}[ \t]{{0,8}}[-:|][ \t]{{0,4}}(?:\d{{1,7}}[-:|])?)"
)
"""What dumps put before a line of a key: quotes, signs of a diff or of code, line number, file name, host."""
HEADERS = lazy_pattern(
    rf"(?:{BEFORE}(?:Proc-Type|DEK-Info|Version|Comment|Charset|Hash):[^\r\n{FILLER}]{{0,200}}){{0,6}}"
)
BASE64 = r"(?:[A-Za-z0-9+/]|\\+(?:/|u00[23][0-9A-Fa-f]))"
"""A character of a key; slashes and signs may be escaped."""
KEY_LINE = lazy_pattern(rf"{BEFORE}(?P<piece>{BASE64}{{16,}}+={{0,3}})(?!_|\.(?!\.)|-(?!-))")
END = lazy_pattern(
    rf"(?:{BEFORE}(?P<piece>{BASE64}{{1,15}}={{0,3}})(?![\w.]))?(?:{BEFORE}=[A-Za-z0-9+/]{{4}}(?![\w+/]))?{BEFORE}"
    r"-----END (?:[A-Z0-9]+ ){0,4}PRIVATE KEY(?: BLOCK)?-----"
)
"""The last line, perhaps short, perhaps a checksum, and the marker."""
COOKIES = re.compile(rf"cookies?{QUOTES}(?:[:=]{QUOTES})?(?P<all>[^\r\n\"'`{FILLER}]{{8,8192}})")
COOKIE = re.compile(rf"[\w.$!-]{{1,64}}=(?P<secret>[^\s;,\"{ESCAPED}]{{12,4096}})")


Signed = tuple[list[tuple[str, Rule]], list[tuple[str, Rule]]]
"""The rules of either kind, each with its sign."""
BY_SIGN: Signed = ([(rule.sign, rule) for rule in LOWER], [(rule.sign, rule) for rule in EXACT])


def narrowed(view: str, low: str) -> Signed:
    """The rules whose signs are in a text: no other rule can match a part of it."""
    return [one for one in BY_SIGN[0] if one[0] in low], [one for one in BY_SIGN[1] if one[0] in view]


def find(view: str, low: str, rules: Signed = BY_SIGN) -> Iterator[Hit]:
    if "-----BEGIN " in view:
        yield from _private_keys(view)
    if "cookie" in low:
        yield from _cookies(view, low)
    if "kind" in low and "secret" in low:
        yield from kubernetes.find(view, low)
    for text, signed in ((low, rules[0]), (view, rules[1])):
        for rule in [rule for sign, rule in signed if sign in text]:
            for found in rule.pattern.finditer(text):
                start, end = found.span("secret")
                value = view[start:end]
                if rule.judge(value, found):
                    yield Hit(start, end, rule.kind, value)


def _private_keys(view: str) -> Iterator[Hit]:
    """Private keys, whole or cut off."""
    at = view.find("-----BEGIN ")
    while at >= 0:
        begin = BEGIN.match(view, at)
        body, stop = _body_of_key(view, begin.end()) if begin else ("", at)
        is_key = len(body) >= SHORTEST_KEY and value_shape.is_base64(body)
        if is_key:
            yield Hit(at, stop, "private-key", body)
        at = view.find("-----BEGIN ", stop if is_key else at + 11)


def _body_of_key(view: str, start: int) -> tuple[str, int]:
    """The lines of a key after its marker, and where they end; None if the text only mentions the marker."""
    last = min(len(view), start + LONGEST_KEY)
    headers = HEADERS.match(view, start, last)
    at = headers.end() if headers else start
    pieces: list[str] = []
    while line := KEY_LINE.match(view, at, last):
        pieces.append(line.group("piece"))
        at = line.end()
    end = END.match(view, at, last)
    if end and end.group("piece"):
        pieces.append(end.group("piece"))
    return "".join(pieces), end.end() if end else at


def _cookies(view: str, low: str) -> Iterator[Hit]:
    for found in COOKIES.finditer(low):
        for cookie in COOKIE.finditer(view, *found.span("all")):
            value = cookie.group("secret")
            if value_shape.is_random(value) or value_shape.UUID.fullmatch(value):
                yield Hit(*cookie.span("secret"), "cookie", value)
