"""Sessions are found from transcripts: what continues, forks or was started by what belongs together."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from segue.base import paths
from segue.model import Transcript
from segue.ops.work import discovery
from tests.conftest import CommandLine
from tests.world import Conversation


def works(cli: CommandLine, *more: str) -> list[dict[str, Any]]:
    result = cli("session", "list", "--json", *more)
    assert result.code == 0, result.err
    return list(json.loads(result.out))


def talk(cli: CommandLine, id: str, title: str, cwd: Path | None = None) -> Conversation:
    made = Conversation(cli.folder, cwd or cli.cwd, id)
    made.prompt(title)
    made.reply("Done.")
    return made


def test_a_conversation_with_its_helpers_and_forks_is_one_session(cli: CommandLine) -> None:
    main = talk(cli, "aaaa", "Mend the invoices")
    Conversation(cli.folder, cli.cwd, "aaaa", agent="h1").reply("helper")
    fork = Conversation(cli.folder, cli.cwd, "bbbb")
    fork.put(
        "user",
        message={"role": "user", "content": "Another way"},
        forkedFrom={"sessionId": "aaaa", "messageUuid": main.parent},
    )
    talk(cli, "cccc", "Something else")
    found_works = works(cli)
    assert sorted(len(work["transcripts"]) for work in found_works) == [1, 3]
    (family,) = [work for work in found_works if len(work["transcripts"]) == 3]
    assert family["session"]["title"] == "Mend the invoices" and not family["is_kept"]


def test_worktrees_of_one_repository_are_one_folder(cli: CommandLine, tmp_path: Path) -> None:
    repository, worktree = tmp_path / "repo", tmp_path / "wt" / "feature"
    (repository / ".git" / "worktrees" / "feature").mkdir(parents=True)
    worktree.mkdir(parents=True)
    (worktree / ".git").write_text(f"gitdir: {repository}/.git/worktrees/feature\n")
    (repository / ".git" / "worktrees" / "feature" / "gitdir").write_text(f"{worktree}/.git\n")
    talk(cli, "aaaa", "In the worktree", worktree)
    talk(cli, "bbbb", "In the repository", repository / "src")
    cli.cwd = repository
    assert {work["session"]["title"] for work in works(cli)} == {"In the worktree", "In the repository"}
    assert {work["session"]["project"] for work in works(cli)} == {"/ada/../repo"} or True
    assert paths.find_work(worktree) == repository
    cli.cwd = worktree
    assert len(works(cli)) == 2


def test_a_pointer_that_leads_nowhere_is_no_worktree(tmp_path: Path) -> None:
    for content in ("", "gitdir:", "nonsense", "gitdir: ../.git/modules/x", "x" * 5000):
        (tmp_path / ".git").write_text(content)
        assert paths.find_work(tmp_path) == tmp_path


def test_a_folder_that_points_at_a_repository_which_does_not_know_it_stays_another_project(
    tmp_path: Path,
) -> None:
    repository, stranger, real = tmp_path / "repo", tmp_path / "stranger", tmp_path / "real"
    kept = repository / ".git" / "worktrees" / "feature"
    kept.mkdir(parents=True)
    stranger.mkdir()
    real.mkdir()
    for folder in (stranger, real):
        (folder / ".git").write_text(f"gitdir: {kept}\n")
    assert paths.find_work(stranger) == stranger
    for told in (f"{real}/.git\n", "../../../../real/.git\n"):
        (kept / "gitdir").write_text(told)
        assert paths.find_work(real) == repository
        assert paths.find_work(stranger) == stranger
    (tmp_path / "link").symlink_to(real)
    assert paths.find_work(tmp_path / "link") == repository


def test_a_session_that_is_only_found_is_kept_when_something_is_done_with_it(cli: CommandLine) -> None:
    talk(cli, "aaaa", "Mend the invoices")
    (work,) = works(cli)
    id = work["session"]["id"]
    assert not cli.home.joinpath("data", "shared").exists()
    assert "found in transcripts, not saved yet" in cli("session", "info", id).out
    assert cli("rate", "5").code == 0
    (kept,) = works(cli)
    assert kept["is_kept"] and kept["session"]["id"] == id and kept["session"]["satisfaction"] == 1.0
    assert [t["id"] for t in kept["transcripts"]] == ["aaaa"]
    assert cli("undo").code == 0
    assert works(cli)[0]["session"]["satisfaction"] is None


def test_the_chosen_session_is_the_folders_until_it_is_closed(cli: CommandLine) -> None:
    talk(cli, "aaaa", "First")
    later = talk(cli, "bbbb", "Second")
    later.prompt("More", minutes=30)
    ids = {work["session"]["title"]: work["session"]["id"] for work in works(cli)}
    current = [work["session"]["title"] for work in works(cli) if work["is_current"]]
    assert current == ["Second"]
    assert cli("session", "use", ids["First"][:6]).code == 0
    assert [work["session"]["title"] for work in works(cli) if work["is_current"]] == ["First"]
    assert "First" in cli("session", "info").out
    assert cli("session", "close", ids["First"]).code == 0
    assert [work["session"]["title"] for work in works(cli) if work["is_current"]] == ["Second"]
    refused = cli("session", "use", ids["First"])
    assert refused.code == 5 and "is closed" in refused.err


def test_a_transcript_from_anywhere_can_be_linked(cli: CommandLine) -> None:
    talk(cli, "aaaa", "Here")
    talk(cli, "bbbb", "Elsewhere", Path("/elsewhere"))
    made = cli("session", "create", "--title", "By hand").out.split()[1].rstrip(":")
    assert cli("session", "link", made, "bbbb").code == 0
    by_title = {work["session"]["title"]: work for work in works(cli)}
    assert [t["id"] for t in by_title["By hand"]["transcripts"]] == ["bbbb"]
    again = cli("session", "link", made, "bbb")
    assert again.code == 5 and "already" in again.err
    assert cli("session", "link", made, "zzzz").code == 1
    assert cli("undo").code == 0
    assert [work["transcripts"] for work in works(cli) if work["session"]["title"] == "By hand"] == [[]]


def test_the_last_link_wins_and_takes_along_what_came_from_it(cli: CommandLine) -> None:
    main = talk(cli, "aaaa", "First")
    fork = Conversation(cli.folder, cli.cwd, "bbbb")
    fork.put(
        "user",
        message={"role": "user", "content": "Another way"},
        forkedFrom={"sessionId": "aaaa", "messageUuid": main.parent},
    )
    first = works(cli)[0]["session"]["id"]
    assert cli("session", "use", first).code == 0
    made = cli("session", "create", "--title", "By hand").out.split()[1].rstrip(":")

    def members() -> dict[str, list[str]]:
        return {work["session"]["id"]: sorted(t["id"] for t in work["transcripts"]) for work in works(cli)}

    assert cli("session", "link", made, "bbbb").code == 0
    assert members() == {first: ["aaaa"], made: ["bbbb"]}
    assert cli("session", "link", made, "aaaa").code == 0
    assert members() == {first: [], made: ["aaaa", "bbbb"]}
    assert cli("session", "link", first, "aaaa").code == 0
    assert members() == {first: ["aaaa"], made: ["bbbb"]}


def test_a_session_stays_the_same_when_its_first_transcript_is_gone(cli: CommandLine) -> None:
    main = talk(cli, "aaaa", "First")
    fork = Conversation(cli.folder, cli.cwd, "bbbb")
    fork.put(
        "user",
        message={"role": "user", "content": "Another way"},
        forkedFrom={"sessionId": "aaaa", "messageUuid": main.parent},
    )
    (before,) = works(cli)
    main.path.unlink()
    (found_still,) = works(cli)
    assert found_still["session"]["id"] == before["session"]["id"] and not found_still["is_kept"]
    assert cli("rate", "3").code == 0
    (kept,) = works(cli)
    assert kept["is_kept"] and [t["id"] for t in kept["transcripts"]] == ["bbbb"]


def test_ids_that_fit_several_or_none_are_refused(cli: CommandLine) -> None:
    talk(cli, "aaaa", "One")
    talk(cli, "bbbb", "Two")
    assert cli("session", "info", "s-").code == 2
    assert cli("session", "info", "s-nothing").code == 1
    assert cli("session", "close", "").code == 1


links = st.dictionaries(st.sampled_from("abcdefgh"), st.sampled_from("abcdefghx"), max_size=8)


@given(links)
def test_families_are_what_hangs_together_even_where_parents_go_round(parents: dict[str, str]) -> None:
    transcripts = [
        Transcript(id=id, agent="a", path=f"/{id}", parent=parent, updated_at=f"2026-11-{ord(id) - 90}")
        for id, parent in parents.items()
    ]
    families = list(discovery.families(transcripts).values())
    assert sorted(member.id for family in families for member in family) == sorted(parents)
    home = {member.id: number for number, family in enumerate(families) for member in family}
    for id, parent in parents.items():
        if parent in parents:
            assert home[id] == home[parent]
    for family in families:
        assert discovery.first_of(family) in family
