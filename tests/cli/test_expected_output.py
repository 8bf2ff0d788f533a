"""Expected output: answers read in their format, and held against a schema by name, from a file, or a model."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot
from pydantic import BaseModel

from segue.errors import BadInput
from segue.model import ExpectedOutput
from segue.ops.briefs import documents
from segue.protocol import expected_output, schemas
from segue.protocol.expected_output import Kind
from tests.conftest import CommandLine
from tests.handoff_documents import MINIMAL, SELECTIVE


def expected(format: str, schema: str = "X") -> ExpectedOutput:
    return ExpectedOutput(format=format, schema=schema)


# Reading an answer


@pytest.mark.parametrize(
    ("format", "text"),
    [
        ("json", '{"a": [1]}'),
        ("json", '```json\n{"a": [1]}\n```\n'),
        ("yaml", "a: [1]"),
        ("yaml", "a:\n  - 1\n"),
        ("yaml", "```\na: [1]\n```"),
        ("markdown", "---\na: [1]\n---\n# Report\n\n```yaml\nb: 2\n```\n"),
        ("markdown", "# Report\n\n```yaml\na: [1]\n```\n\nThat is all."),
        ("markdown", 'Here it is:\n\n~~~ json\n{"a": [1]}\n~~~\n'),
        ("markdown", "```python\nx = 1\n```\n\n````yml\na: [1]\n````\n"),
    ],
)
def test_an_answer_is_read_in_its_format(format: str, text: str) -> None:
    assert expected_output.read(text, expected(format)) == {"a": [1]}
    assert expected_output.read(text.encode(), expected(format)) == {"a": [1]}


@pytest.mark.parametrize(
    ("format", "text", "says"),
    [
        ("json", "a: 1", "is not valid JSON"),
        ("json", "", "is empty"),
        ("yaml", "a: [", "is not valid YAML"),
        ("yaml", "a: !!python/name:os.system", "reads no tags"),
        ("json", b"\xff\xff", "is not UTF-8 text"),
        ("markdown", "# Only prose\n", "no block of YAML or JSON and no front matter"),
        ("markdown", "```yaml\na: 1\n```\n```json\n{}\n```\n", "2 blocks"),
        ("markdown", "```yaml\na: 1\n", "no block"),
        ("markdown", "  \n", "is empty"),
    ],
)
def test_an_answer_in_another_format_is_refused(format: str, text: str | bytes, says: str) -> None:
    with pytest.raises(BadInput) as refused:
        expected_output.read(text, expected(format), "answer.txt")
    assert says in str(refused.value) and str(refused.value).startswith("answer.txt ")


def test_prose_without_a_schema_is_an_answer() -> None:
    assert expected_output.read("# Done\n", expected("markdown", "")) == "# Done\n"


@given(
    st.sampled_from(["yaml", "json", "markdown"]), st.text(alphabet="`~- \nyamljson:{}[]\"'#a1", max_size=60)
)
def test_no_answer_breaks_the_reader(format: str, text: str) -> None:
    try:
        expected_output.read(text, expected(format))
    except BadInput as refused:
        assert refused.next_step


def test_a_long_answer_is_read_in_good_time() -> None:
    started = time.monotonic()
    for text in ("```\n" * 500_000, "`" * 2_000_000, "---\n" + "a\n" * 500_000, " " * 2_000_000 + "```yaml"):
        with pytest.raises(BadInput):
            expected_output.read(text, expected("markdown"))
    assert time.monotonic() - started < 10


# Names of schemas


@pytest.mark.parametrize(
    ("text", "kind", "name", "is_list"),
    [
        ("PluginAnalysis", Kind.BUILT_IN, "PluginAnalysis", False),
        ("ContextImprovement[]", Kind.BUILT_IN, "ContextImprovement", True),
        ("schemas/report.json", Kind.FILE, "schemas/report.json", False),
        ("report.yaml[]", Kind.FILE, "report.yaml", True),
        ("package.module:Report", Kind.MODEL, "package.module:Report", False),
        ("package.module.Report[]", Kind.MODEL, "package.module.Report", True),
        ("models:Report", Kind.MODEL, "models:Report", False),
        ("[Pydantic model name]", Kind.BUILT_IN, "[Pydantic model name]", False),
    ],
)
def test_a_schema_is_named_in_one_of_three_ways(text: str, kind: Kind, name: str, is_list: bool) -> None:
    found = expected_output.schema_name(text)
    assert (found.kind, found.name, found.is_list) == (kind, name, is_list)


IMPROVEMENT = {"id": "CTX-001", "description": "Add a tier", "priority": "HIGH", "files_modified": ["a.md"]}
ANSWERS: dict[str, tuple[Any, Any]] = {
    "PluginAnalysis": (
        {"plugin_name": "red", "violations": [{"type": "A", "file": "b.md"}]},
        {"violations": []},
    ),
    "ContextFlowMap": (
        {"flows": [{"from_agent": "a", "to_agent": "b", "context_level": "FULL"}]},
        {"flows": [{"from_agent": "a", "to_agent": "b", "context_level": "SOME"}]},
    ),
    "ContextImprovement": (IMPROVEMENT, IMPROVEMENT | {"priority": "URGENT"}),
    "OrchestrationImprovement": (IMPROVEMENT, {"id": "CTX-001"}),
    "HandoffImprovement": (IMPROVEMENT, IMPROVEMENT | {"files_modified": "a.md"}),
    "PatternCompliance": ({"id": "CTX-001", "pattern_compliant": True}, {"id": "CTX-001"}),
    "TokenEstimate": ({"id": "a", "estimated_reduction": "35%"}, {"id": "a", "estimated_reduction": "much"}),
    "ImprovementReport": (
        {"selected_improvements": [IMPROVEMENT], "scope_metadata": {"files_analyzed": 14}},
        {"selected_improvements": [{"id": "CTX-001"}]},
    ),
}


def test_every_schema_that_segue_brings_is_tried_here() -> None:
    assert sorted([*ANSWERS, schemas.DOCUMENT]) == schemas.names()


@pytest.mark.parametrize("name", ANSWERS)
def test_a_schema_takes_what_fits_and_refuses_what_does_not(name: str) -> None:
    good, bad = ANSWERS[name]
    schema = schemas.get(name)
    assert (
        expected_output.problems(good, schema) == ()
        and expected_output.problems(good | {"more": 1}, schema) == ()
    )
    assert len(expected_output.problems(bad, schema)) == 1
    assert expected_output.problems([good, good], schema, is_list=True) == ()
    [problem] = expected_output.problems([good, bad], schema, is_list=True)
    assert problem.path.startswith("answer[1]")
    assert expected_output.problems(good, schema, is_list=True) == (expected_output.NO_LIST,)


# Schemas of strangers


def test_nothing_is_fetched_because_a_schema_refers_to_it(tmp_path: Path) -> None:
    (tmp_path / "other.json").write_text("{}")
    for uri in ("https://example.com/schema.json", f"file://{tmp_path}/other.json", "other.json"):
        with pytest.raises(BadInput, match="cannot be used as a JSON Schema"):
            expected_output.problems({}, {"$ref": uri})


@pytest.mark.parametrize("schema", [5, [1], {"type": "nonsense"}, {"pattern": "("}, {"pattern": "(?=a)b"}])
def test_what_is_no_schema_is_refused(schema: Any) -> None:
    with pytest.raises(BadInput, match=r"report\.json cannot be used as a JSON Schema"):
        expected_output.problems({}, schema, name="report.json")


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#"},
        {"allOf": [{"$ref": "#"}]},
        {"anyOf": [{"type": "null"}, {"$ref": "#"}]},
        {"properties": {"x": {"$ref": "#/properties/x"}}},
        {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"not": {"$ref": "#/$defs/a"}}}},
        {"$ref": "#/$defs/a~0%20b", "$defs": {"a~ b": {"$ref": "#/$defs/a~0%20b"}}},
        {"oneOf": [{"type": "null"}, {"$ref": "#/oneOf/1"}]},
        {"$id": "https://example.com/report", "$ref": "https://example.com/report"},
        {"$anchor": "me", "$ref": "#me"},
        {"$dynamicAnchor": "me", "$dynamicRef": "#me"},
    ],
    ids=str,
)
def test_a_schema_that_goes_in_circles_is_refused(schema: Any) -> None:
    with pytest.raises(BadInput, match="cannot be used as a JSON Schema: it refers to itself"):
        expected_output.problems({}, schema)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"x": {"$ref": "#"}}},
        {"$ref": "#/$defs/a", "$defs": {"a": {"type": "object", "properties": {"x": {"$ref": "#/$defs/a"}}}}},
        {"type": "object", "properties": {"x": {"anyOf": [{"$ref": "#"}, {"type": "null"}]}}},
        {"type": "object", "properties": {"x": {"type": "object"}, "not": {"$ref": "#/properties/x"}}},
        {"allOf": [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/a"}], "$defs": {"a": {"type": "object"}}},
    ],
    ids=str,
)
def test_a_schema_may_refer_to_itself_for_what_is_inside(schema: Any) -> None:
    assert expected_output.problems({"x": {}}, schema) == ()
    assert expected_output.problems(5, schema) != ()


def test_a_pattern_cannot_be_made_to_take_long() -> None:
    started = time.process_time()
    assert expected_output.problems("a" * 50_000 + "!", {"pattern": "^(a+)+$"})
    assert time.process_time() - started < 8


def test_only_the_first_problems_are_told_and_each_in_one_line() -> None:
    found = expected_output.problems([["x\n" * 500]] * 1000, {"items": {"type": "object"}})
    assert len(found) == expected_output.MOST
    assert all(len(one.what) <= expected_output.LONGEST and "\n" not in one.what for one in found)


# Models


class Report(BaseModel):
    title: str
    scores: list[int]


def test_a_model_says_where_an_answer_does_not_fit() -> None:
    assert expected_output.problems_of_model({"title": "a", "scores": [1]}, Report) == ()
    found = expected_output.problems_of_model(
        [{"title": "a", "scores": ["x"]}, {"scores": []}], Report, is_list=True
    )
    assert [one.path for one in found] == ["answer[0].scores[0]", "answer[1].title"]
    assert expected_output.problems_of_model({}, Report, is_list=True) == (expected_output.NO_LIST,)


# On the command line


@pytest.fixture
def folder(cli: CommandLine) -> Path:
    (cli.cwd / "selective.yaml").write_text(SELECTIVE)
    (cli.cwd / "answer.yaml").write_text("- id: CTX-001\n  description: Add a tier\n")
    return cli.cwd


def check(cli: CommandLine, *more: str, schema: str = "") -> Any:
    if schema:
        (cli.cwd / "mine.yaml").write_text(MINIMAL.replace("schema: ImprovementReport", f"schema: {schema}"))
    return cli(
        "protocol", "check", "mine.yaml" if schema else "selective.yaml", "--output", "answer.yaml", *more
    )


def test_the_screens_of_an_answer(cli: CommandLine, folder: Path) -> None:
    done = check(cli)
    assert done.code == 0
    assert done.out == snapshot("""\
