"""Redaction of texts and files, and the key of the placeholders.

The key is 32 random bytes per machine, readable only by the user, created on first use. With the key, a guess at a
secret can be confirmed, so it never leaves the machine.
"""

from __future__ import annotations

import contextlib
import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from msgspec import Struct

from segue import redact as rules
from segue.base import files
from segue.errors import BadInput, SecretsLeft, StoreDamaged, StoreExposed, StoreForeign
from segue.ops.common.desk import Desk
from segue.redact import Redacted

KEY_FILE = "redaction.key"
KEY_BYTES = 32
STDIN = "-"
PIECE = 16_000_000
"""Files up to this size are scanned as a whole; larger ones in pieces, split between lines."""
LONGEST_LINE = 64_000_000
UTF_16 = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}
HELP = "segue redact --help"


class Found(Struct, frozen=True):
    """A secret in a file: its place and kind, never its text."""

    line: int
    column: int
    kind: str
    encoding: str
    placeholder: str


class Report(Struct, frozen=True):
    file: str
    findings: tuple[Found, ...]
    kinds: dict[str, int]
    rules: str
    """Which rules were available."""
    is_check: bool = False
    """Whether the file was only checked."""


def key(desk: Desk) -> bytes:
    """This machine's key, created on first use."""
    from segue.store import os_errors  # lazy: as the desk does

    path = desk.places.data / KEY_FILE
    with os_errors.translated(path):
        if not path.exists():
            _make_key(path)
        if not files.is_ours(path):
            raise StoreForeign(place=path)
        if what := files.exposure(path):
            raise StoreExposed(place=path, what=what)
        content = files.read_file(path, 1 << 16)
    if len(content) != KEY_BYTES:
        raise StoreDamaged(place=path, what="it is not a key")
    return content


def _make_key(path: Path) -> None:
    files.make_private_folder(path.parent)
    temporary = path.with_name(f"{files.TEMPORARY}{os.urandom(8).hex()}")
    try:
        files.write_file(temporary, os.urandom(KEY_BYTES))
        # If two processes create a key at once, the first one wins.
        with contextlib.suppress(FileExistsError):
            path.hardlink_to(temporary)
        files.sync_folder(path.parent)
    finally:
        temporary.unlink(missing_ok=True)


def redact(desk: Desk, text: str, allow: Sequence[str] = ()) -> Redacted:
    """Replace secrets in a text, except those that the settings allow."""
    return rules.redact(text, key=key(desk), allow=(*desk.settings.redact_allow, *allow))


def assure_clean(text: str, allow: Sequence[str] = (), nonce: str = "") -> None:
    """Refuse a text that still contains secrets. The nonce of its fences is not a secret."""
    if findings := rules.scan(text, (*allow, nonce) if nonce else allow):
        kinds = Counter(finding.kind for finding in findings)
        raise SecretsLeft(count=len(findings), kinds=", ".join(sorted(kinds)))


def redact_file(
    desk: Desk,
    name: str,
    *,
    stdin: BinaryIO | None,
    write: Callable[[bytes], None] | None,
    allow: Sequence[str] = (),
) -> Report:
    """Redact a file or standard input and write the result; without `write`, only report. Bytes that are not text pass
    unchanged."""
    allow = (*desk.settings.redact_allow, *allow)
    findings: list[Found] = []
    line = 1
    with _opened(desk.cwd, name, stdin) as file:
        for text, encoding in _texts(file, name):
            if write is None:
                findings += _placed(text, rules.scan(text, allow), line)
            else:
                redacted = rules.redact(text, key=key(desk), allow=allow)
                write(redacted.text.encode(encoding, "surrogateescape"))
                findings += _placed(text, redacted.findings, line)
            line += text.count("\n")
    kinds = dict(Counter(each.kind for each in findings).most_common())
    return Report(name, tuple(findings), kinds, rules.at_hand(), write is None)


def _placed(text: str, findings: Sequence[rules.Finding], line: int) -> Iterator[Found]:
    at = 0
    for finding in findings:
        line += text.count("\n", at, finding.start)
        at = finding.start
        column = at - text.rfind("\n", 0, at)
        yield Found(line, column, finding.kind, finding.encoding, finding.placeholder)


@contextlib.contextmanager
def _opened(cwd: Path, name: str, stdin: BinaryIO | None) -> Iterator[BinaryIO]:
    if name == STDIN:
        if stdin is None:
            raise BadInput(what="Standard input is empty: nothing was piped in.", next=HELP)
        yield stdin
        return
    try:
        with files.open_file(cwd / name) as file:
            yield file
    except FileNotFoundError:
        raise BadInput(what=f"There is no file '{name}'.", next=HELP) from None
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise BadInput(what=f"{name} cannot be read: {why}.", next=HELP) from None


def _texts(file: BinaryIO, name: str) -> Iterator[tuple[str, str]]:
    """A file's text in pieces, with its encoding. Invalid UTF-8 passes unchanged."""
    held = b""
    while content := file.read(PIECE):
        if not held and (encoding := UTF_16.get(content[:2])):
            yield _whole_utf_16(content + file.read(PIECE), name, encoding), encoding
            return
        held += content
        cut = _cut(held) if len(content) == PIECE else len(held)
        if len(held) - cut > LONGEST_LINE:
            raise BadInput(
                what=f"{name} has a line of more than {LONGEST_LINE // 1_000_000} MB.",
                next="split long lines first: fold -b -w 1000000 FILE | segue redact -",
            )
        if cut:
            yield held[:cut].decode("utf-8", "surrogateescape"), "utf-8"
            held = held[cut:]
    if held:
        yield held.decode("utf-8", "surrogateescape"), "utf-8"


def _cut(held: bytes) -> int:
    """Where to split: after a newline, and not inside a private key."""
    cut = held.rfind(b"\n") + 1
    begin = held.rfind(b"-----BEGIN ", max(0, cut - rules.LONGEST), cut)
    if begin > 0 and held.find(b"-----END ", begin, cut) < 0:
        return held.rfind(b"\n", 0, begin) + 1 or cut
    return cut


def _whole_utf_16(content: bytes, name: str, encoding: str) -> str:
    try:
        if len(content) <= PIECE:
            return content.decode(encoding)
    except UnicodeDecodeError:
        pass
    raise BadInput(
        what=f"{name} is UTF-16 and either damaged or larger than {PIECE // 1_000_000} MB.",
        next="iconv -f UTF-16 -t UTF-8 FILE | segue redact -",
    )
