"""What counts as one name, and which file its heat goes to."""

from hypothesis import given
from hypothesis import strategies as st

from segue.facts import heat
from segue.facts.heat import Heat

PARTS = st.text("abcdefgh", min_size=4, max_size=8)


def now(*commands: str) -> dict[str, float]:
    heated = Heat()
    for command in commands:
        heated.tick()
        heated.used(command, "run")
    return {name: spot.heat for name, spot in heated.now().items()}


def test_files_of_one_name_do_not_share_their_heat() -> None:
    spots = Heat(step=400)
    spots.used("docs/README.md", "read")
    spots.step += 300
    spots.used("tools/README.md", "read")
    found = spots.now()
    assert heat.heat_of("tools/README.md", "/home/ada/work", found) > heat.heat_of(
        "docs/README.md", "/home/ada/work", found
    )


def test_a_file_is_the_same_with_and_without_its_folder_where_there_is_one_only() -> None:
    assert now("cat src/ledger.py", "cat ledger.py").keys() == {"src/ledger.py"}


def test_a_name_without_a_folder_goes_to_no_file_where_there_are_several() -> None:
    assert now("cat a_one/ledger.py b_two/ledger.py", "cat ledger.py").keys() >= {
        "a_one/ledger.py",
        "b_two/ledger.py",
        "ledger.py",
    }


def test_a_file_in_the_folder_of_the_work_is_as_hot_by_its_whole_path() -> None:
    heated = Heat()
    heated.used("/home/ada/work/ledger.py", "read")
    assert heat.heat_of("ledger.py", "/home/ada/work", heated.now()) > 1
    assert not heat.facts(heated.now(), 1, {"ledger.py"}, "/home/ada/work"), "told as a file already"


def test_what_hangs_on_a_variable_of_one_letter_is_a_name() -> None:
    assert heat.forms("dir := t.TempDir(); s.loadState(ctx)") == ["TempDir", "loadState"]


def test_several_of_what_is_spelled_in_capitals_make_a_word() -> None:
    assert heat.is_word("existingIDs")
    assert not heat.is_word("aBcDeFgH1")


def test_an_option_is_no_name() -> None:
    assert heat.forms("deploy --skip-push-sessions feature-session-limit.") == ["feature-session-limit"]


def test_a_folder_that_nobody_made_up_is_not_told() -> None:
    assert heat.file_form("/cache/9f3c2ab81d7e44/ledger.py") == "ledger.py"


@given(st.lists(PARTS, min_size=2, max_size=5))
def test_a_file_is_found_by_the_form_that_it_is_counted_in(parts: list[str]) -> None:
    path = "/".join(parts) + ".py"
    heated = Heat()
    heated.used(f"/home/{path}", "read")
    assert heat.heat_of(path, "/home", heated.now()) > 1
