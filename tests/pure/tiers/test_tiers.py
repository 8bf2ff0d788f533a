"""Tiers: what each passes, by shape; what not_passed excludes; tier down, never up."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from segue import tiers
from segue.errors import BadInput
from segue.model import Tier
from segue.tiers import Received, Shape, fields, shapes

FULL, SELECTIVE, FILTERED, MINIMAL, METADATA = Tier
LONG = "word " * 60
TWO_LINES = "def f():\n    return 1"
SENTENCE = "this is a whole sentence"


def paths(payload: dict[str, Any], tier: Tier, *args: Any) -> list[str]:
    return [misfit.path for misfit in tiers.misfits(payload, tier, *args)]


# What a brief may pass


@pytest.mark.parametrize("tier", Tier)
def test_a_persons_constraints_pass_at_every_tier(tier: Tier) -> None:
    assert tiers.passes(tier, Shape.CONSTRAINT)


def test_only_the_two_widest_tiers_pass_contents_and_conversation() -> None:
    for shape in (Shape.CONTENT, Shape.QUOTE):
        assert [tier for tier in Tier if tiers.passes(tier, shape)] == [FULL, SELECTIVE]


def test_minimal_passes_neither_items_nor_descriptions() -> None:
    assert [shape for shape in Shape if tiers.passes(MINIMAL, shape)] == [Shape.CONSTRAINT, Shape.SCALAR]
    assert tiers.passes(METADATA, Shape.SUMMARY) and not tiers.passes(METADATA, Shape.ITEM)


@given(st.sampled_from(Tier), st.none() | st.sampled_from(Tier))
def test_a_limit_is_never_wider_than_what_was_received_or_wanted(wanted: Tier, received: Tier | None) -> None:
    limit = tiers.limit(wanted, received)
    assert wanted.allows(limit) and (received is None or received.allows(limit))
    assert limit in (wanted, received)


def test_a_tier_is_found_by_its_name_in_capitals_or_not() -> None:
    assert tiers.named("minimal") is MINIMAL
    with pytest.raises(BadInput, match="did you mean METADATA"):
        tiers.named("METADTA")
    with pytest.raises(BadInput, match="the tiers are FULL, SELECTIVE"):
        tiers.named("everything")


# Shapes


FITS: list[tuple[Tier, Any]] = [
    (FULL, {"deep": [{"er": [{"and": {"deeper": TWO_LINES}}]}]}),
    (SELECTIVE, TWO_LINES),
    (SELECTIVE, {"count": 5, "files": ["a.py", SENTENCE]}),
    (SELECTIVE, [{"file": "a.py", "content": TWO_LINES}]),
    (FILTERED, [{"id": "CTX-1", "files": ["a.py"], "line": 3}]),
    (FILTERED, [SENTENCE, 5, None]),
    (MINIMAL, SENTENCE),
    (MINIMAL, 5),
    (MINIMAL, None),
    (MINIMAL, ["CTX-1", "src/My Project/a file.py", 7]),
    (MINIMAL, []),
    (
        MINIMAL,
        [
            "用户登录流程设计文档",
            "2024年第三季度财务报告.xlsx",
            "コンテキストハンドオフ",
            "รายงานประจำปี",
            "인수인계 문서",
        ],
    ),
    (METADATA, [{"id": "CTX-1", "description": SENTENCE, "files": ["a.py"]}]),
    (METADATA, {"files": 14, "reduction": "35%", "done": True}),
    (METADATA, ["a.py", "b.py"]),
]


@pytest.mark.parametrize(("tier", "value"), FITS)
def test_a_tier_passes_its_shapes(tier: Tier, value: Any) -> None:
    assert tiers.misfits({"x": value}, tier) == ()


REFUSED: list[tuple[Tier, Any, str, list[Tier]]] = [
    (SELECTIVE, {"a": {"b": 1}}, "payload.x.a", [FULL]),
    (SELECTIVE, [{"a": {"b": 1}}], "payload.x[0].a", [FULL]),
    (SELECTIVE, [[1]], "payload.x", [FULL]),
    (SELECTIVE, [1, [2]], "payload.x[1]", [FULL]),
    (SELECTIVE, {"a": [{"b": 1}]}, "payload.x.a", [FULL]),
    (FILTERED, {"a": 1}, "payload.x", [METADATA, SELECTIVE, FULL]),
    (FILTERED, [{"a": {"b": 1}}], "payload.x[0].a", [FULL]),
    (FILTERED, [{"file": "a", "content": "x = 1"}], "payload.x[0].content", [SELECTIVE, FULL]),
    (FILTERED, TWO_LINES, "payload.x", [SELECTIVE, FULL]),
    (FILTERED, [{"a": LONG}], "payload.x[0].a", [SELECTIVE, FULL]),
    (FILTERED, [{"said": [SENTENCE]}], "payload.x[0].said", [SELECTIVE, FULL]),
    (MINIMAL, {"a": 1}, "payload.x", [METADATA, SELECTIVE, FULL]),
    (MINIMAL, [{"id": 1}], "payload.x", [METADATA, FILTERED, SELECTIVE, FULL]),
    (MINIMAL, ["a", {"id": 1}], "payload.x[1]", [METADATA, FILTERED, SELECTIVE, FULL]),
    (MINIMAL, [SENTENCE, SENTENCE], "payload.x", [FILTERED, SELECTIVE, FULL]),
    (MINIMAL, ["a", "请把协调器改成按层级传递上下文"], "payload.x[1]", [FILTERED, SELECTIVE, FULL]),
    (
        MINIMAL,
        ["コーディネーターに階層を追加して、渡さないものを明記する"],
        "payload.x",
        [FILTERED, SELECTIVE, FULL],
    ),
    (MINIMAL, ["เพิ่มระดับบริบทให้กับผู้ประสานงานและบอกว่าสิ่งใดไม่ถูกส่งต่อ"], "payload.x", [FILTERED, SELECTIVE, FULL]),
    (MINIMAL, LONG, "payload.x", [SELECTIVE, FULL]),
    (METADATA, [{"id": 1, "content": TWO_LINES}], "payload.x[0].content", [SELECTIVE, FULL]),
    (METADATA, [{"description": SENTENCE, "why": SENTENCE}], "payload.x[0].why", [FILTERED, SELECTIVE, FULL]),
    (METADATA, {"a": {"b": 1}}, "payload.x.a", [FULL]),
    (METADATA, ["name", SENTENCE], "payload.x[1]", [FILTERED, SELECTIVE, FULL]),
]


@pytest.mark.parametrize(("tier", "value", "path", "allowed"), REFUSED)
def test_what_is_wider_is_named_with_the_tiers_that_would_pass_it(
    tier: Tier, value: Any, path: str, allowed: list[Tier]
) -> None:
    [misfit] = tiers.misfits({"fine": 1, "x": value}, tier)
    assert (misfit.path, list(misfit.allowed)) == (path, allowed)
    for other in allowed:
        assert tiers.misfits({"x": value}, other) == ()


def test_a_misfit_says_in_one_line_where_what_and_which_tier() -> None:
    [misfit] = tiers.misfits({"files": [{"file": "a.md", "content": "# A\n"}]}, METADATA)
    assert str(misfit) == (
        "payload.files[0].content: contents: a text with line breaks; SELECTIVE or FULL would allow it"
    )


@pytest.mark.parametrize(
    "name",
    [
        "content",
        "fileContents",
        "HTMLContent",
        "filecontents",
        "code_samples",
        "before-snippet",
        "Source Code",
    ],
)
def test_a_name_makes_a_field_narrower(name: str) -> None:
    assert paths({"items": [{name: "x"}]}, FILTERED) == [fields.show(("items", 0, name))]
    assert paths({"items": [{name: 5}]}, FILTERED) == []


@pytest.mark.parametrize("break_", ["\n", "\r", "\v", "\f", "\x85", "\u2028", "\u2029", "\x1c"])
def test_no_name_makes_contents_anything_else(break_: str) -> None:
    assert paths({"id": f"one{break_}two"}, MINIMAL) == ["payload.id"]


def test_contents_cannot_hide_in_a_name() -> None:
    assert paths({TWO_LINES: 1, "x": {LONG: 1}}, SELECTIVE) == [
        fields.show((TWO_LINES,)),
        fields.show(("x", LONG)),
    ]


@pytest.mark.parametrize("value", [b"bytes", {1, 2}, float("nan"), object(), {5: 1}])
def test_what_no_document_can_hold_fits_nowhere(value: Any) -> None:
    for tier in Tier:
        assert len(paths({"x": value}, tier)) == 1


def test_what_is_nested_without_end_is_refused() -> None:
    deep: list[Any] = []
    deep.append(deep)
    assert len(paths({"x": deep}, FULL)) == 1
    assert tiers.cut({"x": deep, "y": 1}, SELECTIVE).payload == {"y": 1}


# What not_passed lists


@pytest.mark.parametrize("tier", Tier)
def test_a_listed_field_is_refused_at_every_tier(tier: Tier) -> None:
    [misfit] = tiers.misfits({"mode": "all", "git_history": 3}, tier, ["git_history"])
    assert misfit.path == "payload.git_history" and misfit.allowed == ()
    assert "no tier would allow it" in str(misfit)


@pytest.mark.parametrize(
    "name",
    ["git_history", "gitHistory", "Git history", "GIT-HISTORY", "GITHistory", "githistory", "ｇｉｔ history"],
)
@pytest.mark.parametrize("entry", ["git_history", "gitHistory", "GITHistory", "githistory"])
def test_a_listed_field_is_found_at_any_depth_and_in_any_spelling(name: str, entry: str) -> None:
    assert paths({"a": [{"b": {name: 1}}]}, FULL, [entry]) == [fields.show(("a", 0, "b", name))]


def test_an_accent_that_is_a_letter_of_its_own_is_the_same_accent() -> None:
    assert paths({"gro\u0308ße": 1}, FULL, ["gr\u00f6ße"]) == ['payload["gro\\u0308\\u00dfe"]']


def test_a_path_in_the_list_stands_for_that_place_only() -> None:
    payload = {"files": [{"note": "a"}, {"note": "b"}], "note": "c"}
    assert paths(payload, FULL, ["payload.files[].note"]) == [
        "payload.files[0].note",
        "payload.files[1].note",
    ]
    assert paths(payload, FULL, ["files[1].note"]) == ["payload.files[1].note"]
    assert paths(payload, FULL, ["payload.note"]) == ["payload.note"]
    assert paths(payload, FULL, ["payload.files[].note (1 of 2)"]) == []


def test_contents_of_listed_files_and_folders_are_refused_and_their_names_are_not() -> None:
    files = [{"file": "node_modules/left/pad.js", "content": "x"}, {"file": "src/a.js", "content": "y"}]
    assert paths({"files": files}, FULL, ["node_modules"]) == ["payload.files[0].content"]
    assert paths({"files": files}, FULL, ["src/a.js"]) == ["payload.files[1].content"]
    assert paths({"files": files}, FULL, ["file_contents"]) == [
        "payload.files[0].content",
        "payload.files[1].content",
    ]
    assert paths({"files": files}, FULL, ["modules", "a.js.map"]) == []
    assert paths({"files": [{"file": "node_modules/a.js"}]}, FULL, ["node_modules"]) == []


@pytest.mark.parametrize(
    "path", ["src\\a.py", ".\\src\\a.py", "src//a.py", "lib/../src/a.py", "C:\\work\\src\\a.py"]
)
def test_a_listed_file_is_found_in_any_spelling(path: str) -> None:
    payload = {"files": [{"filePath": path, "content": "x"}]}
    assert paths(payload, FULL, ["src/a.py"]) == paths(payload, FULL, ["src"]) == ["payload.files[0].content"]
    assert (
        paths({"files": [{"file": "src/a.py", "content": "x"}]}, FULL, [path.removeprefix("C:\\work")]) != []
    )
    assert paths(payload, FULL, ["src/a", "a.pyc", ".", "/"]) == []


def test_items_are_excluded_by_one_of_their_values() -> None:
    items = [{"id": 1, "priority": "HIGH"}, {"id": 2, "priority": "LOW"}]
    assert paths({"improvements": items}, FILTERED, ["LOW_priority_improvements"]) == [
        "payload.improvements[1]"
    ]
    for entry in ("lowPriorityImprovements", "low-priority improvements"):
        assert paths({"openImprovements": items}, FILTERED, [entry]) == ["payload.openImprovements[1]"]
    assert paths({"improvements": items}, FILTERED, ["MEDIUM_priority_improvements"]) == []
    violations = [{"type": "orchestration"}, {"type": "context"}]
    assert paths({"violations_to_fix": violations}, SELECTIVE, ["orchestration_violations"]) == [
        "payload.violations_to_fix[0]"
    ]
    assert paths({"found": violations}, SELECTIVE, ["orchestration_violations"]) == []


# Tier down, never up


def test_what_was_received_is_held_to_its_tier_in_a_wider_handoff() -> None:
    received = Received(from_agent="command", context_level=MINIMAL)
    payload = {"mode": "all", "files": [{"file": "a.md", "content": "x"}]}
    assert paths(payload, FULL, (), {"mode": received}) == []
    [misfit] = tiers.misfits(payload, FULL, (), {"files": received})
    assert misfit.path == "payload.files" and misfit.allowed == ()
    assert misfit.reason == "received at MINIMAL from command: a list of objects"


def test_what_an_agent_made_itself_is_its_own() -> None:
    received = Received(from_agent="analyst", context_level=METADATA)
    own = Received(from_agent="coordinator")
    payload = {"improvements": [{"id": "CTX-1", "code": TWO_LINES}]}
    assert paths(payload, FULL, (), {"improvements": received}) == ["payload.improvements[0].code"]
    assert paths(payload, FULL, (), {"improvements": received, "improvements[].code": own}) == []


def test_the_origin_of_one_item_wins_over_that_of_all() -> None:
    origins = {
        "items[]": Received(from_agent="a", context_level=MINIMAL),
        "items[1]": Received(from_agent="b"),
    }
    assert paths({"items": [TWO_LINES, TWO_LINES]}, FULL, (), origins) == ["payload.items[0]"]


# Cutting


def test_what_loses_all_that_it_held_goes_with_it() -> None:
    payload = {
        "files": [{"content": "x"}, {"content": "y"}],
        "about": {"text": TWO_LINES},
        "empty": [],
        "id": 1,
    }
    assert tiers.cut(payload, METADATA).payload == {"empty": [], "id": 1}


KEYS = st.sampled_from(
    ["id", "file", "content", "description", "note", "git_history", "a b", "x.y", "payload"]
)
TEXTS = st.sampled_from(["", "CTX-1", "LOW", "a/b.md", "node_modules/x.js", SENTENCE, LONG, TWO_LINES, "x\n"])
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS | st.text(max_size=8)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(KEYS | st.text(max_size=5), inner, max_size=4)
    ),
    max_leaves=20,
)
PAYLOADS = st.dictionaries(KEYS | st.text(max_size=5), VALUES, max_size=5)
LISTS = st.lists(
    st.sampled_from(
        ["git_history", "node_modules", "file_contents", "LOW_note_files", "payload.id", "note[].id"]
    )
    | st.text(max_size=6),
    max_size=3,
)
ORIGINS = st.dictionaries(
    st.sampled_from(["id", "note", "note[]", "note[].id", "file.note", 'payload["a b"]']),
    st.builds(Received, from_agent=st.just("z"), context_level=st.none() | st.sampled_from(Tier)),
    max_size=3,
)


def is_within(part: Any, whole: Any) -> bool:
    """Whether one value is another with something left out."""
    if isinstance(part, dict):
        return isinstance(whole, dict) and all(
            key in whole and is_within(value, whole[key]) for key, value in part.items()
        )
    if isinstance(part, list):
        rest = iter(whole) if isinstance(whole, list) else iter(())
        return isinstance(whole, list) and all(
            any(is_within(value, other) for other in rest) for value in part
        )
    return type(part) is type(whole) and part == whole


@given(PAYLOADS, st.sampled_from(Tier), LISTS, ORIGINS)
def test_what_is_left_of_a_payload_fits_and_was_there_before(
    payload: dict[str, Any], tier: Tier, not_passed: list[str], origins: dict[str, Received]
) -> None:
    kept = tiers.cut(payload, tier, not_passed, origins)
    assert tiers.misfits(kept.payload, tier, not_passed, origins) == ()
    assert is_within(kept.payload, payload)
    assert tiers.cut(kept.payload, tier, not_passed, origins).payload == kept.payload
    assert (kept.payload == payload) == (not kept.fallen)


@given(PAYLOADS, st.sampled_from(Tier), st.sampled_from(Tier))
def test_going_down_in_two_steps_never_keeps_more_than_in_one(
    payload: dict[str, Any], first: Tier, second: Tier
) -> None:
    if first.allows(second):
        step = tiers.cut(payload, first).payload
        assert is_within(tiers.cut(step, second).payload, tiers.cut(payload, second).payload)


@given(PAYLOADS, st.sampled_from(Tier))
def test_a_tier_that_is_said_to_allow_a_misfit_does(payload: dict[str, Any], tier: Tier) -> None:
    for misfit in tiers.misfits(payload, tier):
        for other in misfit.allowed:
            touching = (
                p for p in paths(payload, other) if p.startswith(misfit.path) or misfit.path.startswith(p)
            )
            assert all(not _is_above(p, misfit.path) and not _is_above(misfit.path, p) for p in touching)


def _is_above(one: str, other: str) -> bool:
    above, below = fields.parse(one), fields.parse(other)
    return above is not None and below is not None and below[: len(above)] == above


@given(st.lists(st.text(max_size=6) | st.integers(0, 99) | st.none(), max_size=5))
def test_a_path_is_read_as_it_is_shown(steps: list[str | int | None]) -> None:
    field = ("first", *steps)
    assert fields.parse(fields.show(field)) == field


@given(st.text(max_size=30))
def test_any_text_is_a_path_or_none(text: str) -> None:
    parsed = fields.parse(text)
    assert parsed is None or isinstance(parsed[0], str)


@given(st.text())
def test_folding_a_name_twice_changes_nothing_more(name: str) -> None:
    assert shapes.folded(shapes.folded(name)) == shapes.folded(name)
