"""Handoff documents: read, written, checked, reduced; the founding ones as they stand, and spoilt ones."""

from __future__ import annotations

import io
import json
import re
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from segue import notation, protocol, schemas, tiers
from segue.errors import BadInput, Refused
from segue.model import ExpectedOutput, Tier
from segue.notation import Notation
from segue.protocol import HandoffForm
from segue.tiers import Received
from tests.conftest import CommandLine
from tests.handoff_documents import AS_WRITTEN, FILTERED, FULL, METADATA, MINIMAL, SELECTIVE
from tests.test_tiers import LISTS, ORIGINS, PAYLOADS, is_within


def form_of(text: str) -> HandoffForm:
    return protocol.read(text)[0]


def misfits(text: str) -> list[str]:
    return [misfit.path for misfit in protocol.check(form_of(text))]


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
    assert protocol.check(form) == () and protocol.require(form) is form


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
        protocol.require(form_of(with_payload(text, more)))
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
        assert protocol.read(protocol.write(form, written_in)) == (form, written_in)
    assert protocol.from_plain(protocol.to_plain(form)["handoff"]) == form


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
        assert protocol.read(protocol.write(form, written_in))[0] == form


WORDS = st.text() | st.sampled_from(["1e3", "on", "=", "\n a", " a\n", "a\n\n", "- a", "#", "'", "a: b\n"])


@given(st.dictionaries(WORDS, WORDS | st.lists(WORDS, max_size=3), min_size=1, max_size=3))
def test_another_reader_of_yaml_reads_the_same(value: dict[str, Any]) -> None:
    written = notation.write(value, Notation.YAML)
    assert yaml.safe_load(written) == notation.read(written, "", next="")[0] == value


@pytest.mark.parametrize("text", ["1e3", "5", "-2.5", "true", "True", "null", "~", "", " ", "1E5", "0"])
def test_a_text_that_looks_like_a_value_stays_a_text(text: str) -> None:
    for written_in in Notation:
        written = notation.write({"a": text}, written_in)
        assert notation.read(written, "", next="")[0] == yaml.safe_load(written) == {"a": text}


@pytest.mark.parametrize(
    "word", ["on", "yes", "007", "0x1f", "12:30", "1_000", "2026-11-16", ".inf", "1.0.0", "+5"]
)
def test_what_looks_like_an_id_stays_one(word: str) -> None:
    form = form_of(with_payload(MINIMAL, f"    id: {word}\n"))
    assert form.payload["id"] == word
    assert form_of(protocol.write(form)).payload["id"] == word


@pytest.mark.parametrize(
    ("word", "value"),
    [("5", 5), ("-2.5", -2.5), ("1e3", 1000.0), ("true", True), ("null", None), ("~", None), ("'5'", "5")],
)
def test_numbers_and_flags_are_read_as_such(word: str, value: Any) -> None:
    assert form_of(with_payload(MINIMAL, f"    n: {word}\n")).payload["n"] == value


def test_a_number_that_no_program_counts_with_is_kept_as_it_is_written() -> None:
    long = "9" * 30
    assert form_of(with_payload(MINIMAL, f"    n: {long}\n")).payload["n"] == long
    assert notation.read(f'{{"n": {long}, "m": 1e999}}', "", next="")[0] == {"n": long, "m": "1e999"}


