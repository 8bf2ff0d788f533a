"""Secrets out: what is found, in which disguise, what is left alone, and what placeholders tell."""

from __future__ import annotations

import json
import sys
import time

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from segue.errors import BadInput
from segue.redact import Known, Redacted, betterleaks, redact, scan, view
from tests import secrets_planted as planting
from tests.secrets_planted import DISGUISES, identifiers, is_gone, planted

KEY, OTHER_KEY = b"a key for the tests, 32 bytes ..", b"another key, and it has 32 bytes"
ITEMS = planted()
TOKEN = "ghp_" + "x8Kq2Lm5Np7Rs9Tv1Wy3Za4Bc6De8Fg0Hj2K"
PASSWORD = "Tr0ub4dor-and-3"


def clean(text: str, allow: tuple[str, ...] = ()) -> str:
    return redact(text, key=KEY, allow=allow).text


# What is found


def test_there_are_220_planted_secrets_of_more_than_40_kinds() -> None:
    assert len(ITEMS) == 220 and len({item.secret for item in ITEMS}) == 220
    assert len({item.kind for item in ITEMS}) >= 40


@pytest.mark.parametrize("disguise", DISGUISES)
def test_planted_secrets_are_removed_in_every_disguise(disguise: str) -> None:
    wrong = []
    for number, item in enumerate(ITEMS):
        disguised = DISGUISES[disguise](item, number)
        assert not is_gone(disguised, disguised.text), "it must be there to be removed"
        if not is_gone(disguised, clean(disguised.text)):
            wrong.append(item.kind)
    bar = 0.99 if disguise == "plain" else 0.95
    assert 1 - len(wrong) / len(ITEMS) >= bar, wrong


def test_other_seeds_do_as_well() -> None:
    items = [item for seed in range(3) for item in planted(seed)]
    left = [
        item.kind
        for number, item in enumerate(items)
        if not is_gone(plain := planting.plain(item, number), clean(plain.text))
    ]
    assert len(left) <= len(items) * 0.01, left


def test_identifiers_are_left_alone() -> None:
    found = [(kind, text) for kind, text in identifiers() if scan(text)]
    assert len(found) <= 0.005 * len(identifiers()), found


def test_without_the_library_our_own_rules_hold_the_bar_and_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, betterleaks.NAME, None)
    for cached in (betterleaks._library, betterleaks._is_installed):
        cached.cache_clear()
    monkeypatch.setattr(betterleaks, "find_spec", lambda _name: None)
    try:
        assert redact("x", key=KEY).rules == "own rules; the library 'betterleaks' is not installed"
        left = [
            item.kind
            for number, item in enumerate(ITEMS)
            if not is_gone(plain := planting.plain(item, number), clean(plain.text))
        ]
        assert len(left) <= 2, left
    finally:
        for cached in (betterleaks._library, betterleaks._is_installed):
            cached.cache_clear()


def test_the_library_knows_vendors_that_we_do_not() -> None:
    pytest.importorskip(betterleaks.NAME)
    token = "nvapi-" + "Q7dK2mXz9LpR4vTn8WbY1cHs6JfG3aEu5oViBqMtZxNwDkSrPyUlCgFhAj0e2I4O"
    redacted = redact(f"use {token} for it", key=KEY)
    assert token not in redacted.text and redacted.rules == "own rules and betterleaks"


ALONE = [item for item in ITEMS[: len(planting.KINDS)] if scan(f" {item.secret} ")]
"""A planted secret of every kind that is recognised without its surroundings."""
ESCAPES = (
    *("\\u001b", "\\u0007", "\\u007f", "\\u009f", "\\u00e9", "\\u2014", "\\ud83d\\ude00", "\\u0020", "\\u0022", "\\u003d"),
    *("\\b", "\\f", "\\n", "\\r", "\\t", '\\"', "\\/", "\\\\u001b", "\\\\u2014", "\\\\ud83d\\\\ude00", "\\\\f", "\\\\b", "\\\\\\\\f"),
    *("\\u005cf", "\\u005cu001b", "\\u005cu2014", "\\x1b", "\\xe9", "\\xe2\\x80\\x94", "\\U0001f600", "x\\u001b", "\\u001b[1m"),
)  # fmt: skip
"""What JSON, and code, may write directly before a secret."""