✓ selective.yaml fits SELECTIVE  improve-coordinator -[SELECTIVE]-> context-optimizer
  4 fields passed, 4 listed as not passed; expected output: yaml ContextImprovement[]
✓ answer.yaml matches the expected output: yaml ContextImprovement[]
""")
    (folder / "answer.yaml").write_text("- id: 5\n")
    done = check(cli)
    assert done.code == 1
    assert done.out == snapshot("""\
✓ selective.yaml fits SELECTIVE  improve-coordinator -[SELECTIVE]-> context-optimizer
  4 fields passed, 4 listed as not passed; expected output: yaml ContextImprovement[]
✗ answer.yaml does not match the expected output: yaml ContextImprovement[]
  answer[0]: "description" is a required property
  answer[0].id: 5 is not of type "string"
""")
    told = json.loads(check(cli, "--json").out)
    assert told["fits"] is False and told["misfits"] == [] and len(told["answer"]["problems"]) == 2


def test_a_name_alone_fits_in_a_document_and_cannot_be_answered(cli: CommandLine, folder: Path) -> None:
    refused = check(cli, schema="SomethingElse")
    assert refused.code == 2 and "There is no schema 'SomethingElse'" in refused.err
    assert "ImprovementReport" in refused.err and "--schema your-schema.json" in refused.err
    done = cli("protocol", "check", "mine.yaml")
    assert done.code == 0 and "'SomethingElse' is not a built-in schema" in done.out


def test_a_schema_file_is_read_from_the_documents_own_folder(cli: CommandLine, folder: Path) -> None:
    schema = {"type": "object", "required": ["id"], "properties": {"id": {"const": "CTX-002"}}}
    (folder / "one.json").write_text(json.dumps(schema))
    assert "does not match the expected output" in check(cli, schema="one.json[]").out
    (folder / "answer.yaml").write_text("- id: CTX-002\n")
    assert check(cli, schema="one.json[]").code == 0
    missing = check(cli, schema="two.json")
    assert missing.code == 2 and "two.json cannot be read: No such file" in missing.err


@pytest.mark.parametrize("name", ["../secret.json", "/etc/hostname.json", "link.json"])
def test_a_document_cannot_name_a_file_outside_its_folder(cli: CommandLine, folder: Path, name: str) -> None:
    (folder.parent / "secret.json").write_text("{}")
    (folder / "link.json").symlink_to(folder.parent / "secret.json")
    refused = check(cli, schema=name)
    assert refused.code == 5 and "outside its own folder" in refused.err
    if "etc" not in name:
        assert check(cli, "--schema", name).code == 0


def test_a_schema_that_takes_for_ever_is_stopped(
    cli: CommandLine, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(documents, "JUDGE_SECONDS", 1)
    (folder / "slow.json").write_text('{"items": {"allOf": [{"$ref": "#"}, {"$ref": "#"}]}}')
    (folder / "answer.yaml").write_text("[" * 40 + "]" * 40)
    stopped = check(cli, schema="slow.json")
    assert stopped.code == 2 and "takes longer than 1 seconds" in stopped.err


@pytest.mark.parametrize(
    ("content", "says"),
    [("{", "is no"), ('{"type": 5}', "cannot be used as a JSON Schema"), ("", "is empty")],
)
def test_a_broken_schema_file_is_refused(cli: CommandLine, folder: Path, content: str, says: str) -> None:
    (folder / "broken.json").write_text(content)
    refused = check(cli, schema="broken.json")
    assert refused.code == 2 and says in refused.err


MODULE = """
from pathlib import Path
from pydantic import BaseModel
Path("{mark}").touch()
print("hello from the module")
class Report(BaseModel):
    id: str