LAUGHS = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 12)
)
UNREADABLE = [
    ("", "is empty"),
    (" \n\t\n", "is empty"),
    ("a: [1", "is no YAML"),
    ("\x00\x01", "NUL"),
    (b"\xff\xfe\x00", "is no text in UTF-8"),
    ("- just\n- a list\n", "is no handoff document"),
    ("just a text", "is no handoff document"),
    ("handoff: 5", "is no handoff document"),
    ("a: 1\na: 2\n", "has the key 'a' twice in one object (line 2)"),
    ('{"a": 1, "a": 2}', "has the key 'a' twice"),
    ("a: !!python/object/apply:os.system [ls]", "tags are not read"),
    ("a: !mine x", "tags are not read"),
    ("%TAG ! tag:x\n---\na: 1", "directive"),
    ("a: &x [*x]", "stands for nothing yet"),
    ("a: {<<: {b: 1}}", "merge key"),
    ("a: 1\n---\nb: 2\n", "more than one YAML document"),
    ("? [a, b]\n: 1\n", "key that is no text"),
    ("[" * 100_000, "nested more than 64 deep"),
    ("- " * 100_000, "nested more than 64 deep"),
    ('{"a":' * 100_000, "nested more than 64 deep"),
    ("[" * 65 + "]" * 65, "nested more than 64 deep"),
    (LAUGHS, "more than 200,000 values"),
    ("[" + "1," * 250_000 + "1]", "more than 200,000 values"),
    ("- &a [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]\n- " + "[" * 40 + "*a" + "]" * 40, "nested"),
    ('{"a": NaN}', "no number of JSON"),
    ('{"a": "\\ud800"}', "no Unicode"),
    ("%TAG !a! b\n" * 100_000, "directive"),
    ("x" * 10_000_001, "larger than 10 MB"),
]  # fmt: skip


@pytest.mark.parametrize(("data", "says"), UNREADABLE, ids=[says for _data, says in UNREADABLE])
def test_what_cannot_be_read_is_refused_with_the_reason(data: str | bytes, says: str) -> None:
    with pytest.raises(BadInput) as refused:
        protocol.read(data, "handoff.yaml")
    assert says in str(refused.value)
    assert (
        str(refused.value).startswith("handoff.yaml ") and "segue protocol schema" in refused.value.next_step
    )


def test_a_key_of_two_arrows_in_quotes_is_a_key_like_any_other() -> None:
    assert notation.read('"<<": {a: 1}', "", next="")[0] == {"<<": {"a": 1}}


def test_a_few_references_within_a_document_are_read() -> None:
    form = form_of(with_payload(SELECTIVE, "    one: &one {a: 1}\n    two: *one\n"))
    assert form.payload["one"] == form.payload["two"] == {"a": 1}


MALFORMED = [
    ("context_level: MINIMAL", "context_level: MINIMUM", "did you mean MINIMAL"),
    ("context_level: MINIMAL", "context_level: minimal", "capitals"),
    ("context_level: MINIMAL", "context_level: FULL|SELECTIVE", "is no tier"),
    ("context_level: MINIMAL", "context_level: 5", "is no tier"),
    ("context_level: MINIMAL\n", "", "lacks context_level"),
    ("from_agent: command", "from_agnt: command", "did you mean from_agent"),
    ("from_agent: command", "from_agent: [a]", "which takes one line of text"),
    ("from_agent: command", "from_agent: |\n    a\n    b", "which takes one line of text"),
    ("from_agent: command", "from_agent: ' '", "which takes one line of text"),
    ("from_agent: command", "from_agent: command\n  notes: see here", "'notes' that is not known"),
    ("format: yaml", "format: xml", "takes yaml, json, markdown"),
    ("format: yaml", "format: [yaml]", "takes yaml, json, markdown"),
    ("    schema: ImprovementReport\n", "", "expected_output.schema"),
    ("schema: ImprovementReport", "schema: X\n    strict: true", "expected_output.strict"),
    ("    - file_contents\n", "    - {file: contents}\n", "not_passed[0]"),
    ("  not_passed:", "  origins: {nothing: {from_agent: a}}\n  not_passed:", "not in the payload"),
    ("  not_passed:", "  origins: {mode: {from_agent: a, context_level: SOME}}\n  not_passed:", "is no tier"),
    ("  not_passed:", "  origins: {mode: {from_agent: a, said: b}}\n  not_passed:", "origins.mode.said"),
    ("  not_passed:", "  origins: {mode: {}}\n  not_passed:", "origins.mode.from_agent"),
    ("handoff:", "title: x\nhandoff:", "'title' that is not known"),
]


