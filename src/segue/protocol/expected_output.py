"""The check of an answer against the expected output: parsed in its format, and validated against a schema.

A schema is named in one of three ways, each with `[]` after it for a list:

    ImprovementReport             a built-in one
    schemas/report.json           a JSON Schema file
    package.module:Report         a Pydantic model; importing it runs code, so a document alone never causes that

Nothing is fetched because a schema refers to it, and patterns are matched in linear time.
"""

from __future__ import annotations

import itertools
import json
import re
import sys
from collections.abc import Iterator
from enum import StrEnum
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import msgspec

from segue.base import yaml_json
from segue.base.yaml_json import Notation
from segue.errors import BadInput
from segue.model import ExpectedOutput, Value

if TYPE_CHECKING:
    import jsonschema_rs

ROOT = "answer"
MOST = 50
"""At most this many problems are reported."""
LONGEST = 200
"""At most this many characters of a validator's message: it quotes the value."""
NEXT = "segue protocol schema NAME shows what is expected"
SAME_VALUE = ("allOf", "anyOf", "oneOf", "not", "if", "then", "else")
"""Keywords whose subschemas apply to the same value."""
REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
ANCHORS = ("$anchor", "$dynamicAnchor")
KEYWORDS = frozenset(
    (
        *("$schema", "$id", "$ref", "$dynamicRef", "$defs", "definitions", "type", "properties", "required"),
        *("items", "prefixItems", "enum", "const", "allOf", "anyOf", "oneOf", "not", "if", "then", "else"),
        *(
            "dependentRequired",
            "dependentSchemas",
            "additionalProperties",
            "patternProperties",
            "propertyNames",
        ),
        *("unevaluatedProperties", "unevaluatedItems", "contains", "minContains", "maxContains", "minimum"),
        *(
            "maximum",
            "exclusiveMinimum",
            "exclusiveMaximum",
            "multipleOf",
            "minLength",
            "maxLength",
            "pattern",
        ),
        *("format", "minItems", "maxItems", "uniqueItems", "minProperties", "maxProperties"),
    )
)
"""The keywords that constrain a value."""
FENCE = re.compile(r" {0,3}(`{3,}|~{3,})[ \t]*([\w+-]*)")
MODEL = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*:[A-Za-z_]\w*|(?:[A-Za-z_]\w*\.)+[A-Z]\w*")


class Kind(StrEnum):
    BUILT_IN = "built in"
    FILE = "file"
    MODEL = "model"


class SchemaName(Value, frozen=True):
    """The name of a schema: its kind, its location, and whether a list is meant."""

    kind: Kind
    name: str
    is_list: bool = False


class Problem(Value, frozen=True):
    """Where an answer differs from what was expected, and why."""

    path: str
    what: str

    def __str__(self) -> str:
        return f"{self.path}: {self.what}"


NO_LIST = Problem(path=ROOT, what="should be a list")


def schema_name(text: str) -> SchemaName:
    name = text.strip()
    is_list = name.endswith("[]")
    name = name.removesuffix("[]")
    if name.endswith((".json", ".yaml", ".yml")) or "/" in name:
        return SchemaName(kind=Kind.FILE, name=name, is_list=is_list)
    kind = Kind.MODEL if MODEL.fullmatch(name) else Kind.BUILT_IN
    return SchemaName(kind=kind, name=name, is_list=is_list)


# Parsing an answer


def read(data: bytes | str, expected: ExpectedOutput, name: str = "the answer") -> Any:
    """The parsed answer. Of Markdown: its front matter, or the only block of YAML or JSON in it; without a schema,
    the text."""
    text = data.decode(errors="replace") if isinstance(data, bytes) else data
    if expected.format == "markdown":
        if not text.strip():
            raise BadInput(what=f"{name} is empty.", next=NEXT)
        if not expected.schema:
            return text
        inside, written_in = _block(text[: yaml_json.LARGEST + 1], name)
        return yaml_json.read(inside, name, next=NEXT, notation=written_in)[0]
    written_in = Notation(expected.format)
    return yaml_json.read(_unwrapped(data, text), name, next=NEXT, notation=written_in)[0]


def _unwrapped(data: bytes | str, text: str) -> bytes | str:
    """An answer without the fence that agents like to put around all of it."""
    lines = text.strip().splitlines()
    opened = FENCE.fullmatch(lines[0].rstrip()) if len(lines) > 1 else None
    if opened and lines[-1].strip() == opened.group(1):
        return "\n".join(lines[1:-1])
    return data


def _block(text: str, name: str) -> tuple[str, Notation]:
    lines = text.removeprefix("\ufeff").splitlines()
    if lines and lines[0].rstrip() == "---":
        for end, line in enumerate(lines[1:], 1):
            if line.rstrip() in ("---", "..."):
                return "\n".join(lines[1:end]), Notation.YAML
    found = list(_fenced(lines))
    if len(found) == 1:
        return found[0]
    what = (
        "no block of YAML or JSON and no front matter"
        if not found
        else f"{len(found)} blocks of YAML or JSON"
    )
    raise BadInput(what=f"{name} has {what}; expected exactly one.", next=NEXT)


def _fenced(lines: list[str]) -> Iterator[tuple[str, Notation]]:
    opened: re.Match[str] | None = None
    start = 0
    for index, line in enumerate(lines):
        mark = FENCE.match(line)
        if opened is None:
            opened, start = mark, index + 1
        elif mark and not mark.group(2) and mark.group(1).startswith(opened.group(1)):
            language = opened.group(2).lower()
            if language in ("yaml", "yml", "json"):
                written_in = Notation.JSON if language == "json" else Notation.YAML
                yield "\n".join(lines[start:index]), written_in
            opened = None


