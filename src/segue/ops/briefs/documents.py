"""Handoff documents on disk: checks against their tier, reduction to a narrower tier, and checks of answers.

Nothing here writes a file. A document is untrusted: a schema file that it names is only read from its own folder, and a
model that it names is only imported if the user allows it.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import msgspec
from msgspec import Struct

from segue.base import files, yaml_json
from segue.base.yaml_json import Notation
from segue.errors import BadInput, Refused
from segue.model import ExpectedOutput, Tier
from segue.protocol import document, expected_output, schemas
from segue.protocol.document import HandoffForm
from segue.protocol.expected_output import Kind, Problem, SchemaName
from segue.tiers import Misfit

STDIN = "-"
CHECK_HELP = "segue protocol check --help"
JUDGE_SECONDS = 5
"""Time limit for a schema from a file: a few lines of one can keep a validator busy for years."""
JUDGE = "from segue.protocol.expected_output import judge; judge()"


class Documents(Struct, frozen=True):
    """Sources of documents: the current folder and standard input."""

    cwd: Path
    stdin: BinaryIO | None = None

    def read(self, name: str) -> bytes:
        if name == STDIN:
            if self.stdin is None:
                raise BadInput(what="Standard input is empty: nothing was piped in.", next=CHECK_HELP)
            return self.stdin.read(yaml_json.LARGEST + 1)
        try:
            with files.open_file(self.cwd / name) as file:
                return file.read(yaml_json.LARGEST + 1)
        except FileNotFoundError:
            raise BadInput(what=f"There is no file '{name}'.", next=CHECK_HELP) from None
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or str(error)
            raise BadInput(what=f"{name} cannot be read: {why}.", next=CHECK_HELP) from None

    def form(self, name: str) -> tuple[HandoffForm, Notation]:
        return document.read(self.read(name), _called(name))


class Answer(Struct, frozen=True):
    """An answer, the schema that it was checked against, and where it does not match."""

    file: str
    format: str
    schema: str
    problems: tuple[Problem, ...]


class Checked(Struct, frozen=True):
    """The result of checking a document."""

    file: str
    from_agent: str
    to_agent: str
    context_level: Tier
    passed: int
    """Number of fields in the payload."""
    not_passed: int
    expected_output: ExpectedOutput
    misfits: tuple[Misfit, ...]
    answer: Answer | None = None
    note: str = ""
    """A remark about the schema that the document names."""
    next: str = ""
    """The next step, if there are misfits."""

    @property
    def fits(self) -> bool:
        return not self.misfits and not (self.answer and self.answer.problems)


class Reduced(Struct, frozen=True):
    form: HandoffForm
    fallen: tuple[Misfit, ...]
    notation: Notation


class Wanted(Struct, frozen=True):
    """The answer to check: its file, the schema if the user names one, and whether a model named by the document may be
    imported."""

    file: str
    schema: str = ""
    may_import: bool = False


def check(
    documents: Documents, file: str, received: Sequence[str] = (), answer: Wanted | None = None
) -> Checked:
    """Check a document against its tier, and an answer against the document's expected output."""
    piped = [name for name in (file, *received, answer.file if answer else "") if name == STDIN]
    if len(piped) > 1:
        raise BadInput(what="Only one file can be read from standard input.", next=CHECK_HELP)
    form, _written_in = documents.form(file)
    misfits = document.check(form, [documents.form(name)[0] for name in received])
    is_reducible = not received or misfits == document.check(form)
    return Checked(
        file=_called(file),
        from_agent=form.from_agent,
        to_agent=form.to_agent,
        context_level=form.context_level,
        passed=len(form.payload),
        not_passed=len(form.not_passed),
        expected_output=form.expected_output,
        misfits=misfits,
        answer=check_answer(documents, file, form.expected_output, answer) if answer else None,
        note="" if answer else _note(form.expected_output),
        next=_next(file, form.context_level, is_reducible) if misfits else "",
    )


def _next(file: str, tier: Tier, is_reducible: bool) -> str:
    if is_reducible:
        return f"segue protocol reduce {shlex.quote(file)} --to {tier} removes the fields that do not fit"
    return "remove these fields, or list the sender's own in origins; then run segue protocol check again"


def reduce(documents: Documents, file: str, to: Tier) -> Reduced:
    """Reduce a document to a narrower tier, and list what was removed."""
    form, written_in = documents.form(file)
    reduced, fallen = document.reduce(form, to)
    return Reduced(reduced, fallen, written_in)


def schema(name: str = "") -> dict[str, Any]:
    """The schema of the handoff document, or a built-in schema."""
    found = schemas.get(name.removesuffix("[]") or schemas.DOCUMENT)
    if found is None:
        raise _unknown(name)
    return found


# Answers