@pytest.mark.parametrize(("old", "new", "says"), MALFORMED)
def test_what_is_no_handoff_document_is_refused_with_the_field(old: str, new: str, says: str) -> None:
    with pytest.raises(BadInput) as refused:
        protocol.read(changed(MINIMAL, old, new))
    assert says in str(refused.value)


def test_leaving_something_out_must_be_said_even_if_it_is_nothing() -> None:
    head, tail = MINIMAL.split("  not_passed:")
    without = head + tail[tail.index("  expected_output") :]
    with pytest.raises(BadInput, match=r"lacks not_passed: write \[\]"):
        protocol.read(without)
    assert form_of(without + "  not_passed: []\n").not_passed == ()


def test_prose_needs_no_schema() -> None:
    text = changed(MINIMAL, "format: yaml\n    schema: ImprovementReport", "format: markdown")
    assert form_of(text).expected_output == ExpectedOutput(format="markdown", schema="")
    assert form_of(protocol.write(form_of(text))) == form_of(text)


def test_more_exclusions_than_anyone_reads_are_refused() -> None:
    with pytest.raises(BadInput, match="the most"):
        protocol.read(changed(MINIMAL, "    - file_contents\n", "    - x\n" * 101))


# Reducing


def test_reducing_shows_what_fell_away_and_lists_it() -> None:
    reduced, fallen = protocol.reduce(form_of(FULL), Tier.FILTERED)
    assert [str(one).split("; ")[0] for one in fallen] == [
        "payload.plugin_manifest: an object",
        "payload.agent_files[0].content: contents: a text with line breaks",
        "payload.agent_files[1].content: contents: a text with line breaks",
    ]
    assert reduced.payload["agent_files"][0] == {"file": "agents/coordinator.md"}
    assert reduced.not_passed[3:] == ("payload.plugin_manifest", "payload.agent_files[].content")


def test_where_only_some_items_lose_a_field_the_list_says_how_many() -> None:
    form = form_of(with_payload(SELECTIVE, "    notes: [{text: short}, {text: 'a\n\n        b'}]\n"))
    reduced, _fallen = protocol.reduce(form, Tier.FILTERED)
    assert "payload.notes[].text (1 of 2)" in reduced.not_passed
    assert protocol.check(reduced) == ()


@pytest.mark.parametrize("tier", Tier)
@pytest.mark.parametrize("to", Tier)
def test_a_founding_document_goes_down_and_never_up(tier: Tier, to: Tier) -> None:
    form = form_of(AS_WRITTEN[tier])
    if not tier.allows(to):
        with pytest.raises(Refused, match="tier down, never up"):
            protocol.reduce(form, to)
        return
    reduced, fallen = protocol.reduce(form, to)
    assert protocol.check(reduced) == () and reduced.context_level is to
    assert protocol.reduce(reduced, to) == (reduced, ())
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
    reduced, fallen = protocol.reduce(form, to)
    assert protocol.check(reduced) == ()
    assert is_within(reduced.payload, payload)
    assert set(not_passed) <= set(reduced.not_passed)
    assert protocol.reduce(reduced, to) == (reduced, ())
    if not fallen:
        assert reduced == msgspec.structs.replace(form, context_level=to, origins=reduced.origins)


def test_a_very_wide_document_is_reduced_to_one_that_can_be_read() -> None:
    wide = "".join(f"    field_{n}: {{a: 1}}\n" for n in range(5000))
    reduced, fallen = protocol.reduce(form_of(with_payload(FULL, wide)), Tier.MINIMAL)
    assert len(fallen) == 1000 and reduced.not_passed[-1] == "and 4,906 more fields"
    assert form_of(protocol.write(reduced)) == reduced


# Tier down, never up


REPORT = ExpectedOutput(format="yaml", schema="ImprovementReport")