@pytest.mark.parametrize("escape", ESCAPES)
def test_a_secret_directly_behind_an_escape_is_found(escape: str) -> None:
    assert len(ALONE) > 40
    for before in ("", "out: ", '{"out": "'):
        texts = [(item, f"{before}{escape}{item.secret} and more") for item in ALONE]
        assert not [item.kind for item, text in texts if not scan(text)]
        assert not [item.kind for item, text in texts if item.secret in clean(text)]


def test_a_token_behind_an_escaped_letter_is_found() -> None:
    for escape in ("\\u0041", "\\a", "\\v", "\\e", "\\0", "\\033"):
        assert TOKEN not in clean(f"{escape}{TOKEN}"), escape


def test_a_token_whose_own_letters_are_escaped_is_found() -> None:
    for item in [item for item in ALONE if item.kind != "private key"]:
        for first in (f"\\u{ord(item.secret[0]):04x}", f"\\\\u{ord(item.secret[0]):04X}"):
            for before in ("\\f", "\\u2014", "\\\\b", "out: "):
                assert item.secret[1:] not in clean(f"{before}{first}{item.secret[1:]}"), item.kind


@pytest.mark.parametrize("token", ["figd_", "npm_", "rnd_", "tfp_", "bkua_", "nfp_"])
def test_a_token_behind_a_backslash_is_not_taken_for_an_escape(token: str) -> None:
    token += "x8Kq2Lm5Np7Rs9Tv1Wy3Za4Bc6De8Fg0Hj2K" + ("x8Kq2Lm5" if token in ("figd_", "tfp_") else "")
    assert token not in clean(f"C:\\keys\\{token} is there")


@pytest.mark.parametrize(
    "text",
    [
        r"C:\build\foo\base_config_1234567890.bin",
        r"re.compile(r'\bfoo_bar_baz_1234567890\b')",
        '{"name": "Contrase\\u00f1a", "password": "Contrase\\u00f1a"}',
        "caf\\u00e9_" + "0123456789abcdef" * 2,
    ],
)
def test_an_escape_makes_no_secret(text: str) -> None:
    assert clean(text) == text


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (f"remote: https://{TOKEN}@github.com/a/b", "github-token"),
        ("export AWS_ACCESS_KEY_ID=AKIAZ52KHGUI6Q4HW3LD", "aws-access-key"),
        ("DATABASE_URL=postgres://app:s3cr3tPassw0rd@db/prod", "url-password"),
        (f"password = '{PASSWORD}'", "password"),
        ("Authorization: Basic YWRhOkgwcHBlci0xOTA2", "basic-auth"),
        ("JWT_SECRET || 'q8W2e5R7t9Y1'", "secret"),
        ("kind: Secret\ndata:\n  whatever: cGxhaW50ZXh0\n", "cluster-secret"),
        ("ada:$2b$12$Q9x8Kq2Lm5Np7Rs9Tv1Wy.Za4Bc6De8Fg0Hj2KQ9x8Kq2Lm5Np7Rs", "password-hash"),
        ("-----BEGIN PRIVATE KEY-----\n" + "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n" * 4, "private-key"),
    ],
)
def test_a_finding_says_what_it_is(text: str, kind: str) -> None:
    assert [finding.kind for finding in redact(text, key=KEY).findings] == [kind]


@pytest.mark.parametrize(
    "text",
    [
        "password: string",
        "password=${DB_PASSWORD}",
        "API_KEY=your-api-key-here",
        "token = ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        "const token = await getToken(user.id)",
        "postgres://postgres:postgres@localhost/test",
        "postgres://user:password@localhost/test",
        '"max_tokens": 4096, "tokens": 12',
        'nextPageToken: "CAUQAAabc123DEF456ghi789"',
        "val password: String? by project",
        "https://packages.internal/@scope/name/-/name-1.2.3.tgz",
        "https://localhost:8080/@vite/client",
        '"toolu_01EdGUAacXqZu5tExNpwdGGQ","toolu_012XyB5ZX6yVoNb8kW6XjDMf"',
        "const schema = z.object({\n  password: z.string().min(8),\n  name: z.string().min(8),\n});",
        "    password: Joi.string().min(8).required(),",
        "  password = models.CharField(max_length=128)",
        "   secret: crypto.randomBytes(32).toString('hex'),",
        "user.password=hash_password(data.password1)",
        "PWD=/home/ada/k8s2go/v3\nOLDPWD=/srv/app2go/r3l\n",
        "export PWD=~/k8s2go/v3",
        "password: ENC[AES256_GCM,data:O+5l4g==,iv:c/dS4BCBMbnKsXYuzBuC]",
    ],
)
def test_what_is_no_secret_is_left_alone(text: str) -> None:
    assert clean(text) == text


