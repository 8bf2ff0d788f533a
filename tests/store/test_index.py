"""The index counts every answer once, touches only what changed, and is never worth an error."""

from __future__ import annotations

import sqlite3
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from segue.model import Limit, Mark, Scope, Source, Spend, Tokens, Transcript
from segue.store.index import usage_index
from segue.store.index.transcript_index import Index
from segue.store.index.usage_index import ID, PATH, READ, SPENT
from segue.usage.ledger import CLASSES, QUARTER, TOLD, Row, keys_in, ledger_of, pack, row_of, rows_in, size_in

DAY = "2026-11-16"


def spend(key: str, output: int = 1, minute: int = 0, model: str = "m", **more: float) -> Spend:
    at = f"{DAY}T10:{minute:02d}:00.000000Z"
    return Spend(key=key, model=model, tokens=Tokens(input=10, output=output), at=at, **more)


def source(name: str, size: int = 1) -> Source:
    return Source(agent="claude", path=f"/{name}", size=size, stamp=size)


def named(name: str) -> tuple[str, str, str]:
    return "claude", f"/{name}", ""


def put(index: Index, name: str, *spends: Spend, is_anew: bool = True, size: int = 1) -> int:
    with index.changing():
        (id,) = index.add([named(name)])
        mark = f'{{"offset":{size}}}'
        index.put_spent([(id, size, size, mark, ledger_of(spends), is_anew)])
    return id


def output(index: Index, by: str = "source") -> dict[object, int]:
    totals: dict[object, int] = {}
    for each in index.sums(by):
        totals[each.period] = totals.get(each.period, 0) + each.tokens.output
    return totals


def summed(index: Index, by: str) -> Tokens:
    return sum((each.tokens for each in index.sums(by)), Tokens())


PIECES = {"counted": {"last": usage_index.FAR}}


def hashes(index: Index, query: str) -> list[int]:
    """All that the ledgers' `keys`, or the pieces of what is `counted`, hold."""
    return sorted(key for row in index._run(query, **PIECES.get(query, {})) for key in keys_in(row["keys"]))


def opened(tmp_path: Path) -> Index:
    return Index(tmp_path / "index.db")


def test_an_answer_in_two_sources_counts_once_and_belongs_to_the_first(tmp_path: Path) -> None:
    index = opened(tmp_path)
    first = put(index, "a", spend("x", 5), spend("y", 7))
    second = put(index, "b", spend("y", 7), spend("z", 11))
    assert output(index) == {first: 12, second: 11}


def test_an_answer_that_is_told_of_again_counts_with_its_last_figures(tmp_path: Path) -> None:
    index = opened(tmp_path)
    id = put(index, "a", spend("x", 5))
    put(index, "a", spend("x", 9), is_anew=False, size=2)
    assert output(index) == {id: 9}
    put(index, "a", spend("x", 2), is_anew=False, size=3)
    assert output(index) == {id: 2}


def test_an_answer_counts_where_it_is_whole(tmp_path: Path) -> None:
    for order in (("part", "whole"), ("whole", "part")):
        index = Index(None)
        numbers = {
            name: put(index, name, spend("x", {"part": 2, "whole": 500}[name]), spend(name, 1))
            for name in order
        }
        assert output(index) == {numbers["whole"]: 501, numbers["part"]: 1}


def test_adding_the_same_twice_changes_nothing(tmp_path: Path) -> None:
    index = opened(tmp_path)
    id = put(index, "a", spend("x", 5), spend("y", 6))
    put(index, "a", spend("y", 6), is_anew=False)
    put(index, "a", spend("x", 5), spend("y", 6))
    assert output(index) == {id: 11}


def test_what_a_source_shared_is_counted_in_another_when_it_goes(tmp_path: Path) -> None:
    index = opened(tmp_path)
    first = put(index, "a", spend("x", 5), spend("y", 7))
    second = put(index, "b", spend("y", 7), spend("z", 11))
    third = put(index, "c", spend("y", 7))
    with index.changing():
        index.drop([first])
    assert output(index) == {second: 18}
    with index.changing():
        index.drop([second])
    assert output(index) == {third: 7}


def test_a_source_that_is_read_anew_replaces_what_was_known(tmp_path: Path) -> None:
    index = opened(tmp_path)
    put(index, "a", spend("x", 5), spend("y", 7))
    id = put(index, "a", spend("w", 3))
    assert output(index) == {id: 3}