def test_the_analysis_pipeline_reads_for_itself_what_it_was_not_given() -> None:
    briefed = form_of(MINIMAL)
    files = [{"file": "agents/a.md", "content": "# A\n"}]
    analysed = protocol.pass_on(
        briefed,
        to_agent="analyzer",
        context_level=Tier.FULL,
        own={"agent_files": files},
        expected_output=ExpectedOutput(format="yaml", schema="PluginAnalysis"),
        not_passed=["git_history"],
    )
    assert analysed.from_agent == "coordinator"
    assert analysed.payload == {"mode": "all", "target_path": "/path/to/plugin", "agent_files": files}
    assert protocol.check(analysed, [briefed]) == ()
    assert form_of(protocol.write(analysed)) == analysed


def test_the_improvement_and_synthesis_pipelines_narrow_step_by_step() -> None:
    found = HandoffForm(
        from_agent="analyzer",
        to_agent="coordinator",
        context_level=Tier.SELECTIVE,
        payload={"violations": [{"type": "MISSING_TIER", "file": "a.md", "quote": "line\nline\n"}]},
        not_passed=(),
        expected_output=REPORT,
    )
    onwards = protocol.pass_on(
        found,
        to_agent="checker",
        context_level=Tier.FILTERED,
        own={"focus": "context"},
        expected_output=REPORT,
    )
    assert [one.path for one in protocol.check(onwards, [found])] == ["payload.violations[0].quote"]
    checked, fallen = protocol.reduce(onwards, Tier.FILTERED)
    assert [one.path for one in fallen] == ["payload.violations[0].quote"]
    assert protocol.check(checked, [found]) == ()
    summary, _fallen = protocol.reduce(checked, Tier.METADATA)
    assert protocol.check(summary, [found]) == ()


def test_what_came_at_minimal_cannot_go_on_as_more() -> None:
    briefed = form_of(MINIMAL)
    grown = changed(
        FULL,
        '    mode: "all"\n',
        "    mode: {name: all, how: {fast: true}}\n",
    ).replace("from_agent: improve-coordinator", "from_agent: coordinator")
    form = form_of(grown)
    assert protocol.check(form) == ()
    [misfit] = protocol.check(form, [briefed])
    assert misfit.path == "payload.mode" and misfit.reason == "received at MINIMAL from command: an object"
    own = form_of(
        changed(grown, "  not_passed:", "  origins: {mode: {from_agent: coordinator}}\n  not_passed:")
    )
    assert protocol.check(own, [briefed]) == ()


def test_an_origin_in_the_document_is_held_to_without_further_evidence() -> None:
    text = changed(
        FULL,
        "  not_passed:",
        "  origins: {agent_files: {from_agent: x, context_level: METADATA}}\n  not_passed:",
    )
    assert misfits(text) == ["payload.agent_files[0].content", "payload.agent_files[1].content"]


def test_what_a_document_says_of_origins_is_held_against_what_was_received() -> None:
    briefed = form_of(MINIMAL)
    text = FULL.replace("from_agent: improve-coordinator", "from_agent: coordinator")

    def told(origins: str) -> list[str]:
        form = form_of(changed(text, "  not_passed:", f"  origins: {{{origins}}}\n  not_passed:"))
        return [one.reason for one in protocol.check(form, [briefed])]

    assert told("mode: {from_agent: command, context_level: MINIMAL}") == []
    assert told("mode: {from_agent: command, context_level: METADATA}") == []
    assert told("mode: {from_agent: command, context_level: FULL}") == [
        "said to be received at FULL, but command passed it at MINIMAL"
    ]
    assert told("mode: {from_agent: other, context_level: FULL}") == [
        "said to be from other, who did not pass it to coordinator"
    ]
    assert told("plugin_path: {from_agent: command, context_level: MINIMAL}") == [
        "said to be from command, who did not pass it to coordinator"
    ]


def test_a_tier_is_remembered_over_two_handoffs() -> None:
    briefed = form_of(MINIMAL)
    second = protocol.pass_on(
        briefed, to_agent="middle", context_level=Tier.FULL, own={}, expected_output=REPORT, only=["mode"]
    )
    third = protocol.pass_on(second, to_agent="last", context_level=Tier.FULL, own={}, expected_output=REPORT)
    assert third.origins == {"payload.mode": Received(from_agent="coordinator", context_level=Tier.MINIMAL)}


