"""What the schema, the screens and the page of handoff documents say."""

from __future__ import annotations

import io
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from segue import tiers
from segue.base import yaml_json
from segue.base.yaml_json import Notation
from segue.model import ExpectedOutput, Tier
from segue.protocol import document, schemas
from segue.protocol.document import HandoffForm
from tests import ROOT
from tests.conftest import CommandLine
from tests.handoff_documents import AS_WRITTEN, FILTERED, FULL, METADATA, MINIMAL
from tests.pure.protocol.test_document import MALFORMED, WRONG, changed, form_of, misfits, with_payload
from tests.pure.tiers.test_tiers import LISTS, PAYLOADS

# The schema of the document


@given(PAYLOADS, LISTS, st.sampled_from(Tier))
def test_the_schema_refuses_nothing_that_fits(
    payload: dict[str, Any], not_passed: list[str], tier: Tier
) -> None:
    from segue.protocol import expected_output

    form = HandoffForm(
        from_agent="a",
        to_agent="b",
        context_level=tier,
        payload=payload,
        not_passed=tuple(entry for entry in not_passed if entry.isprintable() and entry.strip()),
        expected_output=ExpectedOutput(format="yaml", schema="X"),
    )
    if document.check(form) == ():
        assert expected_output.problems(document.to_plain(form), schemas.document()) == ()


@pytest.mark.parametrize(("text", "more", "path"), WRONG)
def test_the_schema_refuses_most_of_what_does_not_fit(text: str, more: str, path: str) -> None:
    from segue.protocol import expected_output

    plain = document.to_plain(form_of(with_payload(text, more)))
    is_beyond_it = form_of(text).context_level is Tier.FULL or any(
        word in path for word in ("full_plugin", "[0]", "prior_")
    )
    assert is_beyond_it or expected_output.problems(plain, schemas.document())


@pytest.mark.parametrize(("old", "new", "says"), MALFORMED)
def test_the_schema_refuses_what_is_no_handoff_document(old: str, new: str, says: str) -> None:
    from segue.protocol import expected_output

    plain = yaml_json.read(changed(MINIMAL, old, new), "", next="")[0]
    is_beyond_it = "not in the payload" in says or new == "from_agent: ' '"
    assert is_beyond_it or expected_output.problems(plain, schemas.document())


# Screens


@pytest.fixture
def folder(cli: CommandLine) -> Path:
    for tier, text in AS_WRITTEN.items():
        (cli.cwd / f"{tier.lower()}.yaml").write_text(text)
    return cli.cwd


def test_the_screen_of_a_document_that_fits(cli: CommandLine, folder: Path) -> None:
    done = cli("protocol", "check", "full.yaml")
    assert (done.code, done.err) == (0, "")
    assert done.out == snapshot("""\
✓ full.yaml fits FULL  improve-coordinator -[FULL]-> plugin-analyzer
  4 fields passed, 3 listed as not passed; expected output: yaml PluginAnalysis
""")


def test_the_screen_of_a_document_that_does_not(cli: CommandLine, folder: Path) -> None:
    (folder / "wide.yaml").write_text(with_payload(METADATA, "    files: [{file: a.md, content: x}]\n"))
    done = cli("protocol", "check", "wide.yaml")
    assert (done.code, done.err) == (1, "")
    assert done.out == snapshot("""\
✗ wide.yaml violates METADATA  improve-coordinator -[METADATA]-> improvement-synthesizer
  payload.files[0].content: contents, by its name; SELECTIVE or FULL would allow it
  next: segue protocol reduce wide.yaml --to METADATA removes the fields that do not fit
""")
    told = json.loads(cli("protocol", "check", "wide.yaml", "--json").out)
    assert told["fits"] is False
    assert told["misfits"] == [
        {
            "path": "payload.files[0].content",
            "reason": "contents, by its name",
            "allowed": ["SELECTIVE", "FULL"],
        }
    ]


def test_the_screen_of_a_reduction(cli: CommandLine, folder: Path) -> None:
    done = cli("protocol", "reduce", "full.yaml", "--to", "minimal")
    assert done.code == 0
    assert done.out == snapshot("""\
handoff:
  from_agent: improve-coordinator
  to_agent: plugin-analyzer
  context_level: MINIMAL
  payload:
    plugin_path: /path/to/plugin
    mode: all
  not_passed:
  - git_history
  - node_modules
  - build_artifacts
  - payload.plugin_manifest
  - payload.agent_files
  expected_output:
    format: yaml
    schema: PluginAnalysis
""")
    assert done.err == snapshot("""\
Removed, because MINIMAL does not pass it:
  payload.plugin_manifest: an object; METADATA, SELECTIVE or FULL would allow it
  payload.agent_files: a list of objects; SELECTIVE or FULL would allow it
""")


def test_a_reduction_is_in_the_documents_own_notation_unless_told(cli: CommandLine, folder: Path) -> None:
    as_json = cli("protocol", "reduce", "full.yaml", "--to", "MINIMAL", "--json").out
    assert json.loads(as_json)["handoff"]["context_level"] == "MINIMAL"
    (folder / "full.json").write_text(document.write(form_of(FULL), Notation.JSON))
    same = cli("protocol", "reduce", "full.json", "--to", "MINIMAL").out
    assert json.loads(same) == json.loads(as_json)
    assert cli("protocol", "reduce", "full.json", "--to", "MINIMAL", "--yaml").out.startswith("handoff:\n")
    assert "Nothing was removed" in cli("protocol", "reduce", "full.json", "--to", "FULL").err