@given(
    st.lists(
        st.tuples(
            st.sampled_from("abc"),
            st.booleans(),
            st.lists(st.tuples(st.sampled_from("wxyz"), st.integers(0, 9))),
        ),
        max_size=12,
    )
)
def test_the_total_is_that_of_distinct_answers_whatever_the_order(
    steps: list[tuple[str, bool, list[tuple[str, int]]]],
) -> None:
    index = Index(None)
    told: dict[str, dict[str, int]] = {}
    for name, is_anew, spends in steps:
        figures = [spend(key, output, minute=15 * (output % 4)) for key, output in dict(spends).items()]
        put(index, name, *figures, is_anew=is_anew)
        before = {} if is_anew else told.get(name, {})
        told[name] = before | dict(spends)
        assert summed(index, "day") == summed(index, "quarter") == summed(index, "source")
    keys = {key for each in told.values() for key in each}
    total = sum(output(index).values())
    least = sum(min(each[key] for each in told.values() if key in each) for key in keys)
    most = sum(max(each[key] for each in told.values() if key in each) for key in keys)
    assert least <= total <= most
    assert sum(each.answers for each in index.sums("day")) == len(keys)
    index.close()


@pytest.mark.parametrize("piece", [0, 64, 1 << 15])
def test_what_is_counted_is_known_however_it_came_in(monkeypatch: pytest.MonkeyPatch, piece: int) -> None:
    monkeypatch.setattr(usage_index, "PIECE", piece)
    index = Index(None)
    ids = [put(index, f"{n}", *(spend(f"{n}-{k}") for k in range(3))) for n in range(40)]
    for n in range(0, 40, 5):  # some of it in a few answers, all of it in one large source
        put(index, f"few-{n}", spend(f"{n}-1"), spend(f"few-{n}"))
    many = put(index, "many", *(spend(f"{n}-{k}") for n in range(40) for k in range(3)), spend("many"))
    assert output(index)[many] == 1
    assert sum(output(index).values()) == 40 * 3 + 8 + 1
    with index.changing():
        index.drop([ids[0], ids[7]])
    again = put(index, "again", spend("0-0"), spend("7-2"), spend("9-1"), spend("again"))
    assert output(index)[again] == 1
    assert sum(output(index).values()) == 40 * 3 + 8 + 1 + 1


def test_reading_a_source_anew_again_and_again_does_not_make_the_index_grow() -> None:
    index = Index(None)
    put(index, "other", spend("shared"), spend("other"))
    answers = [spend(f"{n}") for n in range(6000)]
    for _ in range(5):
        put(index, "a", *answers, spend("shared"))
        assert len(hashes(index, "counted")) == 6002
    for n in range(5):  # nor where each time it tells of others
        put(index, "a", *(spend(f"{n}-{k}") for k in range(6000)))
        assert len(hashes(index, "counted")) == 6002


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["anew", "more", "drop"]),
        st.sets(st.sampled_from("abcd"), min_size=1),
        st.sets(st.integers(0, 30)),
    ),
    max_size=15,
)