TWO_LINES = "first\nsecond\n"


def handed(
    from_agent: str, to_agent: str, tier: Tier, payload: dict[str, Any], **origins: Received
) -> HandoffForm:
    """A form; an origin's path is told with two underscores for each dot."""
    told = {path.replace("__", "."): one for path, one in origins.items()}
    return HandoffForm(from_agent, to_agent, tier, payload, (), REPORT, told)


def passed_on(form: HandoffForm, tier: Tier = Tier.FULL) -> HandoffForm:
    return protocol.pass_on(form, to_agent="last", context_level=tier, own={}, expected_output=REPORT)


def paths(form: HandoffForm, *received: HandoffForm) -> list[str]:
    return [misfit.path for misfit in protocol.check(form, received)]


def test_the_tier_of_what_is_inside_of_a_field_goes_on_with_it() -> None:
    payload = {"report": {"detail": "short", "note": TWO_LINES}}
    got = handed("first", "b", Tier.FULL, payload, report__detail=Received("x", Tier.MINIMAL))
    onwards = passed_on(got)
    assert onwards.origins == {
        "payload.report": Received("first", Tier.FULL),
        "payload.report.detail": Received("first", Tier.MINIMAL),
    }
    assert paths(onwards, got) == []
    grown = {"report": {"detail": TWO_LINES, "note": TWO_LINES}}
    assert paths(msgspec.structs.replace(onwards, payload=grown)) == ["payload.report.detail"]


def test_what_is_inside_is_held_to_its_tier_whatever_is_told_of_what_it_is_in() -> None:
    got = handed(
        "first", "b", Tier.FULL, {"report": {"detail": "short"}}, report__detail=Received("x", Tier.MINIMAL)
    )
    grown = {"report": {"detail": TWO_LINES}}
    assert paths(handed("b", "c", Tier.FULL, grown), got) == ["payload.report.detail"]
    outer = handed("b", "c", Tier.FULL, grown, report=Received("first", Tier.FULL))
    assert paths(outer, got) == ["payload.report.detail"]
    [lie] = protocol.check(
        handed("b", "c", Tier.FULL, grown, report__detail=Received("first", Tier.FULL)), [got]
    )
    assert lie.reason == "said to be received at FULL, but first passed it at MINIMAL"
    other = handed("second", "b", Tier.FULL, {"report": {"text": TWO_LINES}})
    [lie] = protocol.check(
        handed("b", "c", Tier.FULL, grown, report__detail=Received("second", Tier.FULL)), [got, other]
    )
    assert lie.reason == "said to be from second, who did not pass it to b"
    assert paths(handed("b", "c", Tier.FULL, grown, report=Received("b")), got) == []
    assert paths(handed("b", "c", Tier.FULL, grown, report__detail=Received("b")), got) == []


def test_an_own_item_frees_nothing_beside_it() -> None:
    got = handed("first", "b", Tier.METADATA, {"report": {"detail": "short", "id": "1"}})
    grown = {"report": {"detail": TWO_LINES, "note": TWO_LINES}}
    own = handed("b", "c", Tier.FULL, grown, report__note=Received("b"))
    assert paths(own, got) == ["payload.report.detail"]


def test_what_was_the_sender_s_own_inside_of_something_received_goes_on_at_the_form_s_tier() -> None:
    payload = {"improvements": [{"id": "CTX-1", "code": TWO_LINES}, {"id": "CTX-2", "code": TWO_LINES}]}
    got = HandoffForm(
        "first",
        "b",
        Tier.SELECTIVE,
        payload,
        (),
        REPORT,
        {"improvements": Received("x", Tier.METADATA), "improvements[].code": Received("first")},
    )
    assert protocol.check(got) == ()
    onwards = passed_on(got)
    assert onwards.origins == {
        "payload.improvements": Received("first", Tier.METADATA),
        "payload.improvements[].code": Received("first", Tier.SELECTIVE),
    }
    assert paths(onwards, got) == []


