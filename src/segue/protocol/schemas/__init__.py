"""The built-in schemas: of the handoff document, and of the answers that a handoff may request by name.

A schema requires no more than its name promises, and allows additional fields. For more, write a schema file of your
own.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from segue.model import Tier
from segue.protocol import document as protocol_document
from segue.tiers import shapes

DOCUMENT = "Handoff"
FOLDER = Path(__file__).parent

ANY_BUT_BREAKS = r"^[^\n\r\u000b\u000c\u001c-\u001e\u0085\u2028\u2029]*$"
WORDS = rf"\s*(?:[^\s/\\]+(?:\s+[^\s/\\]+){{0,{shapes.NAME_WORDS - 1}}})?\s*"
NAME = rf"^{WORDS}(?:[/\\]{WORDS})*$"


def names() -> list[str]:
    return sorted([DOCUMENT, *(path.stem for path in FOLDER.glob("*.json"))])


def get(name: str) -> dict[str, Any] | None:
    """The built-in schema with that name, or None."""
    if name == DOCUMENT:
        return document()
    if name not in names():
        return None
    schema: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text())
    return schema


def document() -> dict[str, Any]:
    """The JSON Schema of the handoff document. Whatever it refuses, `segue protocol check` refuses too, but not the
    other way round: it cannot check origins, `not_passed` and contents by name."""
    form = _object(
        {
            "from_agent": _ref("line"),
            "to_agent": _ref("line"),
            "context_level": {"enum": list(Tier)},
            "payload": {"type": "object"},
            "not_passed": {
                "type": "array",
                "items": _ref("line"),
                "maxItems": protocol_document.MOST_ENTRIES,
            },
            "expected_output": _ref("expected_output"),
            "origins": {
                "type": "object",
                "additionalProperties": _object(
                    {"from_agent": _ref("line"), "context_level": {"enum": list(Tier)}}, ["from_agent"]
                ),
                "maxProperties": protocol_document.MOST_ENTRIES,
            },
        },
        protocol_document.REQUIRED,
    )
    form["allOf"] = [
        {"if": _with("context_level", {"const": tier}), "then": _with("payload", _payload(tier))}
        for tier in Tier
    ]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": DOCUMENT,
        "description": "Who hands what to whom, at which tier, what is left out, and what must come back.",
        "anyOf": [_object({"handoff": _ref("form")}, ["handoff"]), _ref("form")],
        "$defs": {
            "form": form,
            "expected_output": _expected_output(),
            "line": _line(1),
            "value": {"type": ["string", "number", "boolean", "null"]},
            "short": {"anyOf": [{"type": ["number", "boolean", "null"]}, _line(0)]},
            "name": {"anyOf": [{"type": ["number", "boolean", "null"]}, _line(0) | {"pattern": NAME}]},
        },
    }


def _expected_output() -> dict[str, Any]:
    expected = _object(
        {"format": {"enum": list(protocol_document.FORMATS)}, "schema": _ref("line")}, ["format"]
    )
    return expected | {"if": _with("format", {"enum": ["yaml", "json"]}), "then": {"required": ["schema"]}}


def _payload(tier: Tier) -> dict[str, Any]:
    """The shapes of a tier, according to its rules."""
    rules = shapes.RULES[tier]
    if rules.nested:
        return {"propertyNames": _line(0)}
    value = _ref("value" if rules.contents else "short")
    inner = value if rules.contents else _ref("name")
    flat = {
        "type": "object",
        "propertyNames": _line(0),
        "additionalProperties": {"anyOf": [value, {"type": "array", "items": inner}]},
    }
    items = [value if rules.sentences else _ref("name"), *([flat] if rules.items else [])]
    fields = [value, {"type": "array", "items": {"anyOf": items}}, *([flat] if rules.objects else [])]
    return {"propertyNames": _line(0), "additionalProperties": {"anyOf": fields}}


def _line(least: int) -> dict[str, Any]:
    return {
        "type": "string",
        "minLength": least,
        "maxLength": shapes.ONE_LINE,
        "pattern": ANY_BUT_BREAKS,
    }


def _object(properties: dict[str, Any], required: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "required": list(required),
        "properties": properties,
        "additionalProperties": False,
    }


def _with(name: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"properties": {name: schema}}


def _ref(name: str) -> dict[str, Any]:
    return {"$ref": f"#/$defs/{name}"}