@pytest.mark.parametrize(
    "place",
    [
        "DB_PASSWORD={}",
        "DB_PASSWORD='{}'",
        'export DB_PASSWORD="{}"',
        "'PASSWORD': '{}',",
        "define('DB_PASSWORD', '{}');",
        "--password {}",
        "--password={}",
        '--password="{}"',
    ],
)
def test_where_only_a_password_can_stand_a_plain_word_is_one_quoted_or_not(place: str) -> None:
    assert "sunflower" not in clean(f"x\n{place.format('sunflower')}\ny")


@pytest.mark.parametrize("secret", ["correct horse battery staple", "ab#12 cd$34"])
def test_a_password_of_several_words_is_found_between_quotes(secret: str) -> None:
    assert secret not in clean(f'DB_PASSWORD="{secret}"')


@pytest.mark.parametrize(
    "text",
    [
        'WRONG_PASSWORD = "This password is not valid"',
        'NO_PASSWORD: "no password was given"',
        'FORGOT_PASSWORD = "forgotPassword"',
        'SET_PASSWORD: "Choose something long"',
        "give it with the --password option",
        'DB_PASSWORD="${DB_PASSWORD}"',
    ],
)
def test_a_sentence_or_a_name_behind_the_name_of_a_password_is_none(text: str) -> None:
    assert clean(text) == text


@pytest.mark.parametrize("secret", ["k8s2go/v3(x", "ab(12)cd9f", "/k8s2go/v3x9"])
def test_a_password_with_a_bracket_or_a_slash_is_no_call_and_no_folder(secret: str) -> None:
    assert secret not in clean(f"DB_PWD={secret}\n")


def test_a_secret_found_once_is_replaced_wherever_it_stands() -> None:
    text = clean(f"DB_PASSWORD={PASSWORD}\nlater: psql -W {PASSWORD}\nand '{PASSWORD}'")
    assert PASSWORD not in text and len(set(view.PLACEHOLDER.findall(text))) == 1


@pytest.mark.parametrize(
    "place",
    ["API_SECRET={}", '"apiKey": "{}"', "client_secret: {}", "GITHUB_TOKEN={}", "Authorization: Bearer {}"],
)
@pytest.mark.parametrize("secret", ["wQzrTbnKkvXpLhdJ", "nXrkcgPqVbwsZjdtHm", "qzkvxjwpthbnrlcm"])
def test_a_secret_needs_no_digit_if_it_is_no_word(place: str, secret: str) -> None:
    assert secret not in clean(place.format(secret))


@pytest.mark.parametrize("name", ["validateAndRefresh", "HTTPServerFactory", "passwordResetHandler"])
def test_a_name_behind_the_name_of_a_secret_is_none(name: str) -> None:
    assert clean(f"apiKey: {name},\ntoken = {name}\nsecret={name}") == (
        f"apiKey: {name},\ntoken = {name}\nsecret={name}"
    )


def test_a_password_that_is_a_word_is_replaced_only_where_it_is_one() -> None:
    text = clean("PGPASSWORD=postgres psql -U postgres postgres")
    assert text.count("postgres") == 2 and text.startswith("PGPASSWORD=[secret:password:")


def test_only_the_secret_is_replaced() -> None:
    text = clean('{"url": "postgres://app:s3cr3tPassw0rd@db.internal/prod", "size": 3}')
    assert text.startswith('{"url": "postgres://app:[secret:') and text.endswith(
        ']@db.internal/prod", "size": 3}'
    )


def test_a_key_that_was_cut_off_is_removed_as_far_as_it_goes() -> None:
    text = clean("-----BEGIN RSA PRIVATE KEY-----\n" + "MIIEpAIBAAKCAQEAx1y2z3\n" * 3 + "[output truncated]")
    assert "MIIE" not in text and text.endswith("[output truncated]")