def test_an_item_that_is_the_sender_s_own_is_free_where_all_of_them_were_received() -> None:
    got = HandoffForm(
        "first",
        "b",
        Tier.FULL,
        {"files": [{"text": "a"}, {"text": "b"}]},
        (),
        REPORT,
        {"files[].text": Received("x", Tier.MINIMAL)},
    )
    grown = handed("b", "c", Tier.FULL, {"files": [{"text": TWO_LINES}, {"text": TWO_LINES}]})
    assert paths(grown, got) == ["payload.files[0].text", "payload.files[1].text"]
    own = msgspec.structs.replace(grown, origins={"files[0]": Received("b")})
    assert paths(own, got) == ["payload.files[1].text"]


def test_of_a_field_that_two_passed_the_later_one_goes_on_with_its_origins_alone() -> None:
    inner = {"report__detail": Received("x", Tier.MINIMAL)}
    got = [
        handed("first", "b", Tier.FULL, {"report": {"detail": "short"}}, **inner),
        handed("second", "b", Tier.FULL, {"report": {"text": TWO_LINES}}),
    ]
    onwards = protocol.pass_on(got, to_agent="c", context_level=Tier.FULL, own={}, expected_output=REPORT)
    assert onwards.origins == {"payload.report": Received("second", Tier.FULL)}
    assert paths(onwards, *got) == []


@given(PAYLOADS, ORIGINS, st.sampled_from(Tier))
def test_what_may_be_passed_may_be_passed_on_as_it_is(
    payload: dict[str, Any], origins: dict[str, Received], tier: Tier
) -> None:
    # An object that is told apart from its list is an object, which FILTERED passes in lists alone.
    told = {path: one for path, one in origins.items() if not path.endswith("[]")}
    form, _fallen = protocol.reduce(HandoffForm("a", "b", tier, payload, (), REPORT, told), tier)
    assert paths(passed_on(form, tier), form) == []


def test_what_another_agent_received_is_no_evidence() -> None:
    with pytest.raises(BadInput, match="was handed to coordinator"):
        protocol.check(form_of(FULL), [form_of(MINIMAL)])


# The schema of the document


@given(PAYLOADS, LISTS, st.sampled_from(Tier))
def test_the_schema_refuses_nothing_that_fits(
    payload: dict[str, Any], not_passed: list[str], tier: Tier
) -> None:
    from segue import outputs

    form = HandoffForm(
        from_agent="a",
        to_agent="b",
        context_level=tier,
        payload=payload,
        not_passed=tuple(entry for entry in not_passed if entry.isprintable() and entry.strip()),
        expected_output=ExpectedOutput(format="yaml", schema="X"),
    )
    if protocol.check(form) == ():
        assert outputs.problems(protocol.to_plain(form), schemas.document()) == ()


@pytest.mark.parametrize(("text", "more", "path"), WRONG)
def test_the_schema_refuses_most_of_what_does_not_fit(text: str, more: str, path: str) -> None:
    from segue import outputs

    plain = protocol.to_plain(form_of(with_payload(text, more)))
    is_beyond_it = form_of(text).context_level is Tier.FULL or any(
        word in path for word in ("full_plugin", "[0]", "prior_")
    )
    assert is_beyond_it or outputs.problems(plain, schemas.document())


@pytest.mark.parametrize(("old", "new", "says"), MALFORMED)
def test_the_schema_refuses_what_is_no_handoff_document(old: str, new: str, says: str) -> None:
    from segue import outputs

    plain = notation.read(changed(MINIMAL, old, new), "", next="")[0]
    is_beyond_it = "not in the payload" in says or new == "from_agent: ' '"
    assert is_beyond_it or outputs.problems(plain, schemas.document())


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
  4 fields passed, 3 listed as not passed; comes back as yaml PluginAnalysis
