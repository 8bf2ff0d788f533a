"""Conversation for a target: the user's words, each call with its result, and no secret."""

from __future__ import annotations

import itertools
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from segue import conversation, redact
from segue.briefs import tokens
from segue.conversation import Kept, Tail, select_turns
from segue.conversation import clean as conversation_clean
from segue.conversation import tail as tails
from segue.conversation.select_turns import GAP, LONGEST_RESULT
from segue.conversation.turns import DEEPEST, INTERRUPTED, LEFT_OUT, SUMMARISED
from segue.model import Entry, EntryKind, Origin
from segue.model.conversation import Speaker, ToolUse, Turn
from segue.ops.index import tracked_transcript
from segue.ops.work import transcripts
from segue.store import blobs
from segue.store.cache_files import Papers
from tests.secrets_planted import planted
from tests.world import Conversation

PERSON, AGENT = Speaker.PERSON, Speaker.AGENT
KEY = b"a key for these tests"
PEM = (
    "-----BEGIN RSA PRIVATE KEY-----\n"
    + "MIIEpAIBAAKCAQEAtq0x3Jz7\n" * 60
    + "-----END RSA PRIVATE KEY-----\n"
)
ids = itertools.count()


def entry(kind: EntryKind, origin: Origin, text: str, **more: Any) -> Entry:
    return Entry(**{"id": f"e{next(ids)}", "kind": kind, "origin": origin, "text": text, **more})


def said(text: str, **more: Any) -> Entry:
    return entry(EntryKind.PROMPT, Origin.HUMAN, text, **more)


def replied(text: str, **more: Any) -> Entry:
    return entry(EntryKind.REPLY, Origin.ASSISTANT, text, **more)


def called(call: str | None, text: str = "{}", tool: str = "Bash", **more: Any) -> Entry:
    return entry(EntryKind.CALL, Origin.ASSISTANT, text, call=call, tool=tool, **more)


def result(call: str | None, text: str = "ok", **more: Any) -> Entry:
    return entry(EntryKind.RESULT, Origin.TOOL, text, call=call, **more)


def summary(text: str, **more: Any) -> Entry:
    return entry(EntryKind.SUMMARY, Origin.ASSISTANT, text, **more)


def tail_of(*entries: Entry) -> Tail:
    tail = Tail()
    for one in entries:
        tail.add(one)
    return tail


def turns_of(*entries: Entry) -> tuple[Turn, ...]:
    return tuple(tail_of(*entries).turns())


def texts_of(*entries: Entry) -> list[str]:
    return [turn.text for turn in turns_of(*entries)]


def used(result: str, id: str = "c", **arguments: Any) -> Turn:
    return Turn(speaker=AGENT, uses=(ToolUse(id=id, tool="Bash", arguments=arguments, result=result),))


def person(text: str) -> Turn:
    return Turn(speaker=PERSON, text=text)


def clean(text: str) -> str:
    return redact.redact(text, key=KEY).text


COUNTER = tokens.estimated()


# Turns


def test_words_and_calls_become_turns_in_their_order() -> None:
    found = turns_of(
        said("fix it", at="2026-01-01T00:00:00.000000Z"),
        replied("I look.", model="m-1"),
        called("a", '{"command":"ls"}'),
        called("b", '{"command":"pwd"}'),
        result("b", "/work"),
        result("a", "x.py"),
        replied("There is x.py."),
    )
    assert [turn.speaker for turn in found] == [PERSON, AGENT, AGENT]
    assert found[0].at and found[1].model == "m-1"
    assert [(use.id, use.arguments, use.result) for use in found[1].uses] == [
        ("a", {"command": "ls"}, "x.py"),
        ("b", {"command": "pwd"}, "/work"),
    ]
    assert found[2].text == "There is x.py."


def test_a_call_that_waited_for_a_result_is_a_turn_of_its_own() -> None:
    found = turns_of(said("go"), called("a"), result("a"), called("b"), result("b"))
    assert [len(turn.uses) for turn in found] == [0, 1, 1]


def test_what_an_agent_said_in_several_pieces_is_one_turn() -> None:
    assert texts_of(said("go"), replied("One."), replied("Two.")) == ["go", "One.\n\nTwo."]


def test_each_message_of_the_person_is_a_turn() -> None:
    assert texts_of(said("one"), said("two")) == ["one", "two"]