WRITTEN = (
    "- **Password:** {}",
    "- **Password**: `{}`",
    "**API key:** `{}`",
    "| user | bob |\n| Password | `{}` |",
    "pass: {}",
    "pw: {}",
    "ansible_become_pass: {}",
    "SMTP_PASS={}",
    "password for bob: {}",
    "Password for user 'admin' is {}",
    "The password has been set to {}",
    "password (staging): {}",
    "Key         Value\n---         -----\npassword    {}\n",
    "getByLabel('Password').fill('{}')",
    "CREATE LOGIN x WITH PASSWORD = N'{}'",
    "SET PASSWORD FOR 'a'@'b' = '{}';",
    'setx DB_PASSWORD "{}"',
    '{{\n  "name": "DB_PASSWORD",\n  "slotSetting": false,\n  "value": "{}"\n}}',
    '{{"value": "{}", "name": "DB_PASSWORD"}}',
    '{{"Key":"db_password","Value":"{}"}}',
    "ParameterKey=DbPassword,ParameterValue={}",
    'variable "db_password" {{\n  type = string\n  default = "{}"\n}}',
    "mongosh -u a -p {}",
    "ldapsearch -x -D cn=admin -w {} -b dc=x",
    "ssh-keygen -t ed25519 -N '{}' -f k",
    "zip -P {} x.zip y",
    "htpasswd -nb bob {}",
    "gh secret set DB_PASSWORD -b {}",
    "gh secret set DB_PASSWORD --body={}",
    "az keyvault secret set --name DbPassword --value {}",
    "aws ssm put-parameter --name /db/password --value {}",
    "echo 'bob:{}' | sudo chpasswd",
    "echo {} | sudo -S ls",
)
"""How people, agents and tools write a password down."""


@pytest.mark.parametrize("place", WRITTEN)
@pytest.mark.parametrize("secret", ["vq7Rm2xTz9Kd", "Winter2026!x", "hTq8wLs3nBvZ0pKe"])
def test_a_password_is_found_however_it_was_written_down(place: str, secret: str) -> None:
    text = place.format(secret)
    assert secret not in clean(f"x\n{text}\ny") and secret not in json.loads(clean(json.dumps(text)))


@pytest.mark.parametrize(
    "text",
    [
        "--- PASS: TestK8s2Go/#00 (0.00s)\nPASS: test_a1b2c3",
        "| column | type |\n| password | text |\n| password_hash | VARCHAR(255) |",
        "auth: BearerAuth | SigV4Auth1b2c | None",
        '{"name": "region", "value": "q8W2e5R7t9Y1u3I5"}',
        '{"name": "DB_PASSWORD"}, {"value": "q8W2e5R7t9Y1u3I5"}',
        '{"name": "DB_PASSWORD", "value": "${DB_PASSWORD}"}',
        "the password for staging: ask ada",
        "password:\n  type: string\n",
        "redis-cli -a && mkdir -p src/cache",
        "mongosh; mkdir -p backups",
        "docker run --name mongo -p localhost:27017:27017 mongo",
        "echo $TOKEN | docker login --password-stdin",
        "first pass: done, second pass=running",
    ],
)
def test_what_stands_where_a_password_might_is_left_alone(text: str) -> None:
    assert clean(text) == text


def test_a_uuid_is_a_token_only_where_nothing_else_can_stand() -> None:
    uuid = "34f83ae7-518b-69c6-4773-031f6725480d"
    assert uuid not in clean(f"CONSUL_HTTP_TOKEN={uuid}")
    assert uuid in clean(f'"cancelToken": "{uuid}"')


@pytest.mark.parametrize(
    "text",
    [
        '{{"pass\\u0077ord": "{}"}}',
        '{{"user": "bob", "\\u0070assword": "{}", "port": 1}}',
        "db:\n  password:\n    {}\n  port: 5432\n",
        "db:\n  password: |\n    {}\n",
        "db:\n  password: >-\n    {}\n  port: 5432\n",
    ],
)
def test_a_name_may_be_escaped_and_its_value_stand_on_the_next_line(text: str) -> None:
    secret = "vq7Rm2xTz9Kd"
    redacted = clean(text.format(secret))
    assert secret not in redacted and redacted.startswith(text.partition("{}")[0].replace("{{", "{"))


NAMED_MARKS = (
    "Find files which begin with -----BEGIN PRIVATE KEY----- and tell their names only. Never delete a file. "
    "Don't touch vault/. Stop at -----END PRIVATE KEY----- and go on."
)


