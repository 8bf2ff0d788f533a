"""Relevance: what counts as one name, and which file it belongs to."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from segue.facts import relevance
from segue.facts.relevance import Heat
from segue.redact import context_rules, prefilter

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
    assert relevance.heat_of("tools/README.md", "/home/ada/work", found) > relevance.heat_of(
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
    assert relevance.heat_of("ledger.py", "/home/ada/work", heated.now()) == 1
    assert not relevance.facts(heated.now(), 1, {"ledger.py"}, "/home/ada/work"), "told as a file already"


def test_what_hangs_on_a_variable_of_one_letter_is_a_name() -> None:
    assert relevance.forms("dir := t.TempDir(); s.loadState(ctx)") == ["TempDir", "loadState"]


def test_several_of_what_is_spelled_in_capitals_make_a_word() -> None:
    assert relevance.is_word("existingIDs")
    assert not relevance.is_word("aBcDeFgH1")


def test_an_option_is_a_name_without_its_hyphens() -> None:
    found = relevance.forms("deploy --skip-push-sessions feature-session-limit. --dry-run")
    assert found == ["skip-push-sessions", "feature-session-limit"]


def test_a_use_fades_quickly_at_first_and_then_slowly() -> None:
    heated = Heat()
    heated.used("cat src/ledger.py", "read")
    heats = []
    for _ in range(3):
        heats.append(heated.now()["src/ledger.py"].heat)
        heated.step += 15
    assert heats[0] == 4 * heats[1] and heats[1] < 2 * heats[2]


def test_what_the_person_said_fades_with_each_message_and_not_with_the_agents_steps() -> None:
    heated = Heat()
    heated.said("Look at parse_ledger")
    before = heated.now()["parse_ledger"].heat
    heated.step += 50
    assert heated.now()["parse_ledger"].heat == before
    heated.said("And now at the docs")
    assert heated.now()["parse_ledger"].heat < before


def test_what_a_result_shows_among_many_names_is_less_hot() -> None:
    alone, crowded = Heat(), Heat()
    alone.saw("parse_ledger", "read")
    crowded.saw("parse_ledger " + " ".join(f"other_name_{chr(97 + n)}" for n in range(20)), "read")
    assert crowded.now()["parse_ledger"].heat < alone.now()["parse_ledger"].heat


LISTED = [f"src/{name}.py" for name in ("audit", "export", "invoice", "ledger", "report", "totals")]


def going_through(*opened: str, listed: list[str] = LISTED) -> Heat:
    """Files opened one by one after a command had listed some."""
    heated = Heat()
    heated.tick()
    heated.saw("\n".join(listed), "run")
    for path in opened:
        heated.tick()
        heated.opens(path)
        heated.used(path, "read")
    return heated


def left(heated: Heat) -> list[str]:
    return [name for name, spot in heated.now().items() if spot.is_left]


def test_what_is_left_of_a_list_that_is_gone_through_comes_next() -> None:
    heated = going_through("/home/ada/src/audit.py", "src/export.py", "src/invoice.py")
    assert left(heated) == ["src/ledger.py", "src/report.py", "src/totals.py"]
    told = relevance.facts(heated.now(), 1, {"src/audit.py", "src/export.py", "src/invoice.py"}, "/home/ada")
    assert [(fact.subject, fact.note) for fact in told] == [
        (name, relevance.LEFT) for name in ("src/ledger.py", "src/report.py", "src/totals.py")
    ]


def test_files_that_stood_in_no_list_before_make_none() -> None:
    assert not left(going_through("src/audit.py", "src/export.py"))
    assert not left(going_through("src/audit.py", "src/export.py", "docs/a.md", "docs/b.md", "docs/c.md"))
    shown_later = going_through("src/audit.py", "src/export.py", "src/invoice.py", listed=[])
    shown_later.saw("\n".join(LISTED), "run")
    assert not left(shown_later)


def test_what_a_command_was_about_is_not_reported_as_not_opened() -> None:
    heated = going_through("src/audit.py", "src/export.py", "src/invoice.py")
    heated.used("sed -n 1,80p src/ledger.py", "run")
    assert left(heated) == ["src/report.py", "src/totals.py"]


def test_what_the_person_asks_for_next_ends_a_list() -> None:
    heated = going_through("src/audit.py", "src/export.py", "src/invoice.py")
    heated.tick()
    heated.said("Now release it.")
    assert not left(heated)


def test_a_listing_of_a_whole_tree_is_no_list_to_go_through() -> None:
    tree = [*LISTED, *(f"lib/module_{number}.py" for number in range(relevance.MOST_LEFT))]
    assert not left(going_through("src/audit.py", "src/export.py", "src/invoice.py", listed=tree))


def reading(*, shows: int) -> Heat:
    """An agent that opened a file with this many names."""
    heated = Heat()
    heated.tick()
    heated.used("src/ledger.py", "read")
    heated.saw("src/totals.py " + " ".join(f"read_part_{number}" for number in range(shows)), "read")
    heated.tick()
    return heated


def test_an_agent_that_takes_up_none_of_many_names_is_reported_files_alone() -> None:
    reader = reading(shows=60)
    assert reader.now().keys() == {"src/ledger.py", "src/totals.py"}
    reader.used("I looked at read_part_7.", "reply")
    assert "read_part_8" not in reader.now(), "to speak of a name is not to use it"
    reader.used("rg read_part_7", "run")
    assert "read_part_8" in reader.now()
    assert "read_part_8" in reading(shows=40).now(), "of few names nothing can be told"


def test_an_agent_that_changes_something_does_not_only_read() -> None:
    assert "read_part_8" in reading(shows=60).now(has_changed=True)


def test_what_is_too_long_ago_is_forgotten() -> None:
    heated = Heat()
    heated.used("parse_ledger", "run")
    heated.saw("read_ledger", "read")
    heated.said("Look at write_ledger")
    heated.step += relevance.SHOWN + 1
    assert heated.now().keys() == {"parse_ledger", "write_ledger"}
    heated.step += relevance.KEPT
    heated.messages += relevance.SAID + 1
    assert not heated.now()


def test_the_end_of_a_line_as_code_spells_it_is_no_part_of_a_name() -> None:
    assert relevance.forms(r"print('Sum\nTotalPrice', '\ttaxRate')") == ["TotalPrice", "taxRate"]


@pytest.mark.parametrize(
    ("path", "form"),
    [
        (r"src\newFile.ts", "src/newFile.ts"),
        (r".\node_modules\readFile.js", "node_modules/readFile.js"),
        (r"C:\repo\tests\test_all.py", "tests/test_all.py"),
        (r"C:\\repo\\tests\\test_all.py", "tests/test_all.py"),
        (r"\\nas\test_all.py", "nas/test_all.py"),
    ],
)
def test_a_path_with_backslashes_is_that_with_slashes(path: str, form: str) -> None:
    assert relevance.forms(f"type {path}")[0] == form


def test_a_name_out_of_a_pattern_is_the_name() -> None:
    assert relevance.forms(r"rg 'package\.json'") == ["package.json"]


def test_a_word_too_long_for_a_path_names_nothing() -> None:
    assert relevance.forms("aB_" * 200) == []


def test_a_device_is_no_file() -> None:
    assert relevance.forms("make 2>/dev/null") == []


def test_a_folder_that_nobody_made_up_is_not_reported() -> None:
    assert relevance.file_form("/cache/9f3c2ab81d7e44/ledger.py") == "ledger.py"


@given(st.lists(PARTS, min_size=2, max_size=5))
def test_a_file_is_found_by_the_form_that_it_is_counted_in(parts: list[str]) -> None:
    path = "/".join(parts) + ".py"
    heated = Heat()
    heated.used(f"/home/{path}", "read")
    assert relevance.heat_of(path, "/home", heated.now()) == 1


def test_a_file_that_is_called_by_a_hash_is_no_name() -> None:
    assert relevance.forms("dist/main.3f2a1b9c8d7e.js src/ledger.test.ts") == ["src/ledger.test.ts"]


def test_a_word_that_is_a_password_is_not_noted_as_one_for_elsewhere() -> None:
    heated = Heat()
    heated.saw("POSTGRES_PASSWORD: postgres\nA_PASSWORD=production\nB_PASSWORD=vq7Rm2xTz9Kd\n", "read")
    heated.now()
    assert heated.secrets == {"vq7Rm2xTz9Kd": "password"}


def test_several_words_in_one_are_noted_unless_the_person_calls_something_so() -> None:
    heated = Heat()
    heated.said("Never touch parseLedgerEntries")
    heated.saw("A_PASSWORD=parseLedgerEntries\nB_PASSWORD=correctHorseBattery\n", "read")
    heated.now()
    assert heated.secrets == {"correctHorseBattery": "password"}


HASH = "Q9x8Kq2Lm5Np7Rs9Tv1Wy.Za4Bc6De8Fg0Hj2KQ9x8Kq2Lm5Np7Rs"
TELLING = (
    "Authorization: Digest BlueHorizonSky_1",
    "send Bearer q8W2e5R7t9Y1u3I5o7P9",
    "Basic YWRhOkgwcHBlci0xOTA2",
    "https://files.x.io/a?sig=q8W2e5R7t9Y1u3I5o7P9aS",
    "+ curl -s -u deploy:BlueHorizonSky https://x.io/up",
    "+ curl -s -u deploy:blue_horizon_sky https://x.io/up",
    "+ mysql -uroot -pBlueHorizonSky app",
    "+ sshpass -p BlueHorizonSky ssh root@h",
    "+ docker login -u bob -p BlueHorizonSky reg.io",
    "machine x.io login bob password BlueHorizonSky",
    "+ redis-cli -h cache -a BlueHorizonSky ping",
    "+ htpasswd -bc users bob BlueHorizonSky",
    "+ openssl rsa -in k.pem -passin pass:BlueHorizonSky",
    '$p = ConvertTo-SecureString "BlueHorizonSky" -AsPlainText',
    "+ echo BlueHorizonSky | docker login -u bob --password-stdin",
    "CREATE USER bob IDENTIFIED WITH caching BY 'BlueHorizonSky'",
    "Private-Lines: 2\nAAAAIQCm1wXh\nAAAAIQDx8Kq2\n",
    "redis://:BlueHorizonSky@cache/0",
    "//npm.x.io/:_auth=BlueHorizonSky",
    "https://q8W2e5R7t9Y1u3I5o7P9aS@x.io/a.git",
    "AKIAZ52KHGUI6Q4HW3LD,q8W2e5R7t9Y1u3I5o7P9aS2dF4gH6jK8lZ0xC1vB",
    "db.x.io:5432:shop:bob:BlueHorizonSky",
    f"ada:$2b$12${HASH}",
    f"ada:$argon2id$v=19$m=65536,t=3,p=4${HASH}",
    "ada:$6$Kq2Lm5Np$Q9x8Kq2Lm5Np7Rs9Tv1WyZa4Bc6De8Fg0Hj2KQ9x8Kq2Lm",
    "Cookie: sid=aBlueHorizonSkyOverTheSeaXkQ7bR2",
    "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n",
    "kind: Secret\ndata:\n  any: BlueHorizonSky\n",
)
"""One example for each rule that recognises a secret by its place."""


@pytest.mark.parametrize("text", TELLING)
def test_what_stands_where_secrets_stand_is_no_name(text: str) -> None:
    heated = Heat()
    heated.saw(text, "read")
    assert not [name for name in heated.now() if "orizon" in name]
    assert next(context_rules.find(text, text.lower()), None)
    assert prefilter.dangerous([text, "a word", text + " word" * prefilter.SHORT]) == [True, False, True]


def test_each_rule_that_goes_by_a_place_has_its_example() -> None:
    for rule in (*context_rules.LOWER, *context_rules.EXACT):
        texts = TELLING if rule in context_rules.EXACT else [text.lower() for text in TELLING]
        assert any(rule.sign in text and rule.pattern.search(text) for text in texts), rule.pattern.pattern


PASSWORDS = ("PASSCODE", "PASSWORT", "KENNWORT", "CONTRASENA", "MOT_DE_PASSE", "SENHA", "WACHTWOORD", "PWD")


@pytest.mark.parametrize("name", PASSWORDS)
def test_what_is_called_a_password_in_any_language_is_no_name(name: str) -> None:
    heated = Heat()
    heated.saw(f'{name} = "BlueHorizonSky"', "read")
    assert not [one for one in heated.now() if "orizon" in one]