@pytest.mark.parametrize(
    "left_out",
    [
        entry(EntryKind.THOUGHT, Origin.ASSISTANT, "hmm"),
        entry(EntryKind.NOTE, Origin.SYSTEM, "a reminder"),
        entry(EntryKind.LIMIT, Origin.SYSTEM, "You've hit your limit"),
        entry(EntryKind.PROMPT, Origin.SYSTEM, "<system-reminder>"),
        said("for the sub-agent", subagent="s"),
        replied("of the sub-agent", subagent="s"),
        called("s1", subagent="s"),
        result("nobody called this"),
        summary("of the sub-agent", subagent="s"),
        entry(EntryKind.IMAGE, Origin.SYSTEM, "logo.png"),
        said(" \n"),
        replied(""),
    ],
    ids=lambda one: f"{one.kind}-{one.origin}-{one.text.strip()}",
)
def test_nothing_else_is_carried(left_out: Entry) -> None:
    assert texts_of(said("go"), left_out, replied("Done.")) == ["go", "Done."]


def test_what_an_agent_was_given_to_do_is_not_reported_as_the_persons_words() -> None:
    given = entry(EntryKind.PROMPT, Origin.ASSISTANT, "The plan: delete it all")
    found = turns_of(said("Implement the following plan:"), given, replied("I begin."))
    assert [turn.speaker for turn in found] == [PERSON, AGENT, AGENT]
    assert "the user did not type this" in found[1].text and "delete it all" in found[1].text


def test_images_are_reported_by_reference_where_they_were_shown() -> None:
    shown = entry(EntryKind.IMAGE, Origin.HUMAN, "shot.png")
    plot = entry(EntryKind.IMAGE, Origin.TOOL, "plot.png")
    found = turns_of(said("look"), shown, called("a"), plot, result("a", "drawn"), shown, said("and this"))
    assert found[0].text == "look\n[image: shot.png]"
    assert found[1].uses[0].result == "drawn\n[image: plot.png]"
    assert found[2].text == "[image: shot.png]\nand this"


def test_a_call_without_a_result_says_so() -> None:
    use = turns_of(said("go"), called("a"), said("stop"))[1].uses[0]
    assert use.result == INTERRUPTED and use.is_error


def test_calls_without_ids_have_their_results_in_order() -> None:
    uses = turns_of(
        said("go"), called(None, tool="one"), called(None, tool="two"), result(None, "1"), result(None, "2")
    )[1].uses
    assert [(use.tool, use.result) for use in uses] == [("one", "1"), ("two", "2")]


def test_a_result_without_an_id_hangs_on_its_call() -> None:
    uses = turns_of(
        said("go"),
        called(None, tool="one", id="c1"),
        called(None, tool="two", id="c2"),
        result(None, "2", parent="c2"),
    )[1].uses
    assert [(use.tool, use.result) for use in uses] == [("one", INTERRUPTED), ("two", "2")]


@pytest.mark.parametrize(
    ("more", "is_error"),
    [({}, False), ({"status": 0}, False), ({"status": 2}, True), ({"is_error": True}, True)],
)
def test_a_result_that_failed_is_an_error(more: dict[str, Any], is_error: bool) -> None:
    assert turns_of(said("go"), called("a"), result("a", **more))[1].uses[0].is_error is is_error


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ("", {}),
        ("{}", {}),
        ('{"a":[1,{"b":null}]}', {"a": [1, {"b": None}]}),
        ("*** Begin Patch", {"input": "*** Begin Patch"}),
        ("[1]", {"input": "[1]"}),
        ('{"a":', {"input": '{"a":'}),
        ('{"a":NaN}', {"input": '{"a":NaN}'}),
        ('{"a":12345678901234567890}', {"input": '{"a":12345678901234567890}'}),
        (r'{"a":"\ud800"}', {"input": r'{"a":"\ud800"}'}),
        (r'{"a\u0000":"\u0000b"}', {"a␀": "␀b"}),
        (r'{"a":"\\u0000"}', {"a": "\\u0000"}),
    ],
)
def test_what_a_tool_was_given_is_always_an_object(text: str, arguments: dict[str, Any]) -> None:
    assert turns_of(said("go"), called("a", text))[1].uses[0].arguments == arguments


def test_arguments_that_are_nested_too_deeply_stay_text() -> None:
    for depth in (DEEPEST + 10, 100_000):
        text = '{"a":' * depth + "1" + "}" * depth
        assert turns_of(said("go"), called("a", text))[1].uses[0].arguments == {"input": text}


def test_ids_and_names_are_plain_and_no_id_is_there_twice() -> None:
    long = "x" * 100
    calls = ["a/b", "a.b", long, long + "y", "a/b", "", "é"]
    entries = [called(call, tool="mcp.server/do it") for call in calls]
    uses = turns_of(said("go"), *entries)[1].uses
    assert len({use.id for use in uses}) == len(calls)
    for use in uses:
        assert 0 < len(use.id) <= 64 and use.id.replace("_", "").replace("-", "").isascii()
        assert use.tool == "mcp_server_do_it"


