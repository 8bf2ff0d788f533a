"""aider's histories are read line by line: prompts are a person's, replies a model's, the rest is output."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from segue.agents.aider import reader as aider
from segue.agents.shared.transcripts import index_scan
from segue.agents.shared.transcripts.reader import INTERRUPT, Reading
from segue.errors import AgentError
from segue.facts.tracker import derive
from segue.model import Ending, Entry, EntryKind, Mark, Origin, Source, Tokens
from segue.ops.index.tracked_transcript import Meaning
from tests import FIXTURES

HISTORY = FIXTURES / "aider" / "history.md"

HEAD = "\n# aider chat started at 2026-02-27 18:25:54\n\n> Aider v0.86.2  \n> Model: m with whole edit format  \n"


@pytest.fixture(autouse=True)
def local_zone(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "UTC-2")  # two hours east, in the way of POSIX
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def read_file(path: Path, mark: Mark | None = None) -> tuple[list[Entry], Reading]:
    reading = aider.read(Source(agent="aider", path=str(path)), mark)
    return list(reading), reading


def read_text(tmp_path: Path, text: str, mark: Mark | None = None) -> tuple[list[Entry], Reading]:
    path = tmp_path / "history.md"
    path.write_bytes(text.encode())
    return read_file(path, mark)


def said(entries: list[Entry], *kinds: EntryKind) -> list[tuple[str, str]]:
    return [(entry.kind.value, entry.text) for entry in entries if entry.kind in kinds]


REPLY = "\n".join(
    [
        "Here is the plan.",
        "",
        "#### Step one",
        "> a quotation",
        "",
        "till.md",
        "```",
        "# A history",
        "",
        "#### quoted prompt  ",
        "",
        "> Tokens: quoted  ",
        "",
        "#### quoted again  ",
        "```",
        "",
        "Done so far.",
    ]
)


def test_prompts_and_replies_are_told_apart() -> None:
    entries, _ = read_file(HISTORY)

    assert said(entries, EntryKind.PROMPT, EntryKind.REPLY) == [
        ("prompt", "Fix the rounding\n\n- and the tests"),
        ("reply", REPLY),
        ("prompt", "/add other.py"),
        ("prompt", "Go on"),
        ("reply", "I was about"),
        ("prompt", "Once more"),
    ]
    assert {e.origin for e in entries if e.kind is EntryKind.PROMPT} == {Origin.HUMAN}
    assert [e.model for e in entries if e.kind is EntryKind.REPLY] == ["openai/gpt-4o"] * 2


def test_what_aider_answers_by_itself_is_no_prompt() -> None:
    entries, _ = read_file(HISTORY)

    notes = [e.text for e in entries if e.tool == "prompt"]
    assert notes == ["Add file to the chat? (Y)es/(N)o/(A)ll/(S)kip all [Yes]: all", "<blank>"]


def test_edits_and_commits_are_results() -> None:
    entries, _ = read_file(HISTORY)

    results = [(e.tool, e.text) for e in entries if e.kind is EntryKind.RESULT]
    assert results == [
        ("create", "Applied edit to till.md"),
        ("commit", "Commit 22f6ebc fix: round properly"),
    ]


def test_tokens_and_costs_are_as_stated() -> None:
    entries, _ = read_file(HISTORY)

    spends = [entry.spend for entry in entries if entry.spend]
    assert [(spend.tokens, spend.cost_usd, spend.model) for spend in spends] == [
        (Tokens(input=6_000, output=345, cache_read=2_500, cache_write=3_500), 0.01, "openai/gpt-4o"),
        (Tokens(input=1_500_000, output=7), 0.003, "openai/gpt-4o"),
    ]
    assert {spend.at for spend in spends} == {"2026-02-27T16:25:54.000000Z"}


def test_times_are_local_and_only_a_start_has_one() -> None:
    entries, _ = read_file(HISTORY)

    assert [e.at for e in entries if e.at] == ["2026-02-27T16:25:54.000000Z", "2026-02-28T07:00:00.000000Z"]


def test_what_the_history_tells_is_learned(tmp_path: Path) -> None:
    path = tmp_path / aider.NAME
    path.write_bytes(HISTORY.read_bytes())
    found = index_scan.scan(aider.read(Source(agent="aider", path=str(path)))).transcript

    assert found.id.startswith("aider-")
    assert len(found.id) == len("aider-") + 12
    assert (found.project, found.version, found.model) == (str(tmp_path), "0.86.3", "openai/gpt-5")
    assert (found.title, found.turns, found.interruptions) == ("Fix the rounding", 4, 1)
    assert (found.ending, [limit.window for limit in found.limits]) == (Ending.LIMIT, ["spend"])


def test_the_folder_is_what_names_are_relative_to() -> None:
    entries, _ = read_file(HISTORY)

    assert {e.cwd for e in entries if e.kind is EntryKind.REPLY} == {"/work/shop"}
    assert "/work/shop/src" not in {e.cwd for e in entries}


def facts(entries: list[Entry], kind: str) -> dict[str, str]:
    return {fact.subject: fact.value for fact in derive(entries, Meaning("aider")) if fact.kind == kind}


def test_what_aider_made_and_committed_is_known() -> None:
    entries, _ = read_file(HISTORY)

    assert facts(entries, "file") == {"till.md": "created"}
    assert facts(entries, "commit") == {"22f6ebc": "fix: round properly"}
    assert facts(entries, "folder") == {"": "/work/shop"}


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ("> b.py  \n> Create new file? (Y)es/(N)o [Yes]: y  \n", "created"),
        ("> b.py  \n> Create new file? (Y)es/(N)o [Yes]: n  \n", "edited"),
        ("> a.py  \n> Create new file? (Y)es/(N)o [Yes]: y  \n", "edited"),
        ("> Allow creation of new file b.py? y  \n", "created"),
        ("> b.py  \n#### Create new file? (Y)es/(N)o [Yes]: yes  \n", "created"),
        ("> b.py  \n> Add file to the chat? (Y)es/(N)o [Yes]: y  \n", "edited"),
        (
            "> b.py  \n> Create new file? (Y)es/(N)o [Yes]: y  \n\n# aider chat started at 2026-02-28 18:25:54\n\n",
            "edited",
        ),
    ],
)
def test_a_file_that_aider_asked_to_make_is_new(tmp_path: Path, asked: str, expected: str) -> None:
    text = (
        f"{HEAD}\n#### Go on  \n\nDone.\n\n> Tokens: 1 sent, 1 received.  \n{asked}> Applied edit to b.py  \n"
    )
    entries, _ = read_text(tmp_path, text)
    assert facts(entries, "file") == {"b.py": expected}


@pytest.mark.parametrize(
    ("end", "ending"),
    [
        ("\n#### Go on  \n", Ending.OPEN),
        ("\n#### Go on  \n\nDone.\n\n", Ending.ENDED),
        (
            "\n#### Go on  \n\nDone.\n\n> Tokens: 1 sent, 1 received.  \n> Applied edit to a.py  \n",
            Ending.ENDED,
        ),
        ("\n#### /add a.py  \n", Ending.ENDED),
        ("\n#### /ask why  \n", Ending.OPEN),
        (
            "\n#### Go on  \n> ^C again to exit  \n\nHalf a\n\n> Tokens: 1 sent, 1 received.  \n",
            Ending.INTERRUPTED,
        ),
        ("> ^C again to exit  \n", Ending.ENDED),
        ("\n#### Go on  \n> litellm.RateLimitError: daily limit  \n", Ending.LIMIT),
    ],
)
def test_how_it_stands_at_the_end(tmp_path: Path, end: str, ending: Ending) -> None:
    _, reading = read_text(tmp_path, HEAD + end)

    assert reading.learned["ending"] is ending


def test_an_interruption_is_known(tmp_path: Path) -> None:
    entries, _ = read_file(HISTORY)

    assert [e.text for e in entries if e.tool == INTERRUPT] == ["^C again to exit"]


def test_every_line_is_kept_and_one_chain_passes_all() -> None:
    entries, reading = read_file(HISTORY)

    lines = HISTORY.read_text().split("\n")
    kept = "\n".join(entry.native["text"] for entry in entries if entry.native).split("\n")
    assert [line for line in kept if line.strip()] == [line for line in lines if line.strip()]
    assert reading.lines == len(lines) - 1
    assert [entry.parent for entry in entries] == [None, *(entry.id for entry in entries)][:-1]


# Fences, spaces, stripped spaces


def test_a_prompt_after_a_fence_that_was_never_closed_is_not_lost(tmp_path: Path) -> None:
    text = HEAD + "\n#### one  \n\n```python\nx = 1\n\n\n#### two  \n\nfine\n\n"
    entries, _ = read_text(tmp_path, text)
    told = HEAD + "\n#### one  \n\n```python\nx = 1\n\n> Tokens: 1k sent, 2 received.  \n\n#### two  \n"
    others, _ = read_text(tmp_path, told)

    assert [e.text for e in entries if e.kind is EntryKind.PROMPT] == ["one", "two"]
    assert [e.text for e in others if e.kind is EntryKind.PROMPT] == ["one", "two"]


def test_a_longer_fence_holds_a_shorter_one(tmp_path: Path) -> None:
    reply = "````md\n```\n\n#### quoted  \n```\n\n#### quoted  \n````"
    entries, _ = read_text(tmp_path, f"{HEAD}\n#### one  \n\n{reply}\n\n> Tokens: 1 sent, 2 received.  \n")

    assert said(entries, EntryKind.PROMPT, EntryKind.REPLY) == [("prompt", "one"), ("reply", reply)]


def test_where_spaces_were_stripped_the_marks_alone_must_do(tmp_path: Path) -> None:
    stripped = "\n".join(line.rstrip() for line in HISTORY.read_text().split("\n"))
    entries, _ = read_text(tmp_path, stripped)

    prompts = [e.text for e in entries if e.kind is EntryKind.PROMPT]
    assert prompts == [
        "Fix the rounding\n\n- and the tests",
        "Step one",
        "/add other.py",
        "Go on",
        "Once more",
    ]


def test_lines_that_end_as_on_windows_are_read_the_same(tmp_path: Path) -> None:
    entries, _ = read_text(tmp_path, HISTORY.read_text().replace("\n", "\r\n"))

    assert [(e.kind, e.text) for e in entries] == [(e.kind, e.text) for e in read_file(HISTORY)[0]]


# Following


def test_two_reads_give_what_one_gives_wherever_the_cut_is(tmp_path: Path) -> None:
    content = HISTORY.read_bytes()
    path = tmp_path / "history.md"
    path.write_bytes(content)
    whole, _ = read_file(path)
    begun_anew = 0
    for cut in range(len(content) + 1):
        path.write_bytes(content[:cut])
        before, reading = read_file(path)
        path.write_bytes(content)
        after, second = read_file(path, reading.mark)
        has_grown = second.is_anew and reading.mark.offset > 0
        assert (after if has_grown else before + after) == whole, cut
        begun_anew += has_grown
        assert read_file(path, second.mark)[0] == []
    assert 0 < begun_anew < content.count(b"\n")  # only between the lines of one block


def test_many_small_steps_give_what_one_gives(tmp_path: Path) -> None:
    content = HISTORY.read_bytes()
    path = tmp_path / "history.md"
    mark = None
    found: dict[str, Entry] = {}
    for end in [*range(0, len(content), 7), len(content)]:
        path.write_bytes(content[:end])
        entries, reading = read_file(path, mark)
        found |= {entry.id: entry for entry in entries}
        mark = reading.mark

    assert list(found.values()) == read_file(HISTORY)[0]


def test_the_last_prompt_is_given_though_nothing_follows(tmp_path: Path) -> None:
    first, reading = read_text(tmp_path, HEAD + "\n#### Go on  \n")
    second, again = read_text(tmp_path, HEAD + "\n#### Go on  \n\nDone.\n\n", reading.mark)
    third, _ = read_text(tmp_path, HEAD + "\n#### Go on  \n\nDone.\n\n> Commit 1234567 x  \n", again.mark)

    assert said(first, EntryKind.PROMPT) == [("prompt", "Go on")]
    assert said(second, *EntryKind) == [("reply", "Done.")]
    assert said(third, *EntryKind) == [("result", "Commit 1234567 x")]


def test_a_half_written_line_is_left_for_the_next_read(tmp_path: Path) -> None:
    first, reading = read_text(tmp_path, HEAD + "\n#### Go o")
    assert said(first, EntryKind.PROMPT) == []
    assert reading.is_cut
    second, _ = read_text(tmp_path, HEAD + "\n#### Go on  \n", reading.mark)

    assert said(second, *EntryKind) == [("prompt", "Go on")]


def test_another_file_in_its_place_is_read_from_the_start(tmp_path: Path) -> None:
    _, reading = read_file(HISTORY)
    entries, second = read_text(tmp_path, HEAD.replace("0.86", "0.10") * 40, reading.mark)

    assert second.is_anew
    assert len(entries) == 3 * 40


def test_a_copy_spends_nothing_again_but_another_history_does(tmp_path: Path) -> None:
    def keys(text: str) -> list[str]:
        return [entry.spend.key for entry in read_text(tmp_path, text)[0] if entry.spend]

    text = HISTORY.read_text()
    assert keys(text) == keys(text + HEAD)
    assert not set(keys(text)) & set(keys(text.replace("51 files", "52 files")))


# Finding


def test_histories_are_found_in_projects(tmp_path: Path) -> None:
    for name in ("one", "two", "three"):
        (tmp_path / name).mkdir()
    (tmp_path / "one" / aider.NAME).write_text(HEAD)
    (tmp_path / "two" / "other.md").write_text(HEAD)
    (tmp_path / "three" / aider.NAME).mkdir()
    projects = [tmp_path / name for name in ("one", "two", "three", "none", "one")]

    def found(env: dict[str, str]) -> list[str]:
        return [str(Path(source.path).relative_to(tmp_path)) for source in aider.find(env, projects)]

    assert found({}) == [f"one/{aider.NAME}"]
    assert found({"AIDER_CHAT_HISTORY_FILE": "other.md"}) == [f"one/{aider.NAME}", "two/other.md"]
    elsewhere = str(tmp_path / "two" / "other.md")
    assert found({"AIDER_CHAT_HISTORY_FILE": elsewhere}) == ["two/other.md", f"one/{aider.NAME}"][::-1]
    [source] = aider.find({}, projects)
    status = (tmp_path / "one" / aider.NAME).stat()
    assert (source.size, source.stamp) == (status.st_size, status.st_mtime_ns)


def test_a_path_that_is_no_text_is_skipped(tmp_path: Path) -> None:
    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff"))
    folder.mkdir()
    (folder / aider.NAME).write_text(HEAD)

    assert list(aider.find({}, [folder, Path("nul\0byte")])) == []


def test_only_its_own_files_are_recognised() -> None:
    assert aider.recognise(HISTORY.read_bytes()[:4096])
    for other in (b"", b"# aider chat", b"# aider chat started at noon\n", b'{"a": 1}', b"\xff\xfe"):
        assert not aider.recognise(other)


# Anything else


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\n\n\n",
        b"\xff\xfe\x00\n> \xff  \n#### \xff  \n",
        b"# aider chat started at 9999-99-99 99:99:99\n",
        b"# aider chat started at 0001-01-01 00:00:00\n",
        b"> Tokens: ... sent, 1.2.3k received.  \n> Tokens: 99999999999999999999M sent, 1 received.  \n",
        b"> \n>\n####\n#### \n####  \n",
        b"```\n" * 1001,
        b"> Cost: $... message  \n> Model:  with \n> Cur working dir:   \n",
    ],
)
def test_nothing_that_is_written_there_breaks_the_reader(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "history.md"
    path.write_bytes(content)
    entries, _ = read_file(path)

    assert all(entry.spend.tokens.total < 1 << 48 for entry in entries if entry.spend)


def test_a_state_that_is_not_ours_is_survived(tmp_path: Path) -> None:
    odd = Mark(state={"last": 5, "is_spaced": "x", "pending": 7, "chain": None})
    entries, _ = read_text(tmp_path, HISTORY.read_text(), odd)

    assert said(entries, EntryKind.PROMPT)[0] == ("prompt", "Fix the rounding\n\n- and the tests")


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(AgentError):
        read_file(tmp_path / "none.md")
    with pytest.raises(AgentError):
        read_file(tmp_path)
