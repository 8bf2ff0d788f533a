"""A fast `encode.to_json` for plain values: same output, without loading msgspec. Rare values fall back to it."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:  # importing typing is slow
    from typing import Any


def to_json(value: Any, margin: str = "\n") -> str:
    """Encode a plain value as indented JSON."""
    kind = type(value)
    if kind is str:
        return f'"{value}"' if _is_written_as_it_is(value) else _usual(value)
    if kind is int:
        return str(value)
    if kind is float:
        text = repr(value)
        return _usual(value) if "e" in text or "n" in text else text
    if value is None or kind is bool:
        return {None: "null", True: "true", False: "false"}[value]
    inner = margin + "  "
    if kind is dict:
        lines = [f"{to_json(key)}: {to_json(each, inner)}" for key, each in value.items()]
        return f"{{{inner}{f',{inner}'.join(lines)}{margin}}}" if lines else "{}"
    lines = [to_json(each, inner) for each in value]
    return f"[{inner}{f',{inner}'.join(lines)}{margin}]" if lines else "[]"


def _is_written_as_it_is(text: str) -> bool:
    return text.isascii() and text.isprintable() and '"' not in text and "\\" not in text


def _usual(value: Any) -> str:
    from segue.faces import encode  # lazy: it loads msgspec

    return encode.to_json(value)