def test_what_no_format_can_hold_is_replaced() -> None:
    found = turns_of(said("a\0b\ud800c"), called("\udfff", "\ud800"), result("\udfff", "\0"))
    assert found[0].text == "a␀b\ufffdc" and found[1].uses[0].result == "␀"
    msgspec.json.encode(found)


# Compactions and removed steps


def test_a_summary_takes_the_place_of_what_came_before() -> None:
    found = turns_of(
        said("old"), called("a"), result("a"), summary("All is well."), replied("On."), said("new")
    )
    assert [(turn.speaker, turn.text) for turn in found] == [
        (PERSON, SUMMARISED),
        (AGENT, "[Summary of what came before]\nAll is well."),
        (AGENT, "On."),
        (PERSON, "new"),
    ]


def test_a_summary_in_parts_is_one() -> None:
    assert texts_of(said("old"), replied("x"), summary("one"), summary("two"))[1].endswith("one\ntwo")


def test_of_two_summaries_the_last_holds() -> None:
    found = texts_of(summary("first"), replied("work"), summary("second"))
    assert len(found) == 2 and found[1].endswith("second")


def test_what_the_person_said_last_survives_a_compaction() -> None:
    found = texts_of(said("old"), replied("x"), said("now do this"), summary("All is well."), replied("On."))
    assert found[1].endswith("All is well.") and found[2:] == ["now do this", "On."]


def test_where_no_summary_can_be_read_what_was_said_stays() -> None:
    found = turns_of(
        *(said("one"), replied("Yes."), called("a"), result("a"), summary("")),
        *(said("two"), called("b"), result("b"), summary(""), summary(""), called("c"), result("c")),
    )
    assert [turn.text for turn in found] == ["one", "Yes.", tails.UNREADABLE, "two", tails.UNREADABLE, ""]
    assert [use.id for turn in found for use in turn.uses] == ["c"]


def test_what_the_agent_still_has_before_it_stays() -> None:
    entries = [
        said("one", id="1"),
        replied("Yes.", id="2#1"),
        called("a", id="2"),
        result("a"),
        replied("z", id="3"),
    ]
    for kept, stays in (
        (Kept(ids=("2",)), ["Yes."]),
        (Kept(since="2"), ["Yes.", "z"]),
        (Kept(is_said=True), []),
        (Kept(ids=("nobody",), since="nothing"), []),
    ):
        tail = tail_of(*entries)
        tail.add(entry(EntryKind.NOTE, Origin.SYSTEM, ""), kept)
        tail.add(summary("S", id="s1"))
        found = [turn.text for turn in tail.turns()]
        assert found[0] == ("one" if kept.is_said else SUMMARISED)
        assert found[2:] == stays
        tail.add(said("On.", parent="s1"))
        assert [turn.text for turn in tail.turns()] == [*found, "On."]
        tail.add(replied("Yes."))
        tail.add(summary("S2"))
        assert len(tail.turns()) == 2, "it holds for one compaction"


def test_a_message_in_the_place_of_another_takes_back_what_came_after() -> None:
    found = turns_of(
        *(said("start", parent="n0"), replied("ok"), said("try A", parent="n1")),
        *(called("a"), result("a"), replied("did A"), said("try B", parent="n1"), replied("did B")),
    )
    assert [turn.text for turn in found] == ["start", "ok", "try B", "did B"]


def test_a_message_that_hangs_on_an_earlier_reply_takes_back_what_came_after() -> None:
    assert texts_of(
        *(said("start"), replied("ok", id="r1"), said("A", parent="r1"), replied("did A")),
        *(said("B", parent="r1"), replied("did B")),
    ) == ["start", "ok", "B", "did B"]


def test_several_messages_typed_at_work_all_stay() -> None:
    found = texts_of(
        *(said("start"), called("a", id="c1"), said("also x", parent="c1"), said("and y", parent="c1")),
        *(result("a"), replied("Done.")),
    )
    assert found == ["start", "", "also x", "and y", "Done."]


def test_an_answer_beside_a_call_takes_no_other_call_back() -> None:
    found = turns_of(said("go"), called("a", id="c1"), called("b"), said("yes", parent="c1"), result("a"))
    assert [use.id for use in found[1].uses] == ["a", "b"]


def test_a_command_to_the_program_takes_nothing_back() -> None:
    found = texts_of(
        said("start", parent="n"), replied("ok"), said("! make", parent="n"), said("/cost", parent="n")
    )
    assert found == ["start", "ok", "! make", "/cost"]


def test_a_result_of_a_call_that_was_taken_back_goes_nowhere() -> None:
    found = turns_of(
        said("A", parent="n"), called("a"), said("B", parent="n"), called("b"), result("a", "of a")
    )
    assert [(use.id, use.result) for turn in found for use in turn.uses] == [("b", INTERRUPTED)]