class Plain:
    pass
"""


def test_a_model_is_only_imported_when_the_person_says_so(cli: CommandLine, folder: Path) -> None:
    mark = folder / "imported"
    (folder / "their_models.py").write_text(MODULE.format(mark=mark))
    before = list(sys.path)
    try:
        for name in ("their_models:Report[]", "their_models.Report[]"):
            refused = check(cli, schema=name)
            assert refused.code == 5 and "would run its code" in refused.err and "--import" in refused.err
            assert not mark.exists() and "their_models" not in sys.modules
        done = check(cli, "--import", schema="their_models:Report[]")
        assert done.code == 0 and mark.exists() and "hello" not in done.out
        assert check(cli, "--schema", "their_models:Report[]").code == 0
        assert check(cli, "--schema", "their_models:Report").code == 1
        for name, says in (
            ("their_models:Plain", "is not a Pydantic model"),
            ("no_such_module:X", "No module named"),
        ):
            broken = check(cli, "--schema", name)
            assert broken.code == 2 and says in broken.err
        assert sys.path == before
    finally:
        sys.modules.pop("their_models", None)


def test_a_mapping_that_asks_for_nothing_is_no_schema() -> None:
    with pytest.raises(BadInput, match="no keyword that requires"):
        expected_output.problems({"a": 1}, {"root": "x:0:0"})
    assert expected_output.problems({"a": 1}, {}) == ()
