"""Handoff documents: read, written, checked, reduced; the founding ones as they stand, and spoilt ones."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from segue import tiers
from segue.base import yaml_json
from segue.base.yaml_json import Notation
from segue.errors import BadInput, Refused
from segue.model import ExpectedOutput, Tier
from segue.protocol import document
from segue.protocol.document import HandoffForm
from segue.tiers import Received
from tests.handoff_documents import AS_WRITTEN, FILTERED, FULL, METADATA, MINIMAL, SELECTIVE
from tests.pure.tiers.test_tiers import LISTS, ORIGINS, PAYLOADS, is_within


def form_of(text: str) -> HandoffForm:
    return document.read(text)[0]


def misfits(text: str) -> list[str]:
    return [misfit.path for misfit in document.check(form_of(text))]


def changed(text: str, old: str, new: str) -> str:
    assert text.count(old) == 1, old
    return text.replace(old, new)


def with_payload(text: str, more: str) -> str:
    return changed(text, "  payload:\n", f"  payload:\n{more}")


# The founding documents


@pytest.mark.parametrize("tier", Tier)
def test_each_founding_document_fits_its_tier_as_written(tier: Tier) -> None:
    form = form_of(AS_WRITTEN[tier])
    assert form.context_level is tier
    assert document.check(form) == () and document.require(form) is form


WRONG = [
    (FULL, "    git_history: [abc123]\n", "payload.git_history"),
    (FULL, "    build:\n      build_artifacts: {a.out: 1}\n", "payload.build.build_artifacts"),
    (
        FULL,
        "    more:\n      - file: node_modules/left-pad/index.js\n        content: x\n",
        "payload.more[0].content",
    ),
    (SELECTIVE, "    manifest: {name: a, author: {name: ada}}\n", "payload.manifest.author"),
    (SELECTIVE, "    full_plugin_contents: []\n", "payload.full_plugin_contents"),
    (
        SELECTIVE,
        "    violations:\n      - {type: orchestration, file: a.md}\n",
        "payload.violations[0]",
    ),
    (FILTERED, "    more:\n      - {id: CTX-9, where: {file: a.md}}\n", "payload.more[0].where"),
    (FILTERED, "    more:\n      - {id: CTX-9, code_sample: x = 1}\n", "payload.more[0].code_sample"),
    (FILTERED, "    more:\n      - id: CTX-9\n        text: |\n          x\n", "payload.more[0].text"),
    (
        FILTERED,
        "    more_improvements:\n      - {id: CTX-9, priority: LOW}\n",
        "payload.more_improvements[0]",
    ),
    (FILTERED, "    analysis: {violations: 5}\n", "payload.analysis"),
    (MINIMAL, "    improvements: [{id: CTX-1}, {id: CTX-2}]\n", "payload.improvements"),
    (MINIMAL, "    settings: {a: 1}\n", "payload.settings"),
    (MINIMAL, "    file: |\n      # Contents\n", "payload.file"),
    (
        MINIMAL,
        "    said: [can you look at this, yes I can do that]\n",
        "payload.said",
    ),
    (MINIMAL, "    prior_analysis: done\n", "payload.prior_analysis"),
    (METADATA, "    files: [{file: a.md, content: x}]\n", "payload.files[0].content"),
    (METADATA, "    output: |\n      a\n      b\n", "payload.output"),
    (METADATA, "    results: {first: {second: 1}}\n", "payload.results.first"),
    (METADATA, "    improvements: [{id: a, status: rejected}]\n", "payload.improvements[0]"),
    (
        METADATA,
        "    found: [{id: a, finding: it has no tier at all, advice: add one to the file}]\n",
        "payload.found[0].advice",
    ),
]


@pytest.mark.parametrize(("text", "more", "path"), WRONG)
def test_wrong_variants_are_refused_by_the_field_that_is_wrong(text: str, more: str, path: str) -> None:
    assert misfits(with_payload(text, more)) == [path]
    with pytest.raises(Refused, match="is wider than") as refused:
        document.require(form_of(with_payload(text, more)))
    assert path in str(refused.value) and "segue protocol reduce" in refused.value.next_step


@pytest.mark.parametrize(
    ("text", "narrower", "path"),
    [
        (FULL, "FILTERED", "payload.plugin_manifest"),
        (SELECTIVE, "FILTERED", "payload.analysis_summary"),
        (FILTERED, "MINIMAL", "payload.improvements_to_check"),
        (METADATA, "MINIMAL", "payload.selected_improvements"),
    ],
)
def test_a_label_does_not_make_a_payload_narrower(text: str, narrower: str, path: str) -> None:
    tier = form_of(text).context_level
    assert misfits(changed(text, f"context_level: {tier}", f"context_level: {narrower}"))[0] == path


# Documents


@pytest.mark.parametrize("text", AS_WRITTEN.values(), ids=AS_WRITTEN)
def test_a_document_is_the_same_in_yaml_json_and_without_its_outer_key(text: str) -> None:
    form = form_of(text)
    for written_in in Notation:
        assert document.read(document.write(form, written_in)) == (form, written_in)
    assert document.from_plain(document.to_plain(form)["handoff"]) == form


@given(PAYLOADS, LISTS, st.sampled_from(Tier))
def test_what_is_written_is_read_again(payload: dict[str, Any], not_passed: list[str], tier: Tier) -> None:
    form = HandoffForm(
        from_agent="a",
        to_agent="b",
        context_level=tier,
        payload=payload,
        not_passed=tuple(entry for entry in not_passed if entry.isprintable() and entry.strip()),
        expected_output=ExpectedOutput(format="json", schema="X"),
    )
    if tiers.misfits(payload, Tier.FULL):
        return
    for written_in in Notation:
        assert document.read(document.write(form, written_in))[0] == form


WORDS = st.text() | st.sampled_from(["1e3", "on", "=", "\n a", " a\n", "a\n\n", "- a", "#", "'", "a: b\n"])


@given(st.dictionaries(WORDS, WORDS | st.lists(WORDS, max_size=3), min_size=1, max_size=3))
def test_another_reader_of_yaml_reads_the_same(value: dict[str, Any]) -> None:
    written = yaml_json.write(value, Notation.YAML)
    assert yaml.safe_load(written) == yaml_json.read(written, "", next="")[0] == value


@pytest.mark.parametrize("text", ["1e3", "5", "-2.5", "true", "True", "null", "~", "", " ", "1E5", "0"])
def test_a_text_that_looks_like_a_value_stays_a_text(text: str) -> None:
    for written_in in Notation:
        written = yaml_json.write({"a": text}, written_in)
        assert yaml_json.read(written, "", next="")[0] == yaml.safe_load(written) == {"a": text}


@pytest.mark.parametrize(
    "word", ["on", "yes", "007", "0x1f", "12:30", "1_000", "2026-11-16", ".inf", "1.0.0", "+5"]
)
def test_what_looks_like_an_id_stays_one(word: str) -> None:
    form = form_of(with_payload(MINIMAL, f"    id: {word}\n"))
    assert form.payload["id"] == word
    assert form_of(document.write(form)).payload["id"] == word


@pytest.mark.parametrize(
    ("word", "value"),
    [("5", 5), ("-2.5", -2.5), ("1e3", 1000.0), ("true", True), ("null", None), ("~", None), ("'5'", "5")],
)
def test_numbers_and_flags_are_read_as_such(word: str, value: Any) -> None:
    assert form_of(with_payload(MINIMAL, f"    n: {word}\n")).payload["n"] == value


def test_a_number_that_no_program_counts_with_is_kept_as_it_is_written() -> None:
    long = "9" * 30
    assert form_of(with_payload(MINIMAL, f"    n: {long}\n")).payload["n"] == long
    assert yaml_json.read(f'{{"n": {long}, "m": 1e999}}', "", next="")[0] == {"n": long, "m": "1e999"}


LAUGHS = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 12)
)
UNREADABLE = [
    ("", "is empty"),
    (" \n\t\n", "is empty"),
    ("a: [1", "is not valid YAML"),
    ("\x00\x01", "NUL"),
    (b"\xff\xfe\x00", "is not UTF-8 text"),
    ("- just\n- a list\n", "is not a handoff document"),
    ("just a text", "is not a handoff document"),
    ("handoff: 5", "is not a handoff document"),
    ("a: 1\na: 2\n", "has the key 'a' twice in one object (line 2)"),
    ('{"a": 1, "a": 2}', "has the key 'a' twice"),
    ("a: !!python/object/apply:os.system [ls]", "reads no tags"),
    ("a: !mine x", "reads no tags"),
    ("%TAG ! tag:x\n---\na: 1", "directive"),
    ("a: &x [*x]", "not defined yet"),
    ("a: {<<: {b: 1}}", "merge key"),
    ("a: 1\n---\nb: 2\n", "more than one YAML document"),
    ("? [a, b]\n: 1\n", "key that is not text"),
    ("[" * 100_000, "nested more than 64 deep"),
    ("- " * 100_000, "nested more than 64 deep"),
    ('{"a":' * 100_000, "nested more than 64 deep"),
    ("[" * 65 + "]" * 65, "nested more than 64 deep"),
    (LAUGHS, "more than 200,000 values"),
    ("[" + "1," * 250_000 + "1]", "more than 200,000 values"),
    ("- &a [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]\n- " + "[" * 40 + "*a" + "]" * 40, "nested"),
    ('{"a": NaN}', "not a JSON number"),
    ('{"a": "\\ud800"}', "not valid Unicode"),
    ("%TAG !a! b\n" * 100_000, "directive"),
    ("x" * 10_000_001, "larger than 10 MB"),
]  # fmt: skip


@pytest.mark.parametrize(("data", "says"), UNREADABLE, ids=[says for _data, says in UNREADABLE])
def test_what_cannot_be_read_is_refused_with_the_reason(data: str | bytes, says: str) -> None:
    with pytest.raises(BadInput) as refused:
        document.read(data, "handoff.yaml")
    assert says in str(refused.value)
    assert (
        str(refused.value).startswith("handoff.yaml ") and "segue protocol schema" in refused.value.next_step
    )


def test_a_key_of_two_arrows_in_quotes_is_a_key_like_any_other() -> None:
    assert yaml_json.read('"<<": {a: 1}', "", next="")[0] == {"<<": {"a": 1}}


def test_a_few_references_within_a_document_are_read() -> None:
    form = form_of(with_payload(SELECTIVE, "    one: &one {a: 1}\n    two: *one\n"))
    assert form.payload["one"] == form.payload["two"] == {"a": 1}


MALFORMED = [
    ("context_level: MINIMAL", "context_level: MINIMUM", "did you mean MINIMAL"),
    ("context_level: MINIMAL", "context_level: minimal", "capitals"),
    ("context_level: MINIMAL", "context_level: FULL|SELECTIVE", "is not a tier"),
    ("context_level: MINIMAL", "context_level: 5", "is not a tier"),
    ("context_level: MINIMAL\n", "", "lacks context_level"),
    ("from_agent: command", "from_agnt: command", "did you mean from_agent"),
    ("from_agent: command", "from_agent: [a]", "expected one line of text"),
    ("from_agent: command", "from_agent: |\n    a\n    b", "expected one line of text"),
    ("from_agent: command", "from_agent: ' '", "expected one line of text"),
    ("from_agent: command", "from_agent: command\n  notes: see here", "unknown field 'notes'"),
    ("format: yaml", "format: xml", "expected one of yaml, json, markdown"),
    ("format: yaml", "format: [yaml]", "expected one of yaml, json, markdown"),
    ("    schema: ImprovementReport\n", "", "expected_output.schema"),
    ("schema: ImprovementReport", "schema: X\n    strict: true", "expected_output.strict"),
    ("    - file_contents\n", "    - {file: contents}\n", "not_passed[0]"),
    ("  not_passed:", "  origins: {nothing: {from_agent: a}}\n  not_passed:", "not in the payload"),
    (
        "  not_passed:",
        "  origins: {mode: {from_agent: a, context_level: SOME}}\n  not_passed:",
        "is not a tier",
    ),
    ("  not_passed:", "  origins: {mode: {from_agent: a, said: b}}\n  not_passed:", "origins.mode.said"),
    ("  not_passed:", "  origins: {mode: {}}\n  not_passed:", "origins.mode.from_agent"),
    ("handoff:", "title: x\nhandoff:", "unknown field 'title'"),
]


@pytest.mark.parametrize(("old", "new", "says"), MALFORMED)
def test_what_is_no_handoff_document_is_refused_with_the_field(old: str, new: str, says: str) -> None:
    with pytest.raises(BadInput) as refused:
        document.read(changed(MINIMAL, old, new))
    assert says in str(refused.value)


def test_leaving_something_out_must_be_said_even_if_it_is_nothing() -> None:
    head, tail = MINIMAL.split("  not_passed:")
    without = head + tail[tail.index("  expected_output") :]
    with pytest.raises(BadInput, match=r"lacks not_passed: write \[\]"):
        document.read(without)
    assert form_of(without + "  not_passed: []\n").not_passed == ()


def test_prose_needs_no_schema() -> None:
    text = changed(MINIMAL, "format: yaml\n    schema: ImprovementReport", "format: markdown")
    assert form_of(text).expected_output == ExpectedOutput(format="markdown", schema="")
    assert form_of(document.write(form_of(text))) == form_of(text)


def test_more_exclusions_than_anyone_reads_are_refused() -> None:
    with pytest.raises(BadInput, match="at most"):
        document.read(changed(MINIMAL, "    - file_contents\n", "    - x\n" * 101))


# Reducing


def test_reducing_shows_what_fell_away_and_lists_it() -> None:
    reduced, fallen = document.reduce(form_of(FULL), Tier.FILTERED)
    assert [str(one).split("; ")[0] for one in fallen] == [
        "payload.plugin_manifest: an object",
        "payload.agent_files[0].content: contents: a text with line breaks",
        "payload.agent_files[1].content: contents: a text with line breaks",
    ]
    assert reduced.payload["agent_files"][0] == {"file": "agents/coordinator.md"}
    assert reduced.not_passed[3:] == ("payload.plugin_manifest", "payload.agent_files[].content")


def test_where_only_some_items_lose_a_field_the_list_says_how_many() -> None:
    form = form_of(with_payload(SELECTIVE, "    notes: [{text: short}, {text: 'a\n\n        b'}]\n"))
    reduced, _fallen = document.reduce(form, Tier.FILTERED)
    assert "payload.notes[].text (1 of 2)" in reduced.not_passed
    assert document.check(reduced) == ()


@pytest.mark.parametrize("tier", Tier)
@pytest.mark.parametrize("to", Tier)
def test_a_founding_document_goes_down_and_never_up(tier: Tier, to: Tier) -> None:
    form = form_of(AS_WRITTEN[tier])
    if not tier.allows(to):
        with pytest.raises(Refused, match="tier down, never up"):
            document.reduce(form, to)
        return
    reduced, fallen = document.reduce(form, to)
    assert document.check(reduced) == () and reduced.context_level is to
    assert document.reduce(reduced, to) == (reduced, ())
    assert bool(fallen) == (reduced.payload != form.payload)


@given(PAYLOADS, LISTS, ORIGINS, st.sampled_from(Tier), st.sampled_from(Tier))
def test_a_reduced_document_can_be_written_read_and_passed(
    payload: dict[str, Any], not_passed: list[str], origins: dict[str, Received], tier: Tier, to: Tier
) -> None:
    form = HandoffForm(
        from_agent="a",
        to_agent="b",
        context_level=tier,
        payload=payload,
        not_passed=tuple(not_passed),
        expected_output=ExpectedOutput(format="yaml", schema="X"),
        origins=origins,
    )
    if not tier.allows(to):
        return
    reduced, fallen = document.reduce(form, to)
    assert document.check(reduced) == ()
    assert is_within(reduced.payload, payload)
    assert set(not_passed) <= set(reduced.not_passed)
    assert document.reduce(reduced, to) == (reduced, ())
    if not fallen:
        assert reduced == msgspec.structs.replace(form, context_level=to, origins=reduced.origins)


def test_a_very_wide_document_is_reduced_to_one_that_can_be_read() -> None:
    wide = "".join(f"    field_{n}: {{a: 1}}\n" for n in range(5000))
    reduced, fallen = document.reduce(form_of(with_payload(FULL, wide)), Tier.MINIMAL)
    assert len(fallen) == 1000 and reduced.not_passed[-1] == "and 4,906 more fields"
    assert form_of(document.write(reduced)) == reduced