def test_an_id_that_was_taken_back_is_free_again() -> None:
    found = turns_of(said("A", parent="n"), called("a"), result("a"), said("B", parent="n"), called("a"))
    assert [use.id for turn in found for use in turn.uses] == ["a"]


def test_what_is_done_in_the_place_of_what_was_taken_back_is_compacted_too() -> None:
    found = turns_of(
        *(said("A", parent="n"), called("a"), result("a"), summary("")),
        *(said("B", parent="n"), called("b"), result("b"), summary("")),
    )
    assert [turn.text for turn in found] == ["B", tails.UNREADABLE]


def test_turns_can_be_taken_back_by_their_number() -> None:
    tail = tail_of(said("one"), replied("1"), said("two"), replied("2"), said("three"), replied("3"))
    tail.add(entry(EntryKind.NOTE, Origin.SYSTEM, ""), Kept(back=2))
    assert [turn.text for turn in tail.turns()] == ["one", "1"]
    tail.add(entry(EntryKind.NOTE, Origin.SYSTEM, ""), Kept(back=9))
    assert len(tail.turns()) == 0


def test_turns_can_be_taken_back_from_an_entry_on() -> None:
    tail = tail_of(said("one"), replied("1"), said("two", id="m2"), replied("2"))
    tail.add(entry(EntryKind.NOTE, Origin.SYSTEM, ""), Kept(until="m2"))
    assert [turn.text for turn in tail.turns()] == ["one", "1"]
    tail.add(entry(EntryKind.NOTE, Origin.SYSTEM, ""), Kept(until="nobody"))
    assert len(tail.turns()) == 2


def test_the_summary_of_a_branch_that_was_left_takes_its_place_only() -> None:
    found = texts_of(
        *(said("start"), replied("ok", id="r1"), said("A"), replied("did A")),
        *(summary("A did not work.", parent="r1"), said("B")),
    )
    assert found == ["start", "ok", "[Summary of what was tried and left]\nA did not work.", "B"]


# Size


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tails, "MOST", 100_000)
    monkeypatch.setattr(tails, "LESS", 80_000)


@pytest.mark.usefixtures("small")
def test_results_are_shortened_before_a_word_of_the_person_goes() -> None:
    tail = Tail()
    for n in range(20):
        for one in (said(f"message {n}"), called(str(n)), result(str(n), "x y " * 3000)):
            tail.add(one)
        assert tail.size <= tails.MOST
    found = tuple(tail.turns())
    assert [turn.text for turn in found if turn.speaker is PERSON] == [f"message {n}" for n in range(20)]
    assert not tail.dropped
    assert "more characters were left out" in found[1].uses[0].result
    assert found[-1].uses[0].result == "x y " * 3000


@pytest.mark.usefixtures("small")
def test_the_oldest_turns_go_whole_and_are_counted() -> None:
    tail = Tail()
    for n in range(50):
        for one in (said(f"message {n} " + "w " * 2000), called(str(n)), result(str(n))):
            tail.add(one)
    found = tuple(tail.turns())
    real = [turn for turn in found if turn.text != LEFT_OUT]
    assert tail.size <= tails.MOST and tail.dropped == 100 - len(real) > 0
    assert found[0].speaker is PERSON and all(use.result == "ok" for turn in found for use in turn.uses)
    assert conversation.fit(tail.turns(), 1_000_000, COUNTER, whole_results=True)[1] == tail.dropped
    tail.add(summary("All is well."))
    assert not tail.dropped


@pytest.mark.usefixtures("small")
def test_a_turn_without_end_is_bounded_too() -> None:
    tail = tail_of(said("go"), *(called(str(n), "w " * 1000) for n in range(500)))
    assert tail.size <= tails.MOST
    assert len({use.id for turn in tail.turns() for use in turn.uses}) == sum(
        len(turn.uses) for turn in tail.turns()
    )


@pytest.mark.usefixtures("small")
def test_a_result_that_comes_late_is_shortened_like_those_around_it() -> None:
    tail = tail_of(said("go"), called("late"))
    for n in range(30):
        tail.add(called(str(n)))
        tail.add(result(str(n), "x y " * 2000))
    tail.add(result("late", "x y " * 2000))
    assert len(tail.turns()[1].uses[0].result) < 3000