# Validation against a schema


def problems(
    value: Any, schema: Any, *, is_list: bool = False, name: str = "the schema"
) -> tuple[Problem, ...]:
    """Where a value does not match a JSON Schema; empty if it does."""
    validator = _validator(schema, name)
    if is_list and not isinstance(value, list):
        return (NO_LIST,)
    found = (
        Problem(path=_path((*field, *error.instance_path)), what=_short(error.message))
        for field, item in _items(value, is_list)
        for error in validator.iter_errors(item)
    )
    return tuple(itertools.islice(found, MOST))


def problems_of_model(value: Any, model: Any, *, is_list: bool = False) -> tuple[Problem, ...]:
    """Where a value does not match a Pydantic model; empty if it does. The model brings Pydantic along."""
    if is_list and not isinstance(value, list):
        return (NO_LIST,)
    found = (
        Problem(path=_path((*field, *where)), what=_short(what))
        for field, item in _items(value, is_list)
        for where, what in _refusals(model, item)
    )
    return tuple(itertools.islice(found, MOST))


def _validator(schema: Any, name: str) -> jsonschema_rs.Validator:
    import jsonschema_rs  # lazy: only an answer needs it, and it takes as long to load as two starts of Python

    try:
        if isinstance(schema, dict) and schema and not KEYWORDS & schema.keys():
            raise ValueError("it has no keyword that requires anything")
        validator = jsonschema_rs.validator_for(
            schema, pattern_options=jsonschema_rs.RegexOptions(), retriever=_refuse
        )
        if _goes_in_circles(schema):
            raise ValueError("it refers to itself for the same value, so it would accept any answer")
        return validator
    except (ValueError, TypeError) as error:
        said = getattr(error, "message", None) or str(error)
        raise BadInput(
            what=f"{name} cannot be used as a JSON Schema: {_short(said)}.",
            next="correct that file; segue protocol schema ImprovementReport shows one that works",
        ) from None


def _goes_in_circles(schema: Any) -> bool:
    """Whether a schema applies itself to the same value without end. Applying itself to a part of the value ends."""
    import graphlib  # lazy: only an answer needs it

    objects = list(_objects(schema))
    names = {one[key]: one for one in objects for key in ANCHORS if isinstance(one.get(key), str)}
    asked = {id(one): [id(other) for other in _asked(one, schema, names)] for one in objects}
    try:
        graphlib.TopologicalSorter(asked).prepare()
    except graphlib.CycleError:
        return True
    return False


def _objects(schema: Any) -> Iterator[dict[str, Any]]:
    left, seen = [schema], set()
    while left:
        one = left.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        if isinstance(one, dict):
            yield one
            left += one.values()
        elif isinstance(one, list):
            left += one


def _asked(one: dict[str, Any], root: Any, names: dict[str, Any]) -> Iterator[Any]:
    """The subschemas that apply to the same value."""
    for key in SAME_VALUE:
        others = one.get(key)
        yield from others if isinstance(others, list) else (others,)
    for key in REFERENCES:
        if isinstance(one.get(key), str):
            yield _referred(one[key], root, names)


def _referred(reference: str, root: Any, names: dict[str, Any]) -> Any:
    """The target of a reference inside a schema; None if it is outside."""
    document, _, place = reference.partition("#")
    if document and not (isinstance(root, dict) and document == str(root.get("$id", "")).removesuffix("#")):
        return None
    if place and not place.startswith("/"):
        return names.get(place)
    found = root
    for step in unquote(place).split("/")[1:]:
        if isinstance(found, list):
            found = found[int(step)] if step.isdecimal() and int(step) < len(found) else None
        else:
            key = step.replace("~1", "/").replace("~0", "~")
            found = found.get(key) if isinstance(found, dict) else None
    return found


def _refusals(model: Any, value: Any) -> list[tuple[tuple[str | int, ...], str]]:
    try:
        model.model_validate(value)
    except ValueError as error:
        told = getattr(error, "errors", None)
        if callable(told):
            return [(tuple(one["loc"]), str(one["msg"])) for one in told()]
        return [((), str(error))]
    return []


def _items(value: Any, is_list: bool) -> list[tuple[tuple[int, ...], Any]]:
    return [((index,), item) for index, item in enumerate(value)] if is_list else [((), value)]


def _refuse(uri: str) -> Any:
    raise ValueError(f"Segue fetches nothing, and {uri[:100]} would have to be fetched")


def _path(steps: tuple[str | int, ...]) -> str:
    return ROOT + "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps)


def _short(text: str) -> str:
    line = " ".join(text[: 4 * LONGEST].split()).rstrip(".")
    return line if len(line) <= LONGEST else line[: LONGEST - 1] + "…"


# In a process of its own


class Verdict(Value, frozen=True):
    """The problems that a schema file finds in an answer, or why the schema cannot be used."""

    problems: tuple[Problem, ...] = ()
    refused: str = ""


def judge() -> None:
    """Validate an answer against a schema, both from stdin, and print the verdict."""
    value, schema, is_list, name = json.load(sys.stdin.buffer)
    try:
        verdict = Verdict(problems=problems(value, schema, is_list=is_list, name=name))
    except BadInput as error:
        verdict = Verdict(refused=str(error))
    sys.stdout.buffer.write(msgspec.json.encode(verdict))