@given(STEPS, st.sampled_from([8, 32, 64]))
def test_the_pieces_hold_what_is_counted_each_once_and_few_are_short(
    steps: list[tuple[str, set[str], set[int]]], piece: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(usage_index, "PIECE", piece)
        index = Index(None)
        for what, names, keys in steps:
            with index.changing():
                ids = dict(zip(sorted(names), index.add([*map(named, sorted(names))]), strict=True))
                if what == "drop":
                    index.drop([*ids.values()])
                else:
                    ledger = ledger_of(spend(f"{key}", key) for key in sorted(keys))
                    index.put_spent([(id, 1, 1, "{}", ledger, what == "anew") for id in ids.values()])
            counted = hashes(index, "counted")
            assert counted == hashes(index, "keys") and len(set(counted)) == len(counted)
            sizes = [len(row["keys"]) for row in index._run("counted", **PIECES["counted"])]
            short = [size for size in sizes if size < piece]
            assert sizes[len(sizes) - len(short) :] == short
            assert all(longer > 2 * shorter for longer, shorter in pairwise(short))
        index.close()


def test_sums_are_without_what_is_hidden(tmp_path: Path) -> None:
    index = opened(tmp_path)
    first, second = put(index, "a", spend("x", 5)), put(index, "b", spend("y", 7), spend("z", 1, 15))
    for hidden, expected in (([first], 8), ([], 13), ([second], 5), ([first, second], 0)):
        index.hide(hidden)
        assert [summed(index, by).output for by in ("day", "quarter", "source")] == [expected] * 3
    with index.changing():
        index.drop([second])
    index.hide([])
    assert [summed(index, by).output for by in ("day", "quarter", "source")] == [5] * 3


def test_what_only_a_dropped_source_counted_counts_again_elsewhere(tmp_path: Path) -> None:
    index = opened(tmp_path)
    gone = put(index, "a", spend("x", 5))
    with index.changing():
        index.drop([gone])
    back = put(index, "b", spend("x", 5))
    assert output(index) == {back: 5}


def test_sums_are_by_day_quarter_and_source(tmp_path: Path) -> None:
    index = opened(tmp_path)
    id = put(index, "a", spend("x", 5, 0), spend("y", 7, 14), spend("z", 1, 15))
    assert output(index, "source") == {id: 13}
    assert sorted(output(index, "quarter").values()) == [1, 12]
    assert sum(output(index, "day").values()) == 13


def test_the_size_of_a_question_is_kept_as_far_as_prices_ask_for_it() -> None:
    for over in CLASSES:
        at = row_of(Spend(key="k", model="m", tokens=Tokens(input=over)))[3]
        above = row_of(Spend(key="k", model="m", tokens=Tokens(cache_read=over + 1)))[3]
        assert above == at + 1
        assert size_in(at) <= over < size_in(above)
    told = row_of(Spend(key="k", model="m", tokens=Tokens(input=1), cost_usd=0.0))
    assert told[3] == TOLD


NUMBERS = st.integers(0, (1 << 48) - 1)
ROWS = st.lists(
    st.tuples(
        st.integers(-(1 << 63), (1 << 63) - 1),
        st.integers(0, 7_258_118_399),
        st.text(st.characters(exclude_categories=["Cs"])),
        st.integers(TOLD, len(CLASSES)),
        *[NUMBERS] * 5,
        st.floats(0, 1e6),
    )
)


@given(ROWS)
def test_what_is_packed_comes_out_again(rows: list[Row]) -> None:
    keys, packed, buckets = pack(rows)
    assert rows_in(packed) == rows and list(keys_in(keys)) == [row[0] for row in rows]
    for sums, counts in zip([*zip(*buckets, strict=True)][4:9], [*zip(*rows, strict=True)][4:9], strict=True):
        assert sum(sums) == sum(counts)
    assert sum(bucket[3] for bucket in buckets) == len(rows)
    assert {bucket[:3] for bucket in buckets} == {(row[1] // QUARTER, *row[2:4]) for row in rows}


def test_a_second_look_finds_what_the_first_one_kept(tmp_path: Path) -> None:
    index = opened(tmp_path)
    id = put(index, "a", spend("x", 5), size=7)
    transcript = Transcript(id="t", agent="claude", path="/a", title="Work", turns=3)
    limit = Limit(window="5h", scope=Scope.ACCOUNT, used_percent=40, at=f"{DAY}T10:00:00.000000Z")
    with index.changing():
        index.put_transcript(id, source("a", 9), Mark(offset=9, state={"k": 1}), transcript)
        index.put_reports(id, "claude", [limit], is_anew=True)
    index.close()
    index = opened(tmp_path)
    known = index.transcripts()["/a", ""]
    assert known.transcript == transcript == index.transcript(id)
    assert known.source == source("a", 9) and index.mark(id, "mark").state == {"k": 1}
    row = index.known()["/a", ""]
    assert (row[ID], row[PATH], row[READ], row[SPENT]) == (id, "/a", (9, 9), (7, 7))
    assert index.mark(id, "spent_mark").offset == 7
    assert index.reports("2026") == [("claude", limit)]
    assert output(index) == {id: 5}


def test_the_index_is_made_anew_where_it_is_damaged_or_of_another_version(tmp_path: Path) -> None:
    index = opened(tmp_path)
    put(index, "a", spend("x", 5))
    index.close()
    (tmp_path / "index.db").write_bytes(b"this is no database" * 1000)
    index = opened(tmp_path)
    assert index.known() == {} and not index.is_in_memory
    index.close()
    connection = sqlite3.connect(tmp_path / "index.db")
    connection.execute("pragma user_version = 99")
    connection.close()
    index = opened(tmp_path)
    put(index, "a", spend("x", 5))
    assert len(index.known()) == 1


def test_the_index_lives_in_memory_where_it_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    index = Index(tmp_path / "file" / "index.db")
    assert index.is_in_memory
    put(index, "a", spend("x", 5))
    assert sum(output(index).values()) == 5


def test_the_index_is_for_its_owner_alone(tmp_path: Path) -> None:
    index = opened(tmp_path / "data")
    put(index, "a", spend("x", 5))
    assert (tmp_path / "data").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "data" / "index.db").stat().st_mode & 0o777 == 0o600


def test_words_are_found_together_and_forgotten_with_their_source(tmp_path: Path) -> None:
    index = opened(tmp_path)
    with index.changing():
        one, two = index.add([named("a"), named("b")])
        index.put_told(one, source("a"), Mark(), ["the invoice is a cent off", "fixed"], is_anew=True)
        index.put_told(two, source("b"), Mark(), ['an "invoice"', "a cent"], is_anew=True)
    assert index.search(["invoice"]) == {one, two}
    assert index.search(["invoice", "cent"]) == {one}
    assert index.search(['in"voice']) == set()
    with index.changing():
        index.put_told(one, source("a"), Mark(), ["other words"], is_anew=True)
    assert index.search(["invoice", "cent"]) == set()
