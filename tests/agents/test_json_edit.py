"""JSON files of other programs are changed at one place, and every other byte stays."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from segue.agents.shared.settings import json_edit

PATH = ("hooks", "Before")
ITEM = {"matcher": "a|b", "hooks": [{"command": "x 'y'"}]}

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
hooks = st.dictionaries(st.text(), values, max_size=3).map(
    lambda other: {**other, "Before": [1, {"a": []}]}
) | st.dictionaries(st.text(), values, max_size=3).filter(lambda other: "Before" not in other)
settings = (
    st.tuples(st.dictionaries(st.text(), values, max_size=4), st.none() | hooks)
    .map(lambda both: {**both[0], **({"hooks": both[1]} if both[1] is not None else {})})
    .filter(lambda value: isinstance(value.get("hooks", {}), dict))
)
styles = st.fixed_dictionaries(
    {"indent": st.sampled_from([None, 1, 2, 4, "\t"]), "ensure_ascii": st.booleans()},
    optional={"separators": st.sampled_from([(",", ":"), (" , ", " : ")])},
)


def last(text: str) -> tuple[str | int, ...]:
    return (*PATH, len(json.loads(text)["hooks"]["Before"]) - 1)


@given(settings, styles)
def test_an_item_is_added_and_all_else_says_what_it_said(
    value: dict[str, Any], style: dict[str, Any]
) -> None:
    text = json.dumps(value, **style)
    added = json_edit.append(text, PATH, ITEM)
    expected = json.loads(text)
    expected.setdefault("hooks", {}).setdefault("Before", []).append(ITEM)
    assert json.loads(added) == expected
    assert list(json.loads(added)) == list(expected)


@given(settings, styles, st.sampled_from(["", "\n", "\r\n", " \n\n"]))
def test_what_was_added_and_removed_leaves_no_trace(
    value: dict[str, Any], style: dict[str, Any], end: str
) -> None:
    text = json.dumps(value, **style) + end
    added = json_edit.append(text, PATH, ITEM)
    removed = json_edit.remove(added, last(added))
    if value.get("hooks", {"some": 1}) and value:
        assert removed == text
    else:  # an empty object that was there may be gone, or laid out anew
        assert {**json.loads(removed), "hooks": {}} == {**json.loads(text), "hooks": {}}


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1,\n "hooks": {"Before": []}}',
        '\ufeff{\r\n\t"hooks": {\r\n\t\t"Before": [\r\n\t\t\t1\r\n\t\t]\r\n\t}\r\n}\r\n',
        '{"hooks": {"x": 1}, "hooks": {"Before": [2]}}',
        "{ }",
        " \n{}",
    ],
)
def test_odd_texts_stay_readable(text: str) -> None:
    added = json_edit.append(text, PATH, ITEM)
    assert json_edit.parse(added)["hooks"]["Before"][-1] == ITEM
    removed = json_edit.parse(json_edit.remove(added, last(added.removeprefix("\ufeff"))))
    assert {**removed, "hooks": 0} == {**json_edit.parse(text), "hooks": 0}


def test_what_is_added_looks_like_what_stands_beside_it() -> None:
    text = '{\n    "list": ["kept", "on one line"],\n    "hooks": {\n        "After": []\n    }\n}\n'
    assert json_edit.append(text, PATH, {"command": "é"}) == snapshot("""\
{
    "list": ["kept", "on one line"],
    "hooks": {
        "After": [],
        "Before": [
            {
                "command": "é"
            }
        ]
    }
}
""")
    assert json_edit.append('{"a":1}', PATH, 1) == snapshot('{"a":1,"hooks": {"Before": [1]}}')
    assert json_edit.append("{}\n", PATH, 1) == snapshot("""\
{
  "hooks": {
    "Before": [
      1
    ]
  }
}
""")


def test_the_lines_of_another_system_stay_so() -> None:
    added = json_edit.append('{\r\n  "a": 1\r\n}\r\n', PATH, ITEM)
    assert added.count("\n") == added.count("\r\n") > 5


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[]", "the whole is no object"),
        ('"x"', "the whole is no object"),
        ('{"hooks": []}', "'hooks' is no object"),
        ('{"hooks": null}', "'hooks' is no object"),
        ('{"hooks": {"Before": {}}}', "'hooks.Before' is no list"),
    ],
)
def test_a_text_of_another_shape_is_refused(text: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        json_edit.append(text, PATH, ITEM)


@pytest.mark.parametrize("text", ["", "{", "{'a': 1}", '{"a": 1,}', "// x\n{}", "[" * 100_000])
def test_what_is_no_json_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        json_edit.parse(text)


@pytest.mark.parametrize(
    "path", [("x",), ("hooks", "x"), ("hooks", "Before", 5), ("hooks", "Before", 0, "x")]
)
def test_what_is_not_there_cannot_be_removed(path: tuple[str | int, ...]) -> None:
    text = '{"hooks": {"Before": [1]}}'
    assert json_edit.remove(text, path) == text


# A value in its place


@given(settings, styles, values)
def test_a_value_is_put_in_its_place_and_all_else_says_what_it_said(
    value: dict[str, Any], style: dict[str, Any], new: Any
) -> None:
    text = json.dumps(value, **style)
    expected = json.loads(text)
    assert json.loads(json_edit.put(text, ("line", "command"), new)) == {
        **expected,
        "line": {"command": new},
    } or ("line" in expected)
    for key in expected:
        assert json.loads(json_edit.put(text, (key,), new)) == {**expected, key: new}


# Comments

COMMENTED = """\
{ // "not": "this",
  "a": "// no comment", /* {"b": 1} */
  "list": [
    1, // one
    2, /* two */
  ], // and a comma
  "empty": { /* nothing yet */ },
}
"""


def test_a_text_with_comments_says_what_it_says_without_them() -> None:
    assert json_edit.parse_with_comments(COMMENTED) == {"a": "// no comment", "list": [1, 2], "empty": {}}
    with pytest.raises(ValueError, match="line 1"):
        json_edit.parse(COMMENTED)
    with pytest.raises(ValueError):
        json_edit.parse_with_comments('{"a": 1,, }')


@pytest.mark.parametrize("path", [("list",), ("empty", "new"), ("more",)])
def test_what_is_added_beside_comments_leaves_them_and_goes_without_a_trace(path: tuple[str, ...]) -> None:
    added = json_edit.append(COMMENTED, path, {"x": 1})
    found = json_edit.parse_with_comments(added)
    for key in path:
        found = found[key]
    assert found[-1] == {"x": 1}
    assert all(
        part in added
        for part in ('// "not": "this",', '/* {"b": 1} */', "// one", "/* two */", "// and a comma")
    )
    assert json_edit.remove(added, (*path, len(found) - 1)) == COMMENTED


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ('{"a": 1, "mcp": {"ours": 1,},}', '{"a": 1,}'),
        ('{"mcp": {"ours": 1,},}', "{}"),
        ('{"mcp": {/* c */ "ours": 1,},}', '{"mcp": {/* c */ },}'),
        ('{"mcp": {"ours": 1, // why\n},}', '{"mcp": { // why\n},}'),
        ('{"mcp": {"ours": 1 /* , */ ,},}', '{"mcp": { /* , */ },}'),
        ('{"mcp": {"ours": 1, // why\n"b": 2}}', '{"mcp": { // why\n"b": 2}}'),
        ('{"mcp": {"a": 1, // why\n"ours": 2,}}', '{"mcp": {"a": 1 // why\n,}}'),
    ],
)
def test_what_is_taken_out_leaves_no_comma_and_no_comment_is_lost(text: str, left: str) -> None:
    removed = json_edit.remove(text, ("mcp", "ours"))
    assert removed == left
    expected = json_edit.parse_with_comments(text)
    del expected["mcp"]["ours"]
    assert {"mcp": {}, **json_edit.parse_with_comments(removed)} == expected


comments = st.sampled_from(["", " ", "\n", '// a "}\n', "/* ] , */", "//\n", "/**/", "\t"])


@given(st.data(), values)
def test_comments_anywhere_change_nothing_of_what_is_said(data: st.DataObject, value: Any) -> None:
    text, pieces = json.dumps({"v": value}), []
    for token in re.findall(r'"(?:[^"\\]|\\.)*"|[\[\]{},:]|[^\s"\[\]{},:]+', text):
        pieces += [token, data.draw(comments)]
    assert json_edit.parse_with_comments("".join(pieces)) == {"v": value}