def check_answer(documents: Documents, file: str, expected: ExpectedOutput, answer: Wanted) -> Answer:
    named = answer.schema or expected.schema
    value = expected_output.read(
        documents.read(answer.file),
        ExpectedOutput(format=expected.format, schema=named),
        _called(answer.file),
    )
    found: tuple[Problem, ...] = ()
    if named:
        wanted = expected_output.schema_name(named)
        folder = documents.cwd if answer.schema or file == STDIN else (documents.cwd / file).parent
        found = _held_against(value, wanted, folder, documents.cwd, answer)
    return Answer(_called(answer.file), expected.format, named, found)


def _held_against(
    value: Any, wanted: SchemaName, folder: Path, cwd: Path, answer: Wanted
) -> tuple[Problem, ...]:
    if wanted.kind is Kind.MODEL:
        return _by_model(value, wanted, cwd, may_import=bool(answer.schema) or answer.may_import)
    if wanted.kind is Kind.FILE:
        content = _schema_file(wanted.name, folder, is_named_by_person=bool(answer.schema))
        return _judged(value, content, wanted)
    known = schemas.get(wanted.name)
    if known is None:
        raise _unknown(wanted.name)
    return expected_output.problems(value, known, is_list=wanted.is_list, name=wanted.name)


def _unknown(name: str) -> BadInput:
    import difflib  # lazy: only a mistake needs it

    close = difflib.get_close_matches(name[:60], schemas.names(), n=1)
    nearest = f" Did you mean {close[0]}?" if close else ""
    return BadInput(
        what=f"There is no schema '{name[:60]}'.{nearest} Built-in schemas: {', '.join(schemas.names())}.",
        next="segue protocol check FILE --output ANSWER --schema your-schema.json",
    )


def _schema_file(name: str, folder: Path, *, is_named_by_person: bool) -> Any:
    path = folder / name
    if not is_named_by_person and not path.resolve().is_relative_to(folder.resolve()):
        raise Refused(
            what=f"The document names a schema file outside its own folder: {name[:200]}.",
            next="segue protocol check FILE --output ANSWER --schema PATH allows it",
        )
    try:
        with files.open_file(path) as file:
            content = file.read(yaml_json.LARGEST + 1)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise BadInput(
            what=f"The schema file {name[:200]} cannot be read: {why}.",
            next="segue protocol check FILE --output ANSWER --schema PATH uses another",
        ) from None
    return yaml_json.read(content, name, next="segue protocol schema ImprovementReport shows a schema")[0]


def _judged(value: Any, content: Any, wanted: SchemaName) -> tuple[Problem, ...]:
    """Validate against an untrusted schema, in a process that can be killed if it takes too long."""
    asked = json.dumps([value, content, wanted.is_list, wanted.name]).encode()
    fix = "simplify that schema (segue protocol schema ImprovementReport prints an example)"
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-c", JUDGE], input=asked, capture_output=True, timeout=JUDGE_SECONDS
        )
    except subprocess.TimeoutExpired:
        what = f"{wanted.name} takes longer than {JUDGE_SECONDS} seconds to check this answer."
        raise BadInput(what=what, next=fix) from None
    if done.returncode:
        raise BadInput(what=f"{wanted.name} crashes the validator.", next=fix)
    said = msgspec.json.decode(done.stdout, type=expected_output.Verdict)
    if said.refused:
        raise BadInput(what=said.refused, next=fix)
    return said.problems


def _by_model(value: Any, wanted: SchemaName, cwd: Path, *, may_import: bool) -> tuple[Problem, ...]:
    if not may_import:
        raise Refused(
            what=f"The document names the model {wanted.name}, and importing it would run its code.",
            next="segue protocol check FILE --output ANSWER --import imports it (review that module first)",
        )
    module, _, name = wanted.name.replace(":", ".").rpartition(".")
    try:
        with _importing_from(cwd):
            model = getattr(importlib.import_module(module), name)
            if not callable(getattr(model, "model_validate", None)):
                raise TypeError(f"{name} is not a Pydantic model")
            return expected_output.problems_of_model(value, model, is_list=wanted.is_list)
    except (Exception, SystemExit) as error:
        raise BadInput(
            what=f"The model {wanted.name} cannot be used: {type(error).__name__}: {str(error)[:200]}.",
            next="run python -c 'import MODULE' in this folder to see the error",
        ) from error


@contextlib.contextmanager
def _importing_from(folder: Path) -> Iterator[None]:
    """Import as Python would in that folder. Output of the import goes to standard error."""
    sys.path.insert(0, str(folder))
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield
    finally:
        with contextlib.suppress(ValueError):
            sys.path.remove(str(folder))


def _note(expected: ExpectedOutput) -> str:
    wanted = expected_output.schema_name(expected.schema)
    if expected.schema and wanted.kind is Kind.BUILT_IN and wanted.name not in schemas.names():
        return f"'{expected.schema[:60]}' is not a built-in schema: pass a file or a model to check answers"
    return ""


def _called(name: str) -> str:
    return "stdin" if name == STDIN else name
