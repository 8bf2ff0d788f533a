"""Values as JSON for programs."""

from __future__ import annotations

from typing import Any

import msgspec


def to_json(value: Any, indent: int = 2) -> str:
    """Encode a value as JSON, on one line if `indent` is 0. Invalid UTF-8 is replaced."""
    try:
        encoded = msgspec.json.encode(value, enc_hook=str)
    except RecursionError:
        encoded = msgspec.json.encode({"error": "nested too deeply to be shown"})
    except UnicodeEncodeError:
        encoded = msgspec.json.encode(_encodable(msgspec.to_builtins(value, enc_hook=str)))
    return msgspec.json.format(encoded, indent=indent or -1).decode()


def _encodable(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode(errors="replace").decode()
    if isinstance(value, dict):
        return {_encodable(key): _encodable(inner) for key, inner in value.items()}
    return [_encodable(inner) for inner in value] if isinstance(value, list | tuple) else value
