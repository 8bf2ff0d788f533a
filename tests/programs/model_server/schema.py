"""The smallest JSON that fits a JSON schema.

Programs ask small models for titles and routing decisions as JSON of a given shape, and retry for minutes
on anything else. The scripted model has nothing to say there, but must say it in the right shape.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

DEEPEST = 20


def smallest_instance(schema: Mapping[str, Any]) -> str:
    """JSON text of a small value that fits the schema."""
    return json.dumps(_value(schema, 0))


def _value(schema: Mapping[str, Any], depth: int) -> Any:
    if depth > DEEPEST:
        return None
    if "const" in schema:
        return schema["const"]
    if schema.get("enum"):
        return schema["enum"][0]
    for choice in ("anyOf", "oneOf", "allOf"):
        if schema.get(choice):
            return _value(schema[choice][0], depth + 1)
    kind = schema.get("type", "object")
    if isinstance(kind, list):
        kind = kind[0]
    return _of_type(str(kind).lower(), schema, depth)


def _of_type(kind: str, schema: Mapping[str, Any], depth: int) -> Any:
    if kind == "object":
        properties = schema.get("properties", {})
        wanted = schema.get("required", list(properties))
        return {name: _value(properties.get(name, {}), depth + 1) for name in wanted}
    if kind == "array":
        return [_value(schema.get("items", {}), depth + 1)] * int(schema.get("minItems", 0))
    if kind == "string":
        return "scripted".ljust(int(schema.get("minLength", 0)), "-")[: int(schema.get("maxLength", 1_000))]
    if kind in ("integer", "number"):
        return schema.get("minimum", 1)
    return False if kind == "boolean" else None
