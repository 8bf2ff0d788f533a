"""Tier down, never up: what came at a tier goes on at that tier, or below."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from segue.errors import BadInput
from segue.model import ExpectedOutput, Tier
from segue.protocol import document
from segue.protocol.document import HandoffForm
from segue.tiers import Received
from tests.handoff_documents import FULL, MINIMAL
from tests.pure.protocol.test_document import changed, form_of, misfits
from tests.pure.tiers.test_tiers import ORIGINS, PAYLOADS

# Tier down, never up


REPORT = ExpectedOutput(format="yaml", schema="ImprovementReport")


def test_the_analysis_pipeline_reads_for_itself_what_it_was_not_given() -> None:
    briefed = form_of(MINIMAL)
    files = [{"file": "agents/a.md", "content": "# A\n"}]
    analysed = document.pass_on(
        briefed,
        to_agent="analyzer",
        context_level=Tier.FULL,
        own={"agent_files": files},
        expected_output=ExpectedOutput(format="yaml", schema="PluginAnalysis"),
        not_passed=["git_history"],
    )
    assert analysed.from_agent == "coordinator"
    assert analysed.payload == {"mode": "all", "target_path": "/path/to/plugin", "agent_files": files}
    assert document.check(analysed, [briefed]) == ()
    assert form_of(document.write(analysed)) == analysed


def test_the_improvement_and_synthesis_pipelines_narrow_step_by_step() -> None:
    found = HandoffForm(
        from_agent="analyzer",
        to_agent="coordinator",
        context_level=Tier.SELECTIVE,
        payload={"violations": [{"type": "MISSING_TIER", "file": "a.md", "quote": "line\nline\n"}]},
        not_passed=(),
        expected_output=REPORT,
    )
    onwards = document.pass_on(
        found,
        to_agent="checker",
        context_level=Tier.FILTERED,
        own={"focus": "context"},
        expected_output=REPORT,
    )
    assert [one.path for one in document.check(onwards, [found])] == ["payload.violations[0].quote"]
    checked, fallen = document.reduce(onwards, Tier.FILTERED)
    assert [one.path for one in fallen] == ["payload.violations[0].quote"]
    assert document.check(checked, [found]) == ()
    summary, _fallen = document.reduce(checked, Tier.METADATA)
    assert document.check(summary, [found]) == ()


def test_what_came_at_minimal_cannot_go_on_as_more() -> None:
    briefed = form_of(MINIMAL)
    grown = changed(
        FULL,
        '    mode: "all"\n',
        "    mode: {name: all, how: {fast: true}}\n",
    ).replace("from_agent: improve-coordinator", "from_agent: coordinator")
    form = form_of(grown)
    assert document.check(form) == ()
    [misfit] = document.check(form, [briefed])
    assert misfit.path == "payload.mode" and misfit.reason == "received at MINIMAL from command: an object"
    own = form_of(
        changed(grown, "  not_passed:", "  origins: {mode: {from_agent: coordinator}}\n  not_passed:")
    )
    assert document.check(own, [briefed]) == ()


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
        return [one.reason for one in document.check(form, [briefed])]

    assert told("mode: {from_agent: command, context_level: MINIMAL}") == []
    assert told("mode: {from_agent: command, context_level: METADATA}") == []
    assert told("mode: {from_agent: command, context_level: FULL}") == [
        "declared as received at FULL, but command passed it at MINIMAL"
    ]
    assert told("mode: {from_agent: other, context_level: FULL}") == [
        "declared as from other, who did not pass it to coordinator"
    ]
    assert told("plugin_path: {from_agent: command, context_level: MINIMAL}") == [
        "declared as from command, who did not pass it to coordinator"
    ]


def test_a_tier_is_remembered_over_two_handoffs() -> None:
    briefed = form_of(MINIMAL)
    second = document.pass_on(
        briefed, to_agent="middle", context_level=Tier.FULL, own={}, expected_output=REPORT, only=["mode"]
    )
    third = document.pass_on(second, to_agent="last", context_level=Tier.FULL, own={}, expected_output=REPORT)
    assert third.origins == {"payload.mode": Received(from_agent="coordinator", context_level=Tier.MINIMAL)}


TWO_LINES = "first\nsecond\n"


def handed(
    from_agent: str, to_agent: str, tier: Tier, payload: dict[str, Any], **origins: Received
) -> HandoffForm:
    """A form; an origin's path is told with two underscores for each dot."""
    told = {path.replace("__", "."): one for path, one in origins.items()}
    return HandoffForm(from_agent, to_agent, tier, payload, (), REPORT, told)


def passed_on(form: HandoffForm, tier: Tier = Tier.FULL) -> HandoffForm:
    return document.pass_on(form, to_agent="last", context_level=tier, own={}, expected_output=REPORT)


def paths(form: HandoffForm, *received: HandoffForm) -> list[str]:
    return [misfit.path for misfit in document.check(form, received)]


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
    [lie] = document.check(
        handed("b", "c", Tier.FULL, grown, report__detail=Received("first", Tier.FULL)), [got]
    )
    assert lie.reason == "declared as received at FULL, but first passed it at MINIMAL"
    other = handed("second", "b", Tier.FULL, {"report": {"text": TWO_LINES}})
    [lie] = document.check(
        handed("b", "c", Tier.FULL, grown, report__detail=Received("second", Tier.FULL)), [got, other]
    )
    assert lie.reason == "declared as from second, who did not pass it to b"
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
    assert document.check(got) == ()
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
    onwards = document.pass_on(got, to_agent="c", context_level=Tier.FULL, own={}, expected_output=REPORT)
    assert onwards.origins == {"payload.report": Received("second", Tier.FULL)}
    assert paths(onwards, *got) == []


@given(PAYLOADS, ORIGINS, st.sampled_from(Tier))
def test_what_may_be_passed_may_be_passed_on_as_it_is(
    payload: dict[str, Any], origins: dict[str, Received], tier: Tier
) -> None:
    # An object that is told apart from its list is an object, which FILTERED passes in lists alone.
    told = {path: one for path, one in origins.items() if not path.endswith("[]")}
    form, _fallen = document.reduce(HandoffForm("a", "b", tier, payload, (), REPORT, told), tier)
    assert paths(passed_on(form, tier), form) == []


def test_what_another_agent_received_is_no_evidence() -> None:
    with pytest.raises(BadInput, match="received handoff was to coordinator"):
        document.check(form_of(FULL), [form_of(MINIMAL)])