def test_a_document_can_be_piped_in(cli: CommandLine, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(FILTERED.encode())))
    assert cli("protocol", "check", "-").out.startswith("✓ stdin fits FILTERED")
    monkeypatch.setattr(
        sys, "stdin", io.TextIOWrapper(io.BytesIO(with_payload(FILTERED, "    x: {}\n").encode()))
    )
    assert "segue protocol reduce - --to FILTERED" in cli("protocol", "check", "-").out
    refused = cli("protocol", "check", "-", "--received", "-")
    assert refused.code == 2 and "Only one file" in refused.err


def test_what_was_received_can_be_named(cli: CommandLine, folder: Path) -> None:
    grown = FULL.replace("from_agent: improve-coordinator", "from_agent: coordinator")
    (folder / "next.yaml").write_text(changed(grown, '    mode: "all"\n', "    mode: {name: all}\n"))
    assert cli("protocol", "check", "next.yaml").code == 0
    done = cli("protocol", "check", "next.yaml", "--received", "minimal.yaml")
    assert done.code == 1 and "payload.mode: received at MINIMAL from command: an object" in done.out
    assert "next: remove these fields, or list the sender's own in origins" in done.out


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["check", "nowhere.yaml"], 2, "There is no file 'nowhere.yaml'"),
        (["check", "."], 2, "not a regular file"),
        (["check", "a\0b"], 2, "cannot be read"),
        (["check", "empty.yaml"], 2, "is empty"),
        (["check", "binary.yaml"], 2, "is not UTF-8 text"),
        (["check", "/dev/zero"], 2, "not a regular file"),
        (["check", "full.yaml", "--schema", "X"], 2, "--output ANSWER"),
        (["reduce", "minimal.yaml", "--to", "FULL"], 5, "tier down, never up"),
        (["reduce", "minimal.yaml", "--to", "METDATA"], 2, "did you mean METADATA"),
        (["reduce", "full.yaml"], 2, "--to"),
        (["schema", "PluginAnalysi"], 2, "Did you mean PluginAnalysis?"),
    ],
)
def test_bad_input_is_refused_and_nothing_is_written(
    cli: CommandLine, folder: Path, arguments: list[str], code: int, says: str
) -> None:
    (folder / "empty.yaml").write_text("")
    (folder / "binary.yaml").write_bytes(bytes(range(256)))
    before = sorted(cli.folder.rglob("*"))
    done = cli("protocol", *arguments)
    assert (done.code, done.out) == (code, "")
    assert says in done.err and " next: " in done.err and "segue " in done.err.split(" next: ")[1]
    assert sorted(cli.folder.rglob("*")) == before


def test_the_schema_is_printed_as_json(cli: CommandLine) -> None:
    done = cli("protocol", "schema")
    assert json.loads(done.out) == schemas.document()
    assert "PluginAnalysis" in done.err
    assert json.loads(cli("protocol", "schema", "TokenEstimate", "--json").out)["title"] == "TokenEstimate"
    assert cli("protocol", "schema", "TokenEstimate[]").out == cli("protocol", "schema", "TokenEstimate").out


def test_a_document_cannot_move_the_cursor(cli: CommandLine, folder: Path) -> None:
    (folder / "evil.yaml").write_text(changed(MINIMAL, "from_agent: command", 'from_agent: "a\\e[2Jb"'))
    assert "\x1b" not in cli("protocol", "check", "evil.yaml").out


# Pages


DOCS = ROOT / "docs"


def test_the_documents_on_the_page_fit() -> None:
    documents = re.findall(r"```yaml\n(handoff:.*?)```", (DOCS / "protocol.md").read_text(), re.DOTALL)
    assert len(documents) == 2
    assert [misfits(text) for text in documents] == [[], []]


def test_the_entries_on_the_page_exclude_what_it_says() -> None:
    payload = {
        "git_history": 1,
        "files": [{"path": "src/a.py", "content": "x", "note": "y"}],
        "improvements": [{"priority": "LOW"}],
        "violations": [{"type": "orchestration"}],
    }
    page = (DOCS / "protocol.md").read_text()
    rows = re.findall(r"^\| `([\w.\[\]/]+)`(?:, `([\w./]+)`)? \|", page.split("## Origins")[0], re.MULTILINE)
    entries = [entry for row in rows for entry in row if entry]
    assert len(entries) == 7
    for entry in entries:
        found = tiers.misfits(payload, Tier.FULL, [entry])
        assert len(found) == (0 if entry == "node_modules" else 1), entry


def test_the_table_of_shapes_is_right() -> None:
    page = (DOCS / "tiers.md").read_text()
    rows = re.findall(r"^\| `(.+)` \| (.+) \|$", page, re.MULTILINE)[1:]
    assert len(rows) == 13
    for value, told in rows:
        payload = yaml_json.read(f"field: {value}", value, next="")[0]
        fits = ["yes" if not tiers.misfits(payload, tier) else "no" for tier in Tier]
        assert told.split(" | ") == fits, value


def test_the_table_of_parts_is_right() -> None:
    page = (DOCS / "tiers.md").read_text()
    rows = dict(re.findall(r"^\| (\w+) \| ((?:yes|no).+) \|$", page, re.MULTILINE))
    assert rows == {
        shape.value: " | ".join("yes" if tiers.passes(tier, shape) else "no" for tier in Tier)
        for shape in tiers.Shape
    }