def test_a_hostile_transcript_takes_no_longer_per_entry_than_a_tame_one() -> None:
    count = 20_000
    hostile = {
        "rewinds": [said("x", parent="same") if n % 2 else replied("y") for n in range(count)],
        "messages in one place": [said("x", parent="same") for _ in range(count)],
        "results of nothing": [result(None) for _ in range(count)],
        "calls, then results": [called(None) for _ in range(count // 2)]
        + [result(None) for _ in range(count // 2)],
        "summaries that say nothing": [summary("") if n % 2 else said("x") for n in range(count)],
        "summaries": [summary("s") for n in range(count)],
        "images": [entry(EntryKind.IMAGE, Origin.HUMAN, "i.png") for _ in range(count)],
        "the same id": [called("a") if n % 2 else result("a") for n in range(count)],
    }
    for name, entries in hostile.items():
        started = time.process_time()
        tail = tail_of(*entries)
        conversation.fit(tail.turns(), 1000, COUNTER, whole_results=False)
        assert time.process_time() - started < 5, name


# Selection


def test_the_newest_turns_are_taken() -> None:
    turns = [person(f"message {n}") for n in range(100)]
    room = sum(conversation.weight(turn, COUNTER) for turn in turns[90:])
    assert conversation.fit(turns, room, COUNTER, whole_results=True) == (tuple(turns[90:]), 90)
    assert conversation.fit(turns, 10_000, COUNTER, whole_results=True) == (tuple(turns), 0)
    assert conversation.fit(turns, 1, COUNTER, whole_results=True) == ((), 100)
    assert conversation.fit([], 100, COUNTER, whole_results=True) == ((), 0)


def test_the_message_that_the_agent_was_answering_comes_along() -> None:
    turns = [person("before"), person("do all of it"), *(used("ok", str(n)) for n in range(100))]
    room = sum(conversation.weight(turn, COUNTER) for turn in turns[50:])
    found, dropped = conversation.fit(turns, room, COUNTER, whole_results=True)
    assert found[:2] == (turns[1], GAP) and found[-1] == turns[-1]
    assert dropped == len(turns) - (len(found) - 1)


def test_a_message_that_fits_itself_has_no_gap_behind_it() -> None:
    turns = [person("before " * 200), person("do it"), used("ok")]
    room = sum(conversation.weight(turn, COUNTER) for turn in turns[1:])
    assert conversation.fit(turns, room, COUNTER, whole_results=True) == (tuple(turns[1:]), 1)


def test_a_message_too_long_to_come_along_is_stood_in_for() -> None:
    turns = [person("do it " * 1000), *(used("ok", str(n)) for n in range(50))]
    found, _ = conversation.fit(turns, 400, COUNTER, whole_results=True)
    assert found[0] == person(LEFT_OUT) and found[-1] == turns[-1]


def test_old_results_are_shortened_and_the_last_ten_are_whole() -> None:
    turns = [person("go"), *(used("begin " + "x y " * 2000 + " end", str(n)) for n in range(15))]
    found, dropped = conversation.fit(turns, 1_000_000, COUNTER, whole_results=False)
    assert not dropped and found[6:] == tuple(turns[6:])
    for turn in found[1:6]:
        text = turn.uses[0].result
        assert len(text) <= LONGEST_RESULT and text.startswith("begin x") and text.endswith("y  end")
        assert "characters left out" in text
    assert conversation.fit(turns, 1_000_000, COUNTER, whole_results=True)[0] == tuple(turns)


def test_the_newest_result_is_shortened_where_it_does_not_fit_whole() -> None:
    turns = [person("go"), used("x y " * 20_000)]
    found, dropped = conversation.fit(turns, 2000, COUNTER, whole_results=False)
    assert dropped == 0 and len(found) == 2 and len(found[1].uses[0].result) <= LONGEST_RESULT


def test_no_word_is_cut_in_two_and_what_is_missing_is_counted() -> None:
    words = " ".join(f"word{n}" for n in range(2000))
    short = conversation.shortened(words)
    head, mark, end = short.split("\n")
    assert words.startswith(head + " ") and words.endswith(" " + end)
    missing = int("".join(char for char in mark if char.isdigit()))
    assert missing == pytest.approx(len(words) - len(head) - len(end), abs=2)
    assert conversation.shortened(short) == short
    assert "y" not in conversation.shortened("y" * 5000)


def test_a_large_conversation_fits_quickly() -> None:
    lines = (
        "    def total(self, rows):  # adds up every row\n        return sum(row.amount for row in rows)\n"
    )
    turns = [person("go"), *(used(lines * 20, str(n), path=f"/work/{n}.py") for n in range(200))]
    started = time.process_time()
    found, _ = conversation.fit(turns, 1_000_000, COUNTER, whole_results=False)
    assert len(found) == len(turns)
    assert time.process_time() - started < 3  # on a machine that is busy; bench/handoff has the figure


# Secrets and invisible characters


def test_no_secret_is_left_in_words_arguments_or_results() -> None:
    for one in planted():
        turns = (
            person(f"Use this:\n{one.text}"),
            Turn(
                speaker=AGENT,
                uses=(ToolUse(id="a", tool="t", arguments={"x": [{"y": one.text}]}, result="r"),),
            ),
            used(one.text),
        )
        left = [conversation.cleaned([turn], clean) for turn in turns]
        alone = [
            clean(one.text),
            clean(msgspec.json.encode({"x": [{"y": one.text}]}).decode()),
            clean(one.text),
        ]
        for found, by_itself in zip(left, alone, strict=True):
            if one.secret not in by_itself:
                assert one.secret not in str(found), one.kind


def test_a_secret_that_is_recognised_once_is_replaced_everywhere() -> None:
    turns = [used("x", password="hunter2-Kq9!zz"), person("it is hunter2-Kq9!zz"), used("hunter2-Kq9!zz")]
    assert "hunter2" not in str(conversation.cleaned(turns, clean))


def test_what_was_cleaned_is_otherwise_as_it_was() -> None:
    turns = [
        person("# A heading\n```py\nHuman: x\n```\n<system-reminder>\tÜber 🏳️‍🌈 नि‍र\n\n"),
        used("\n\tline\n\n", "c", a={"b": ["\n", 1, None, True, 1.5]}),
    ]
    assert conversation.cleaned(turns, clean) == tuple(turns)


def test_what_cannot_be_seen_is_shown() -> None:
    turns = [
        person("a\x1b[31mred\x1b[0m\u200b"),
        used("b\r\n\x1b]0;t\x07", "c", a={"k\u202e": "\x1b[2J\r\n"}),
    ]
    found = conversation.cleaned(turns, clean)
    assert found[0].text == "ared⟨U+200B⟩"
    assert found[1].uses[0].result == "b\n␛]0;t␇"
    assert found[1].uses[0].arguments == {"a": {"k⟨U+202E⟩": "␛[2J\n"}}


def test_a_key_that_was_cut_off_takes_nothing_along() -> None:
    begin, end = PEM[:200], PEM[-200:]
    for turns in (
        [used(begin, "1"), person("and then"), used(end, "2")],
        [used(begin + "\n"), person("and then")],
    ):
        found = conversation.cleaned(turns, clean)
        assert len(found) == len(turns) and found[1].text == "and then"
        assert "[secret:private-key:" in found[0].uses[0].result


def test_half_a_key_does_not_hide_a_secret_elsewhere() -> None:
    turns = [used("x", password="hunter2-Kq9!zz"), used(PEM[:200], "1"), used(PEM[-200:], "2")]
    assert "hunter2" not in str(conversation.cleaned([*turns, person("hunter2-Kq9!zz")], clean))


def test_texts_stay_apart_whatever_the_cleaner_does() -> None:
    def swallow(text: str) -> str:
        return "[gone]" if "one" in text and "two" in text else text

    assert [turn.text for turn in conversation.cleaned([person("one"), person("two")], swallow)] == [
        "one",
        "two",
    ]


def test_arguments_that_are_no_json_any_more_stay_text() -> None:
    def cut(text: str) -> str:
        return text.replace('"secret"}', "[gone]")

    (found,) = conversation.cleaned([used("x", a="secret")], cut)
    assert found.uses[0].arguments == {"input": '{"a":[gone]'}


def test_what_is_shortened_is_cleaned_first() -> None:
    secret, line = "hunter2-Kq9!zz", "MIIEpAIBAAKCAQEAtq0x3Jz7\n"
    lines = "some line of a log\n" * 200
    results = {
        "a key at the cut": lines + PEM + "the end\n" * 10,
        "a long key at the cut": lines + PEM.replace(line, line * 20) + "the end\n" * 10,
        "a name before the cut": lines + f"DB_PASSWORD={secret}\n" + "x y " * 148,
        "a name on the line before the cut": lines + f"$ echo $DB_PASSWORD\n{secret}\n" + "x y " * 146,
    }
    for name, text in results.items():
        turns = [person("go"), used(text, "1"), *(used("ok", str(n)) for n in range(20, 40))]
        found, _ = conversation.fit(turns, 100_000, COUNTER, whole_results=False, clean=clean)
        assert line.strip() not in str(found), name
        assert secret not in str(found), name
        assert "characters left out" in found[1].uses[0].result


def test_placeholders_do_not_break_the_room() -> None:
    turns = [person("go"), *(used("a b", str(n)) for n in range(50))]
    room = sum(conversation.weight(turn, COUNTER) for turn in turns)
    found, dropped = conversation.fit(
        turns,
        room,
        COUNTER,
        whole_results=False,
        clean=lambda text: text.replace("a b", "a much longer text"),
    )
    assert dropped and sum(conversation.weight(turn, COUNTER) for turn in found) <= room
    assert found[0] == turns[0] and found[-1].uses[0].result == "a much longer text"


def test_no_secret_is_longer_than_what_keeps_texts_apart() -> None:
    assert len(conversation_clean.FAR) > redact.LONGEST


# Resumed tails


@pytest.fixture
def talk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Conversation:
    monkeypatch.setattr(tracked_transcript, "WORTH_KEEPING", 0)
    found = Conversation(tmp_path, tmp_path / "work", "0" * 8)
    found.prompt("fix it")
    found.reply("I look.")
    return found


def known_of(talk: Conversation) -> tracked_transcript.Warm:
    papers = Papers(talk.path.parent / "kept", suffix=".tracker", most=5)
    return tracked_transcript.open_warm(transcripts.recognise(talk.path), papers)


def tail_texts(talk: Conversation) -> list[str]:
    return [turn.text for turn in known_of(talk).tail.turns()]


def kept_tail(talk: Conversation) -> Path:
    (path,) = talk.path.parent.rglob("*.tail")
    return path


def test_a_stored_tail_is_resumed(talk: Conversation, monkeypatch: pytest.MonkeyPatch) -> None:
    assert tail_texts(talk) == ["fix it", "I look."]
    talk.prompt("and that")
    read: list[str] = []
    add = Tail.add

    def noted(self: Tail, entry: Entry, kept: Kept | None = None) -> None:
        read.append(entry.text)
        add(self, entry, kept)

    monkeypatch.setattr(Tail, "add", noted)
    assert tail_texts(talk) == ["fix it", "I look.", "and that"]
    assert read == ["and that"]


def test_facts_are_brought_up_to_date_without_the_tail(talk: Conversation) -> None:
    tail_texts(talk)
    kept_tail(talk).unlink()
    talk.prompt("and that")
    known = known_of(talk)
    assert any(fact.value == "and that" for fact in known.facts())
    assert "tail" not in known.__dict__ and not list(talk.path.parent.rglob("*.tail"))
    assert len(known.tail.turns()) == 3


def test_a_stored_tail_is_never_far_behind(talk: Conversation, monkeypatch: pytest.MonkeyPatch) -> None:
    tail_texts(talk)
    before = kept_tail(talk).read_bytes()
    talk.prompt("and that")
    known_of(talk)
    assert kept_tail(talk).read_bytes() == before
    monkeypatch.setattr(tracked_transcript, "BEHIND", 10)
    talk.prompt("and more")
    known_of(talk)
    assert kept_tail(talk).read_bytes() != before
    assert tail_texts(talk)[2:] == ["and that", "and more"]


@pytest.mark.parametrize("content", [b"", b"\0" * 100, blobs.pack(b"\x91\x01")])
def test_a_stored_tail_that_is_damaged_is_rebuilt(talk: Conversation, content: bytes) -> None:
    tail_texts(talk)
    kept_tail(talk).write_bytes(content)
    assert tail_texts(talk) == ["fix it", "I look."]


def test_a_transcript_that_was_rewritten_has_a_new_tail(talk: Conversation) -> None:
    source = known_of(talk).source
    talk.path.write_bytes(talk.path.read_bytes().replace(b"fix it", b"do not")[:-1] + b" \n")
    talk.prompt("go on")
    assert tail_texts(talk) == ["do not", "I look.", "go on"]
    talk.path.write_bytes(b"")
    assert tracked_transcript.open_tail(source, str(kept_tail(talk).parent)) == Tail()


def test_without_a_place_to_keep_it_a_tail_is_read(talk: Conversation) -> None:
    known = tracked_transcript.open_warm(transcripts.recognise(talk.path))
    assert [turn.text for turn in known.tail.turns()] == ["fix it", "I look."]
    talk.prompt("and that")
    known.refresh()
    assert len(known.tail.turns()) == 3


def test_an_agent_may_say_what_a_compaction_leaves(
    talk: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    def kept(entry: Entry) -> Kept | None:
        return Kept(is_said=True) if entry.tool == "compact_boundary" else None

    monkeypatch.setattr("segue.agents.claude.compaction.kept", kept)
    monkeypatch.setattr(tracked_transcript, "_kept_by", tracked_transcript._kept_by.__wrapped__)
    talk.put("system", subtype="compact_boundary", content="Conversation compacted")
    talk.put("user", isCompactSummary=True, message={"role": "user", "content": "All is well."})
    assert tail_texts(talk) == ["fix it", "[Summary of what came before]\nAll is well."]


# Arbitrary input

texts = st.one_of(
    st.text(max_size=30), st.sampled_from(['{"a":1}', "x y " * 800, "\0", "\ud800", "{", "", " "])
)
names = st.one_of(st.none(), st.sampled_from(["a", "b", "c/d", "\udc00"]))
entries = st.lists(
    st.builds(
        Entry,
        id=st.sampled_from([f"{n}" for n in range(30)] + ["\ud800"]),
        kind=st.sampled_from(EntryKind),
        origin=st.sampled_from(Origin),
        text=texts,
        parent=st.one_of(st.none(), st.sampled_from([f"{n}" for n in range(30)])),
        call=names,
        tool=names,
        model=names,
        status=st.sampled_from([None, 0, 1]),
        is_error=st.booleans(),
        subagent=st.sampled_from([None, None, None, "s"]),
    ),
    max_size=40,
)
kept = st.one_of(
    st.none(),
    st.builds(
        Kept,
        ids=st.lists(st.sampled_from(["1", "2", "3"])).map(tuple),
        since=st.sampled_from(["", "4", "5"]),
        is_said=st.booleans(),
        until=st.sampled_from(["", "", "6"]),
        back=st.integers(0, 2),
    ),
)


def check(turns: tuple[Turn, ...]) -> None:
    """Assumptions of every agent's writer."""
    uses = [use for turn in turns for use in turn.uses]
    assert not turns or turns[0].speaker is PERSON
    assert all(turn.text.strip() or turn.uses for turn in turns)
    assert all(turn.speaker is AGENT for turn in turns if turn.uses)
    assert len({use.id for use in uses}) == len(uses)
    for use in uses:
        for name in (use.id, use.tool):
            assert 0 < len(name) <= 64 and name.isascii() and not set(name) & set("/. \0")
    # A text may contain the six characters of this escape; then its backslash is doubled.
    assert b"\\u0000" not in msgspec.json.encode(turns).replace(b"\\\\", b"")
    msgspec.msgpack.encode(turns)


@given(entries, st.lists(kept, max_size=40))
def test_any_input_makes_a_valid_conversation(found: list[Entry], said_of: list[Kept | None]) -> None:
    tail = Tail()
    for one, kept in itertools.zip_longest(found, said_of[: len(found)]):
        tail.add(one, kept)
    check(tuple(tail.turns()))
    assert tail.size == sum(piece.size for piece in tail.pieces)


@given(entries, st.integers(0, 40))
def test_a_tail_that_was_stored_continues_as_if_never_stored(found: list[Entry], at: int) -> None:
    tail = msgspec.msgpack.decode(msgspec.msgpack.encode(tail_of(*found[:at])), type=Tail)
    for one in found[at:]:
        tail.add(one)
    assert tail == tail_of(*found)


@given(entries, st.integers(0, 3000), st.booleans(), st.booleans())
def test_what_fits_never_exceeds_the_room(
    found: list[Entry], room: int, whole: bool, is_cleaned: bool
) -> None:
    turns = tail_of(*found).turns()
    picked, dropped = conversation.fit(
        turns,
        room,
        COUNTER,
        whole_results=whole,
        clean=(lambda text: text.replace("x", "xyz")) if is_cleaned else None,
    )
    check(picked)
    assert sum(conversation.weight(turn, COUNTER) for turn in picked) <= room
    assert 0 <= dropped <= len(turns)
    assert conversation.fit(tuple(turns), room, COUNTER, whole_results=whole)[1] <= len(turns)


@given(entries)
def test_cleaning_changes_no_turns_shape(found: list[Entry]) -> None:
    turns = turns_of(*found)
    cleaned = conversation.cleaned(turns, lambda text: text)
    check(cleaned)
    assert [(turn.speaker, len(turn.uses)) for turn in cleaned] == [
        (turn.speaker, len(turn.uses)) for turn in turns
    ]


@given(entries)
def test_turns_are_the_same_however_they_are_asked_for(found: list[Entry]) -> None:
    turns = tail_of(*found).turns()
    whole = tuple(turns)
    assert [turns[n] for n in range(len(turns))] == list(whole) == list(turns[:])
    assert [turns.is_person(n) for n in range(len(turns))] == [turn.speaker is PERSON for turn in whole]


@given(st.text(max_size=6000), st.integers(0, 100))
def test_a_text_is_shortened_at_its_words(text: str, more: int) -> None:
    short = select_turns.shortened(text + " x" * more * 40)
    assert len(short) <= max(LONGEST_RESULT, 0)
    assert select_turns.shortened(short) == short


def test_a_secret_in_the_name_of_a_tool_does_not_travel() -> None:
    use = ToolUse(id="1", tool="mcp__s3cret__read", arguments={}, result="x")
    turns = (Turn(speaker=Speaker.PERSON, text="Go"), Turn(speaker=Speaker.AGENT, uses=(use,)))
    (_, agent) = conversation.cleaned(turns, lambda text: text.replace("s3cret", "[secret]"))
    assert agent.uses[0].tool == "mcp___secret___read"