""")


def test_the_screen_of_a_document_that_does_not(cli: CommandLine, folder: Path) -> None:
    (folder / "wide.yaml").write_text(with_payload(METADATA, "    files: [{file: a.md, content: x}]\n"))
    done = cli("protocol", "check", "wide.yaml")
    assert (done.code, done.err) == (1, "")
    assert done.out == snapshot("""\
✗ wide.yaml does not fit METADATA  improve-coordinator -[METADATA]-> improvement-synthesizer
  payload.files[0].content: contents, as its name says; SELECTIVE or FULL would allow it
  next: segue protocol reduce wide.yaml --to METADATA leaves out what does not fit
""")
    told = json.loads(cli("protocol", "check", "wide.yaml", "--json").out)
    assert told["fits"] is False
    assert told["misfits"] == [
        {
            "path": "payload.files[0].content",
            "reason": "contents, as its name says",
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
What MINIMAL does not pass fell away:
  payload.plugin_manifest: an object; METADATA, SELECTIVE or FULL would allow it
  payload.agent_files: a list of objects; SELECTIVE or FULL would allow it
""")


def test_a_reduction_is_in_the_documents_own_notation_unless_told(cli: CommandLine, folder: Path) -> None:
    as_json = cli("protocol", "reduce", "full.yaml", "--to", "MINIMAL", "--json").out
    assert json.loads(as_json)["handoff"]["context_level"] == "MINIMAL"
    (folder / "full.json").write_text(protocol.write(form_of(FULL), Notation.JSON))
    same = cli("protocol", "reduce", "full.json", "--to", "MINIMAL").out
    assert json.loads(same) == json.loads(as_json)
    assert cli("protocol", "reduce", "full.json", "--to", "MINIMAL", "--yaml").out.startswith("handoff:\n")
    assert "Nothing fell away" in cli("protocol", "reduce", "full.json", "--to", "FULL").err


def test_a_document_can_be_piped_in(cli: CommandLine, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(FILTERED.encode())))
    assert cli("protocol", "check", "-").out.startswith("✓ stdin fits FILTERED")
    monkeypatch.setattr(
        sys, "stdin", io.TextIOWrapper(io.BytesIO(with_payload(FILTERED, "    x: {}\n").encode()))
    )
    assert "segue protocol reduce - --to FILTERED" in cli("protocol", "check", "-").out
    refused = cli("protocol", "check", "-", "--received", "-")
    assert refused.code == 2 and "Only one document" in refused.err


def test_what_was_received_can_be_named(cli: CommandLine, folder: Path) -> None:
    grown = FULL.replace("from_agent: improve-coordinator", "from_agent: coordinator")
    (folder / "next.yaml").write_text(changed(grown, '    mode: "all"\n', "    mode: {name: all}\n"))
    assert cli("protocol", "check", "next.yaml").code == 0
    done = cli("protocol", "check", "next.yaml", "--received", "minimal.yaml")
    assert done.code == 1 and "payload.mode: received at MINIMAL from command: an object" in done.out
    assert "next: leave these fields out, or say in origins" in done.out


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["check", "nowhere.yaml"], 2, "There is no file 'nowhere.yaml'"),
        (["check", "."], 2, "no ordinary file"),
        (["check", "a\0b"], 2, "cannot be read"),
        (["check", "empty.yaml"], 2, "is empty"),
        (["check", "binary.yaml"], 2, "is no text"),
        (["check", "/dev/zero"], 2, "no ordinary file"),
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


DOCS = Path(__file__).parent.parent / "docs"


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
        payload = notation.read(f"field: {value}", value, next="")[0]
        fits = ["yes" if not tiers.misfits(payload, tier) else "no" for tier in Tier]
        assert told.split(" | ") == fits, value


def test_the_table_of_parts_is_right() -> None:
    page = (DOCS / "tiers.md").read_text()
    rows = dict(re.findall(r"^\| (\w+) \| ((?:yes|no).+) \|$", page, re.MULTILINE))
    assert rows == {
        shape.value: " | ".join("yes" if tiers.passes(tier, shape) else "no" for tier in Tier)
        for shape in tiers.Shape
    }
