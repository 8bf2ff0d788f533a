"""JSON without the `json` module, which takes longer to load than Python itself while an agent waits for its hooks.

Uses the parts of `json` that are written in C; falls back to `json` where they are missing.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:  # not from typing, which is slow to load
    from typing import Any

BLANK = " \t\r\n"


class _Usual:
    """The attributes that `make_scanner` reads."""

    strict = True
    object_hook = object_pairs_hook = None
    parse_float = float
    parse_int = int
    parse_constant = float


def parse(content: bytes) -> Any:
    """Parse a JSON document; raises ValueError if it is invalid."""
    text = content.decode()
    try:
        from _json import make_scanner  # lazy: it may be missing
    except ImportError:
        import json  # lazy: see the module's docstring

        return json.loads(text)
    bare = text.strip(BLANK)
    try:
        value, end = make_scanner(_Usual())(bare, 0)  # type: ignore[arg-type]
    except StopIteration:
        raise ValueError("this is not valid JSON") from None
    if end != len(bare):
        raise ValueError("this is not valid JSON: text follows its end")
    return value


def write(value: Any) -> str:
    """Render a plain value as JSON on one line."""
    if isinstance(value, str):
        return _quoted(value)
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, dict):
        return "{" + ",".join(f"{_quoted(key)}:{write(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(write, value)) + "]"
    return repr(value)


def _quoted(text: str) -> str:
    try:
        from _json import encode_basestring_ascii  # lazy: it may be missing
    except ImportError:
        import json  # lazy: see the module's docstring

        return json.dumps(text)
    return encode_basestring_ascii(text)