@pytest.mark.parametrize(
    "text",
    [
        NAMED_MARKS,
        NAMED_MARKS.replace(". ", ".\n\n"),
        NAMED_MARKS.replace(" and tell", "\n9f86d081884c7d659a2feaa0c55ad015a3bf4f1b\nand tell"),
        "-----BEGIN PRIVATE KEY-----\nsrc/payments/migrations/checkout\n-----END PRIVATE KEY-----",
        "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0...\n-----END PRIVATE KEY-----",
        "grep -e '-----BEGIN RSA PRIVATE KEY-----' .\nNever deploy.\ngrep -e '-----END RSA PRIVATE KEY-----' .",
    ],
)
def test_a_text_that_names_the_marks_of_a_key_holds_none(text: str) -> None:
    assert clean(text) == text


PEM = planting.pem(planting.Random(3), lines=3)
HEADED = PEM.replace("KEY-----\n", "KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0A1B2C\n\n", 1)
SHAPES = {
    "plain": PEM,
    "one line": PEM.replace("\n", " "),
    "without breaks": PEM.replace("\n", ""),
    "escaped": PEM.replace("\n", "\\n"),
    "escaped twice": PEM.replace("\n", "\\\\n"),
    "slashes escaped": json.dumps(PEM).replace("/", "\\/"),
    "other system": PEM.replace("\n", "\r\n"),
    "indented": PEM.replace("\n", "\n      "),
    "numbered": "\n".join(f"{n:6}\t{line}" for n, line in enumerate(PEM.split("\n"), 9)),
    "numbered with arrows": "\n".join(f"{n:6}→{line}" for n, line in enumerate(PEM.split("\n"), 9)),
    "added": PEM.replace("\n", "\n+"),
    "quoted": PEM.replace("\n", "\n> "),
    "code": "'" + PEM.replace("\n", "\\n' +\n  '") + "'",
    "list": '"' + PEM.replace("\n", '",\n  "') + '"',
    "searched": PEM.replace("\n", "\ncerts/a.pem-12-"),
    "printed by a service": PEM.replace("\n", "\nweb_1  | "),
    "with headers": HEADED,
    "with headers, numbered": "\n".join(f"{n}\t{line}" for n, line in enumerate(HEADED.split("\n"))),
    "with headers, escaped": HEADED.replace("\n", "\\n"),
    "with a checksum": PEM.replace("\n-----END", "\n=nJ4N\n-----END").replace("RSA ", "PGP "),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_a_key_is_found_however_it_was_printed_and_nothing_else_goes(shape: str) -> None:
    text = clean(f"Here it is:\n{SHAPES[shape]}\nNever deploy it.")
    lines = [line for line in PEM.split("\n") if len(line) > 32]
    assert not any(line[:12] in text or line[-12:] in text for line in lines), text
    assert text.startswith("Here it is:\n") and text.endswith("\nNever deploy it.") and "-----END" not in text
    cut = clean(SHAPES[shape].partition("-----END")[0])
    assert not any(line in cut for line in lines if not line.endswith("=")), cut


def test_json_stays_json() -> None:
    for number, item in enumerate(ITEMS):
        line = json.dumps({"content": item.text, "inner": json.dumps({"n": number, "text": item.text})})
        assert set(json.loads(json.loads(clean(line))["inner"])) == {"n", "text"}


# Placeholders


def test_a_secret_has_one_placeholder_in_all_disguises() -> None:
    item = planting.Planted("github token", TOKEN, f"use this: {TOKEN}")
    texts = [disguise(item, 1).text for disguise in DISGUISES.values()]
    assert len({finding.placeholder for text in texts for finding in redact(text, key=KEY).findings}) == 1


def test_another_key_gives_other_placeholders() -> None:
    one, other = redact(TOKEN, key=KEY), redact(TOKEN, key=OTHER_KEY)
    assert one.text != other.text and one.findings[0].kind == other.findings[0].kind


def test_a_key_that_could_be_guessed_is_refused() -> None:
    with pytest.raises(ValueError, match="16 bytes"):
        redact(TOKEN, key=b"short")


def test_findings_hold_no_secret() -> None:
    for item in ITEMS:
        redacted = redact(item.text, key=KEY)
        told = msgspec.json.encode(redacted.findings).decode() + repr(redacted.findings)
        assert item.secret not in told


def test_findings_say_where_in_the_text_that_was_given() -> None:
    text = "".join(item.text + "\n" for item in ITEMS[:60])
    redacted = redact(text, key=KEY)
    pieces, at = [], 0
    for finding in redacted.findings:
        pieces += [text[at : finding.start], finding.placeholder]
        at = finding.start + finding.length
    assert "".join([*pieces, text[at:]]) == redacted.text


def test_a_list_of_cluster_secrets_is_the_same_after_a_second_look() -> None:
    random = planting.Random(2)
    one = "".join(f"  key-{n}: {planting.some(random, planting.B64, 900)}\n" for n in range(6))
    text = "".join(
        f"---\napiVersion: v1\ndata:\n{one}kind: Secret\nmetadata:\n  name: s{n}\n" for n in range(5)
    )
    assert clean(clean(text)) == clean(text) and len(redact(text, key=KEY).findings) == 30


SOUP = st.lists(
    st.one_of(
        st.sampled_from([item.text for item in ITEMS]),
        st.sampled_from(
            [disguise(item, n).text for n, item in enumerate(ITEMS[:40]) for disguise in DISGUISES.values()]
        ),
        st.sampled_from([text for _, text in identifiers(count=200)]),
        st.sampled_from(
            [
                "password=",
                "token: ",
                "[secret:",
                "[secret:x:abcdef]",
                "\\",
                '"',
                "://a:",
                "@",
                "%41",
                "\\u0041",
                "\n",
            ]
        ),
        st.text(max_size=40),
    ),
    max_size=12,
).map("".join)


@given(SOUP)
def test_redacting_twice_changes_nothing_more(text: str) -> None:
    once = redact(text, key=KEY)
    twice = redact(once.text, key=OTHER_KEY)
    assert twice.text == once.text and twice.findings == () == scan(once.text)


@given(SOUP)
def test_the_same_text_gives_the_same_result(text: str) -> None:
    assert redact(text, key=KEY) == redact(text, key=KEY)
    looked = [(finding.start, finding.length, finding.kind) for finding in scan(text)]
    assert looked == [(each.start, each.length, each.kind) for each in redact(text, key=KEY).findings]


@given(st.text(max_size=200).filter(lambda text: not scan(text)))
def test_text_without_secrets_comes_back_as_it_was(text: str) -> None:
    assert redact(text, key=KEY) == Redacted(text=text, findings=(), rules=redact("", key=KEY).rules)


HOSTILE = {
    "base64": "QUJDRA" * 166_000,
    "one letter": "A" * 1_000_000,
    "names": "password=" * 20_000,
    "half tokens": "-eyJ" * 50_000,
    "percent signs": "%41" * 60_000,
    "escapes": "\\u0041" * 30_000,
    "addresses": "://a:b" * 30_000,
    "keys": "-----BEGIN RSA PRIVATE KEY-----" * 6_000,
    "dashes": "-" * 200_000,
    "commands": "curl -u a " * 20_000,
    "half placeholders": "[secret:" * 25_000,
    "many secrets": "".join(f"password={n}aB{n * 7}!\n" for n in range(4_000)),
    "nothing visible": "\0\x01\x02\ud800" * 50_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_no_text_takes_long(name: str) -> None:
    started = time.process_time()
    scan(HOSTILE[name])
    assert time.process_time() - started < 5


# What a person allows


@pytest.mark.parametrize("allowed", [TOKEN, "ghp_x8*", "ghp_????*", "/ghp_[A-Za-z0-9]+/"])
def test_what_is_allowed_stays(allowed: str) -> None:
    text = f"token={TOKEN}\npassword={PASSWORD}1!\n"
    assert TOKEN in clean(text, (allowed,)) and PASSWORD not in clean(text, (allowed,))


@pytest.mark.parametrize("allowed", ["ghp_", TOKEN[:-1], "/ghp/", "*xx"])
def test_a_part_of_it_allows_nothing(allowed: str) -> None:
    assert TOKEN not in clean(TOKEN, (allowed,))


def test_what_is_no_regular_expression_is_refused() -> None:
    with pytest.raises(BadInput, match=r"'/\(/' is not a regular expression"):
        clean("x", ("/(/",))


MADE_UP = st.text("xyz", min_size=3, max_size=6).map(lambda end: f"Tr0ub4dor-{end}")


@given(
    st.lists(MADE_UP | st.text("xyz ", max_size=6), max_size=12).map(" ".join),
    st.dictionaries(MADE_UP, st.just("password"), max_size=40),
)
def test_no_known_secret_stays_however_many_there_are(text: str, known: dict[str, str]) -> None:
    clean, placeholders = Known(known, KEY).out_of(text)
    assert not known.keys() & set(clean.split())
    if not any(secret in text for secret in known):
        assert clean == text
    assert bool(placeholders) == (clean != text) and all(one in clean for one in placeholders)


def test_of_a_known_secret_no_rest_stays_where_another_is_its_beginning() -> None:
    known = Known({"Xy7abcd1": "password", "Xy7abcd1Zq9w": "token"}, KEY)
    clean, placeholders = known.out_of("use Xy7abcd1Zq9w now")
    assert clean == f"use {placeholders.pop()} now" and "[secret:token:" in clean


def test_what_is_allowed_stays_though_it_is_known() -> None:
    known = Known({PASSWORD: "password"}, KEY, ["Tr0ub4dor*"])
    assert known.out_of(f"say {PASSWORD}") == (f"say {PASSWORD}", set())


@pytest.mark.parametrize(
    "secret",
    [
        "blue-horse-staple-lamp",
        "84739201",
        "correct horse battery staple",
        "Frühling-Regen",
        "winterfell_prod",
    ],
)
def test_several_words_or_digits_alone_are_known_wherever_they_stand(secret: str) -> None:
    clean, placeholders = Known({secret: "password"}, KEY).out_of(f"./connect {secret} now")
    assert secret not in clean and len(placeholders) == 1


def test_letters_that_make_no_word_are_known_behind_others() -> None:
    known = Known({"qwrtzplkjhgfdswx": "password"}, KEY)
    assert "qwrtz" not in known.out_of("%20qwrtzplkjhgfdswx")[0]


def test_a_word_that_was_a_password_elsewhere_stays_a_word() -> None:
    text = "Never deploy to production, and don't touch src/postgres/legacy.py."
    assert Known({"production": "password", "postgres": "password"}, KEY).out_of(text) == (text, set())


def test_a_known_secret_is_none_within_a_longer_word() -> None:
    known = Known({"vq7Rm2xTz9Kd": "password"}, KEY)
    assert known.out_of("avq7Rm2xTz9Kd") == ("avq7Rm2xTz9Kd", set())
    assert "vq7Rm2xTz9Kd" not in known.out_of("as vq7Rm2xTz9Kd.")[0]
    words = Known({"correctHorseBattery": "password"}, KEY)
    assert words.out_of("correctHorseBatteryTest") == ("correctHorseBatteryTest", set())
    assert "Horse" not in words.out_of("-W correctHorseBattery")[0]


def test_an_option_for_another_program_is_no_password() -> None:
    assert not scan("segue run X --pass claude=--permission-mode=acceptEdits")
    assert scan("deploy --pass Tiger7Lily_Mango9")


BASE64 = "Z2hwX3E3WHoyTG1OOXBSdFl2QjRrV2M4SGRGczNKZ1FhMUVvVWk2VA"


@pytest.mark.parametrize(
    "rest", ["==\nnever deploy to production\n", "==\nls\n", "\nnever deploy to production\n"]
)
def test_what_stands_behind_an_encoded_secret_is_no_part_of_it(rest: str) -> None:
    assert clean(f"use this: {BASE64}{rest}").endswith("]" + rest.lstrip("="))


SEQUENCES = (
    "\x1b[32m",
    "\x1b[2K",
    "\x1b(B",
    "\\033[1;32m",
    "\\x1b[32m",
    "\\u001b[32m",
    "\\e[0m",
    "^[[32m",
    "\\x00",
    "=3D",
)


@pytest.mark.parametrize("sequence", SEQUENCES)
def test_a_secret_is_found_behind_what_colours_it(sequence: str) -> None:
    assert TOKEN not in clean(f"key {sequence}{TOKEN}\x1b[0m")


@pytest.mark.parametrize(
    "text",
    [
        "JWT_SECRET={}",
        "export SESSION_SECRET={}",
        "Das Passwort ist {}",
        "Le mot_de_passe est {}",
        "La contraseña es {}",
    ],
)
def test_a_short_secret_is_found_behind_a_plain_name(text: str) -> None:
    assert "Vk7#mQz29pLw" not in clean(text.format("Vk7#mQz29pLw"))


def test_a_password_may_begin_as_mail_spells_a_sign() -> None:
    assert "xK9vQ2mL8" not in clean("DB_PASSWORD=3DxK9vQ2mL8")
