"""The MCP server: what it tells to whom, what it lists, and that nothing sent to it brings it down."""

from __future__ import annotations

import contextlib
import json
import random
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp.client import Client
from mcp_types import CallToolResult, Implementation, ListRootsResult, Root, TextContent
from pydantic import FileUrl

from segue import agents, errors
from segue.agents.shared.settings.settings_patch import Piece, Reach
from segue.faces import mcp
from segue.faces.mcp import folders, shorten
from segue.ops import agent_access
from tests import FIXTURES
from tests.conftest import CommandLine
from tests.machine import call, furnish
from tests.world import Conversation

READING = {"brief", "handoff", "history", "receipt", "session", "sessions", "status"}
OURS = "claude-code"
"""What the agent calls itself whose work is on the machine."""
MEANWHILE = "0c5e7a10-9a51-4a52-8a3f-3f6f5d1f0a77"
"""The conversation that most calls come from: one that is not on the disk yet."""
INVOICES = "6f0c1a52-3d0e-4b7f-9a55-0d5a9f3f9b10"
"""The conversation that the machine's work in this folder was done in."""
TOKEN = "ghp_" + "x8Kq2Lm5Np7Rs9Tv1Wy3Za4Bc6De8Fg0Hj2K"


@pytest.fixture
def machine(cli: CommandLine) -> CommandLine:
    return furnish(cli)


@pytest.fixture(autouse=True)
def in_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("segue.ops.agent_access.LOOK_SECONDS", 0)


def called_from(cli: CommandLine, id: str) -> dict[str, str]:
    """The environment in which Claude Code starts a server from a conversation."""
    return {**cli.env, "CLAUDE_CODE_SESSION_ID": id}


Use = Callable[[Client], Awaitable[Any]]


def connected(
    cli: CommandLine,
    use: Use,
    *,
    name: str = OURS,
    roots: list[str] | None = None,
    calling: str = MEANWHILE,
) -> Any:
    """Talk to a server in this process, as a client of some name that may have folders open."""

    async def tell_roots(context: Any) -> ListRootsResult:
        return ListRootsResult(roots=[Root(uri=FileUrl(uri)) for uri in roots or ()])

    async def talk() -> Any:
        server = mcp.make(called_from(cli, calling), cli.cwd)
        async with Client(
            server,
            client_info=Implementation(name=name, version="1"),
            list_roots_callback=tell_roots if roots is not None else None,
            mode="legacy",
        ) as client:
            return await use(client)

    return anyio.run(talk)


def called(
    cli: CommandLine,
    tool: str,
    name: str = OURS,
    roots: list[str] | None = None,
    calling: str = MEANWHILE,
    meta: Any = None,
    **given: Any,
) -> Any:
    result = connected(
        cli,
        lambda client: client.call_tool(tool, given, meta=meta),
        name=name,
        roots=roots,
        calling=calling,
    )
    assert isinstance(result, CallToolResult)
    return result


def words(result: CallToolResult) -> str:
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text


# What is listed, and what may be done


async def _names(client: Client) -> set[str]:
    return {tool.name for tool in (await client.list_tools()).tools}


def test_it_lists_what_reads_and_no_more(machine: CommandLine) -> None:
    assert connected(machine, _names) == READING


def test_what_the_person_allows_is_listed_too(machine: CommandLine) -> None:
    machine("config", "set", "mcp.allow", "prepare")
    assert connected(machine, _names) == READING | {"prepare_handoff"}
    machine("config", "set", "mcp.allow", "prepare,offer")
    assert connected(machine, _names) == READING | {"prepare_handoff", "offer_handoff"}


def test_a_project_that_is_not_trusted_allows_nothing(machine: CommandLine) -> None:
    (machine.cwd / ".segue.toml").write_text('[mcp]\nallow = ["prepare", "offer"]\n')
    assert connected(machine, _names) == READING
    assert called(machine, "prepare_handoff", to="codex").is_error


@pytest.mark.parametrize(("tool", "right"), [("prepare_handoff", "prepare"), ("offer_handoff", "offer")])
def test_what_is_not_allowed_is_refused_by_name(machine: CommandLine, tool: str, right: str) -> None:
    result = called(machine, tool, to="codex")
    assert result.is_error
    assert f"segue config set mcp.allow {right}" in words(result)
    assert json.loads(machine("handoff", "list", "--json").out) == []


def test_tools_that_read_say_so(machine: CommandLine) -> None:
    machine("config", "set", "mcp.allow", "prepare,offer")

    async def hints(client: Client) -> dict[str, bool]:
        listed = (await client.list_tools()).tools
        return {tool.name: bool(tool.annotations and tool.annotations.read_only_hint) for tool in listed}

    found = connected(machine, hints)
    assert {name for name, reads in found.items() if reads} == READING


# What is told


def test_the_result_is_what_the_command_line_prints(machine: CommandLine) -> None:
    result = called(machine, "sessions")
    told = result.structured_content["sessions"]
    printed = json.loads(machine("session", "list", "--json").out.replace("/ada/", f"{machine.folder}/"))
    assert [one["session"]["id"] for one in told] == [one["session"]["id"] for one in printed]
    assert told[0]["session"]["title"] == printed[0]["session"]["title"]
    assert told[0]["session"]["id"] in words(result)


def test_an_agent_is_told_of_its_own_work(machine: CommandLine) -> None:
    assert "a cent off" in words(called(machine, "status"))
    assert "a cent off" in words(called(machine, "brief"))


@pytest.mark.parametrize("name", ["codex-mcp-client", "somebody", "", "none", "local", "anthropic"])
def test_anybody_else_is_told_figures_and_no_words(machine: CommandLine, name: str) -> None:
    for tool in ("status", "sessions", "session", "history"):
        result = called(machine, tool, name)
        assert not result.is_error, words(result)
        assert "a cent off" not in words(result) + json.dumps(result.structured_content)
    assert "41%" in words(called(machine, "status", name))
    refused = called(machine, "brief", name)
    assert refused.is_error and "vendors.allowed" in words(refused)
    assert ("segue to " in words(refused)) is (name == "codex-mcp-client")


def test_a_program_that_no_agent_is_is_told_of_the_setting_that_names_it(machine: CommandLine) -> None:
    refused = words(called(machine, "brief", "my client; rm"))
    assert "Next: segue config set vendors.allowed 'client:my client; rm' allows" in refused


def test_an_argument_that_a_tool_does_not_take_is_refused_by_name(machine: CommandLine) -> None:
    async def schemas(client: Client) -> list[Any]:
        return [tool.input_schema for tool in (await client.list_tools()).tools]

    assert all(schema["additionalProperties"] is False for schema in connected(machine, schemas))
    refused = called(machine, "sessions", project=".", limit=3)
    assert refused.is_error
    assert words(refused) == "Unknown argument of sessions: 'project'. Next: use folder, limit"


def test_what_an_agent_adds_to_every_call_for_itself_is_no_unknown_argument(machine: CommandLine) -> None:
    told = called(machine, "status", "gemini-cli-mcp-client", wait_for_previous=True)
    assert not told.is_error, words(told)


def test_consent_lets_the_words_go(machine: CommandLine) -> None:
    machine("config", "set", "vendors.allowed", "openai")
    assert "a cent off" in words(called(machine, "brief", "codex-mcp-client"))
    assert called(machine, "brief", "gemini-cli-mcp-client").is_error
    machine("config", "set", "vendors.allowed", "client:somebody")
    assert "a cent off" in words(called(machine, "brief", "somebody"))


@pytest.mark.parametrize(
    ("name", "is_ours"),
    [
        ("claude-code", True),
        ("claude-code/2.1.0", True),
        ("claude-code@v2", True),
        ("claude-code 2.1.0-beta.1", True),
        ("claude-code-router", False),
        ("claude-codex", False),
        ("claude-code ", False),
        ("claude-code/evil", False),
        ("Claude-Code", False),
    ],
)
def test_a_name_that_only_begins_like_an_agents_is_another_program(
    machine: CommandLine, name: str, is_ours: bool
) -> None:
    assert ("a cent off" in words(called(machine, "status", name))) is is_ours


def test_whose_words_nobody_knows_any_more_are_told_to_nobody_else(machine: CommandLine) -> None:
    assert machine("handoff", "prepare", "--to", "codex", "--reason", "the boss is canary-furious").code == 0
    for path in (machine.folder / ".claude").rglob("*.jsonl"):
        path.unlink()
    for name in ("gemini-cli-mcp-client", "codex-mcp-client", "somebody"):
        for tool in ("status", "sessions", "session", "history", "handoff", "receipt", "brief"):
            result = called(machine, tool, name)
            told = words(result) + json.dumps(result.structured_content)
            assert "canary-furious" not in told and "a cent off" not in told, (name, tool)
    assert "canary-furious" in words(called(machine, "handoff"))  # it came from there


def test_the_words_of_a_transcript_that_was_another_models_are_not_the_agents_own(cli: CommandLine) -> None:
    talk = Conversation(cli.folder, cli.cwd, "6f0c1a52-3d0e-4b7f-9a55-0d5a9f3f9b10")
    talk.prompt("Keep the canary-plan on this machine.")
    talk.reply("I will.", model="llama3:8b")
    assert called(cli, "brief").is_error
    assert "canary-plan" not in words(called(cli, "status"))
    cli("config", "set", "vendors.allowed", "anthropic")
    assert "canary-plan" in words(called(cli, "brief"))


def test_a_folder_that_points_at_another_project_is_told_nothing_of_it(machine: CommandLine) -> None:
    subprocess.run(["git", "init", "-q", str(machine.cwd)], check=True)
    stranger = machine.folder / "stranger"
    stranger.mkdir()
    (stranger / ".git").write_text(f"gitdir: {machine.cwd}/.git/worktrees/x\n")
    for tool in ("status", "sessions", "session", "brief"):
        result = called(machine, tool, roots=[stranger.as_uri()])
        assert "a cent off" not in words(result) + json.dumps(result.structured_content)


@pytest.mark.parametrize(("tool", "argument"), [("session", "id"), ("brief", "of"), ("handoff", "id")])
def test_little_of_a_long_argument_is_said_back(machine: CommandLine, tool: str, argument: str) -> None:
    for start in ("", "h-", "s-"):
        given: dict[str, Any] = {argument: start + "A" * 300_000}
        result = called(machine, tool, **given)
        assert result.is_error and len(words(result)) < 600
    assert len(words(called(machine, "brief", "B" * 300_000))) < 1000


def test_other_folders_are_not_looked_into(machine: CommandLine) -> None:
    elsewhere = [
        work
        for work in json.loads(machine("session", "list", "--all", "--json").out)
        if work["session"]["project"] != "/ada/project"
    ]
    assert elsewhere
    for work in elsewhere:
        assert called(machine, "session", id=work["session"]["id"]).is_error
        assert called(machine, "brief", of=work["session"]["id"]).is_error
        for transcript in work["transcripts"]:
            assert called(machine, "brief", of=transcript["id"]).is_error
            assert called(
                machine, "brief", of=transcript["path"].replace("/ada", str(machine.folder))
            ).is_error


def test_no_secret_leaves_in_a_title(cli: CommandLine) -> None:
    talk = Conversation(cli.folder, cli.cwd, "6f0c1a52-3d0e-4b7f-9a55-0d5a9f3f9b10")
    talk.prompt(f"Push it with the token {TOKEN} and be quick.")
    talk.reply("I will not.")
    for tool in ("status", "sessions", "session", "brief"):
        result = called(cli, tool)
        told = words(result) + json.dumps(result.structured_content)
        assert "Push it with the token" in told and TOKEN not in told


def test_a_handoff_that_was_prepared_can_be_looked_at(machine: CommandLine) -> None:
    machine("config", "set", "mcp.allow", "prepare")
    result = called(machine, "prepare_handoff", to="codex", reason="my limit is near", preserve="minimal")
    assert not result.is_error, words(result)
    id = result.structured_content["handoff"]["id"]
    assert f"segue handoff execute {id}" in words(result)
    shown = called(machine, "handoff", id=id)
    assert shown.structured_content["handoff"]["reason"].startswith(
        "Claude Code asked for it: my limit is near"
    )
    assert id in words(called(machine, "history"))
    receipt = called(machine, "receipt", handoff=id)
    assert receipt.structured_content["facts"]["passed"] > 0
    # To others it shows that there is one, and not what is in it.
    silent = called(machine, "handoff", "codex-mcp-client", id=id)
    assert "withheld" in words(silent) and "my limit" not in json.dumps(silent.structured_content)
    assert called(machine, "receipt", "codex-mcp-client", handoff=id).is_error


def test_a_model_that_calls_before_its_conversation_is_on_disk_is_waited_for(
    machine: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine("config", "set", "mcp.allow", "prepare")
    written, elsewhere = machine.folder / ".claude", machine.folder / "not yet"
    written.rename(elsewhere)
    naps: list[float] = []

    def nap(seconds: float) -> None:
        naps.append(seconds)
        if len(naps) == 3:
            elsewhere.rename(written)

    monkeypatch.setattr("segue.ops.agent_access.sleep", nap)
    result = called(machine, "prepare_handoff", to="codex", calling=INVOICES)
    assert not result.is_error, words(result)
    assert len(naps) == 3
    # A conversation that never comes is not waited for without end, and one that is there not at all.
    written.rename(elsewhere)
    assert "No agent has worked in this folder yet" in words(called(machine, "prepare_handoff", to="codex"))
    assert len(naps) == 3 + agent_access.LOOKS


def test_a_persons_reason_is_told_only_to_who_may_know_it(machine: CommandLine) -> None:
    assert machine("handoff", "prepare", "--to", "codex", "--reason", "the boss is canary-furious").code == 0
    for tool, field in (
        ("handoff", "handoff"),
        ("history", "handoffs"),
        ("status", "overview"),
        ("session", "session"),
    ):
        ours, theirs = (called(machine, tool, name) for name in (OURS, "gemini-cli-mcp-client"))
        assert "canary-furious" in json.dumps(ours.structured_content[field])
        assert "canary-furious" not in words(theirs) + json.dumps(theirs.structured_content)


def test_an_offer_waits_for_the_other_agent_and_what_was_only_prepared_does_not(machine: CommandLine) -> None:
    machine("config", "set", "mcp.allow", "prepare,offer")
    notes = machine.home / "data" / "waiting"
    called(machine, "prepare_handoff", to="codex")
    assert not list(notes.glob("*.json"))
    offered = called(machine, "offer_handoff", to="codex")
    (note,) = notes.glob("*.json")
    assert offered.structured_content["handoff"]["id"] in note.read_text()
    assert json.loads(note.read_text())["target"] == "codex"


def test_an_agent_that_replaces_a_handoff_of_the_persons_says_so(machine: CommandLine) -> None:
    machine("config", "set", "mcp.allow", "prepare,offer")
    assert machine("handoff", "prepare", "--to", "codex").code == 0
    (own,) = json.loads(machine("handoff", "list", "--json").out)
    note = f"handoff {own['id']} to Codex is cancelled: a new one replaces it."
    prepared = called(machine, "prepare_handoff", to="codex")
    assert f"Tell the person too: {note}" in words(prepared)
    assert prepared.structured_content["notes"] == [f"note: {note}"]
    note = note.replace(own["id"], prepared.structured_content["handoff"]["id"])
    assert f"Tell the person too: {note}" in words(called(machine, "offer_handoff", to="codex"))


# The conversation that calls


def other_conversation(cli: CommandLine) -> Conversation:
    """A conversation of the same agent in this folder, newer than the machine's work."""
    talk = Conversation(cli.folder, cli.cwd, "b1d0cc7e-52a3-4a35-8c1f-f3d0e4c2aa11")
    talk.prompt("Which canary-question did I ask?", minutes=90)
    talk.reply("This one.", minutes=91)
    return talk


@pytest.mark.parametrize("tool", ["status", "brief", "session"])
def test_without_an_id_a_conversation_asks_about_another(machine: CommandLine, tool: str) -> None:
    talk = other_conversation(machine)
    for calling, told in ((talk.id, "a cent off"), (INVOICES, "canary-question"), ("", "a cent off")):
        result = called(machine, tool, calling=calling)
        assert not result.is_error, words(result)
        said = words(result) + json.dumps(result.structured_content)
        assert [text for text in ("a cent off", "canary-question") if text in said] == [told], calling


def test_after_clear_a_call_is_known_by_the_transcript_that_holds_it(machine: CommandLine) -> None:
    talk = other_conversation(machine)
    call(talk, "toolu_now", "mcp__segue__brief", {}, "", 0)
    meta = {"claudecode/toolUseId": "toolu_now"}
    assert "a cent off" in words(called(machine, "brief", calling=INVOICES, meta=meta))
    assert "canary-question" in words(
        called(machine, "brief", calling=INVOICES, meta={"claudecode/toolUseId": ["?"]})
    )


def test_the_only_conversation_of_a_folder_learns_that_there_is_no_other(machine: CommandLine) -> None:
    status = called(machine, "status", calling=INVOICES)
    assert "no conversation other than this one" in words(status)
    assert status.structured_content["overview"]["standing"] is None
    for tool in ("brief", "session"):
        result = called(machine, tool, calling=INVOICES)
        assert result.is_error and "no session other than the calling one" in words(result)
    (work,) = called(machine, "sessions", calling=INVOICES).structured_content["sessions"]
    assert "a cent off" in words(called(machine, "brief", calling=INVOICES, of=work["session"]["id"]))


def test_a_conversation_hands_over_itself_and_not_a_newer_one(machine: CommandLine) -> None:
    talk = other_conversation(machine)
    machine("config", "set", "mcp.allow", "prepare")
    for calling in (INVOICES, talk.id):
        result = called(machine, "prepare_handoff", to="codex", calling=calling)
        assert result.structured_content["handoff"]["transcript"] == calling


def test_a_sub_agent_asks_for_the_conversation_that_started_it(cli: CommandLine) -> None:
    sessions = cli.folder / ".codex" / "sessions"
    sessions.mkdir(parents=True)
    data = FIXTURES / "codex"
    ids = {}
    for name in ("parent", "subagent"):
        text = (data / f"{name}.jsonl").read_text().replace("/home/ada/ledger", str(cli.cwd))
        ids[name] = json.loads(text.partition("\n")[0])["payload"]["id"]
        (sessions / f"rollout-2026-11-16T04-47-01-{ids[name]}.jsonl").write_text(text)
    for thread in (*ids.values(), "", ["no id"]):
        result = called(cli, "brief", "codex-mcp-client", meta={"threadId": thread})
        assert result.is_error and "no session other than the calling one" in words(result), thread
    assert not called(cli, "brief", "codex-mcp-client", meta={"threadId": MEANWHILE}).is_error


# Which folder


def test_a_folder_must_lie_inside_what_is_open(machine: CommandLine) -> None:
    inside = machine.cwd / "sub"
    inside.mkdir()
    (machine.cwd / "way out").symlink_to(machine.folder)
    assert not called(machine, "status", folder="sub").is_error
    assert not called(machine, "status", folder=str(inside)).is_error
    for asked in ("..", "/", "way out", "sub/../..", str(machine.folder), "\0", "no such", "~", "x" * 5000):
        result = called(machine, "status", folder=asked)
        assert result.is_error and "is not a folder inside" in words(result), asked


def test_what_the_client_has_open_counts_and_not_where_the_server_was_started(machine: CommandLine) -> None:
    other = machine.folder / "other wörk"
    other.mkdir()
    result = called(machine, "status", roots=[other.as_uri()])
    assert result.structured_content["overview"]["project"] == str(other)
    assert called(machine, "status", roots=[other.as_uri()], folder=str(machine.cwd)).is_error


@pytest.mark.parametrize(
    "uri",
    ["https://example.org/x", "file://host/tmp", "file:relative", "file:///no/such", "", "file:///%00", "["],
)
def test_a_root_that_is_no_folder_here_is_none(tmp_path: Path, uri: str) -> None:
    assert folders.of_roots([uri], tmp_path) == (tmp_path,)


@given(st.text())
def test_whatever_is_asked_for_is_inside_or_refused(asked: str) -> None:
    root = Path(__file__).parent
    with contextlib.suppress(errors.Refused):
        assert folders.chosen(asked, [root]).resolve().is_relative_to(root.resolve())


# Short enough

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**50), 2**50) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=60,
)
OBJECTS = st.dictionaries(st.text().filter(lambda key: key not in (shorten.LEFT_OUT, *shorten.BULK)), VALUES)


@given(OBJECTS, st.integers(400, 4000))
def test_a_result_is_never_too_large(value: dict[str, Any], largest: int) -> None:
    small = shorten.shorten(value, largest)
    names_only = set(small) == {shorten.LEFT_OUT}
    assert names_only or len(json.dumps(small, ensure_ascii=False, separators=(",", ":")).encode()) <= largest


@given(OBJECTS)
def test_what_is_short_stays_as_it_is(value: dict[str, Any]) -> None:
    small = shorten.shorten(value, 1 << 30)
    texts = iter(list(shorten.texts_of(small)))
    assert shorten.with_texts(small, lambda: next(texts)) == small
    if "contexts" not in json.dumps(value):
        assert small == value


def test_what_was_cut_is_counted() -> None:
    small = shorten.shorten({"facts": [{"text": "word " * 100}] * 1000}, 10_000)
    assert len(small["facts"]) + small[shorten.LEFT_OUT]["facts"] == 1000


# In the agents' settings

REACH = Reach("/data", ("/env/bin/python", "-m", "segue"))
LATER = Reach("/data", ("/new env/bin/segue",))
SERVED = ["claude", "codex", "gemini", "opencode"]
TOML = [
    "",
    "model = 'x'\n",
    "model = 'x'",
    "# mine\r\n[a]\r\nb = 1\r\n",
    "[mcp_servers.other]\ncommand = 'x'\n\n# about b\n[b]\nx = 1\n",
    "note = '''\n[mcp_servers.segue]\n'''\n",
]
JSON = [
    "{}",
    "{}\n",
    '{\n  "a": 1\n}\n',
    '{"mcpServers": {"other": {"command": "x"}}, "mcp": {"o": {"type": "remote"}}}',
]


def server_of(agent: str) -> Piece:
    tool_server = agents.load(agent).tool_server
    assert tool_server
    return tool_server()


@pytest.mark.parametrize("agent", SERVED)
def test_the_entry_is_added_once_and_taken_out_whole(agent: str) -> None:
    piece = server_of(agent)
    for text in TOML if agent == "codex" else JSON:
        added = piece.add(text, REACH)
        assert piece.has(added, REACH) and not piece.has(text, REACH)
        assert piece.add(added, REACH) == added
        moved = piece.add(added, LATER)
        assert piece.has(moved, LATER) and not piece.has(moved, REACH)
        for one in (added, moved):
            assert piece.drop(one, REACH).rstrip() == text.rstrip()
        assert piece.drop(text, REACH) == text


@pytest.mark.parametrize("agent", SERVED)
def test_another_server_of_that_name_is_left_alone(agent: str) -> None:
    piece = server_of(agent)
    table = {"segue": {"command": "theirs", "args": ["serve"]}}
    text = json.dumps({"mcpServers": table, "mcp": table})
    if agent == "codex":
        text = '[mcp_servers.segue]\ncommand = "theirs"\nargs = ["serve"]\n'
    with pytest.raises(ValueError, match="another MCP server"):
        piece.add(text, REACH)
    assert piece.drop(text, REACH) == text


def test_what_codex_adds_to_the_entry_goes_with_it() -> None:
    piece = server_of("codex")
    text = "model = 'x'\n\n[b]\nc = 1\n"
    added = piece.add(text, REACH) + '\n[mcp_servers.segue.tools.status]\napproval_mode = "approve"\n'
    more = "\n# mine\n[d]\ne = 1\n"
    assert piece.drop(added, REACH) == text
    assert piece.drop(added + more, REACH) == text + more


@pytest.mark.parametrize("text", ["mcp_servers = {}\n", "mcp_servers = 3\n", "not toml", "[a\n"])
def test_settings_that_take_no_table_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        server_of("codex").add(text, REACH)


def test_init_registers_it_everywhere_and_undo_leaves_no_trace(machine: CommandLine) -> None:
    own = {
        ".claude.json": '{"numStartups": 3, "mcpServers": {"mine": {"command": "x"}}}',
        ".codex/config.toml": 'model = "x"  # mine\n\n[mcp_servers.mine]\ncommand = "x"',
        ".gemini/settings.json": '{\n    // mine\n    "theme": "dark",\n}\n',
        ".config/opencode/opencode.jsonc": '{"mcp": {/* none */}}\n',
    }
    for name, text in own.items():
        path = machine.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
    done = machine("init", "--mcp", "--yes")
    assert done.code == 0, done.err
    for agent, name in zip(SERVED, own, strict=True):
        piece = server_of(agent)
        assert piece.file(machine.env) == machine.folder / name
        assert piece.drop((machine.folder / name).read_text(), REACH) != (machine.folder / name).read_text()
    assert machine("init", "--undo").code == 0
    assert {name: (machine.folder / name).read_bytes().decode() for name in own} == own


# Without the library


def test_without_the_library_the_command_says_what_to_install(
    cli: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.startswith(("mcp.", "segue.faces.mcp."))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "mcp", None)
    result = cli("mcp")
    assert result.code == errors.ExtraMissing.exit_code
    assert "in Segue's checkout: uv tool install '.[mcp]'" in result.err and result.out == ""


# Whatever is sent

HOW_MANY = 2000
METHODS = (
    "initialize", "ping", "tools/list", "tools/call", "resources/list", "resources/read", "prompts/get",
    "completion/complete", "logging/setLevel", "notifications/initialized", "notifications/cancelled",
    "notifications/roots/list_changed", "sampling/createMessage", "no/such", "", "\0",
)  # fmt: skip
ODD: tuple[Any, ...] = (
    None, True, -1, 0, 1e308, 2**70, "", "x", "\0", "\ud800", "../../etc", "/etc/passwd", "~", "$(id)", "ü" * 300,
    "A" * 100_000, [], {}, [[[[]]]], {"a": {"b": {}}}, "h-", "s-", "b-", "status",
)  # fmt: skip


class Talk:
    """A server as a process of its own, with everything that it prints."""

    def __init__(self, cli: CommandLine) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", "segue", "mcp"],
            cwd=cli.cwd,
            env=called_from(cli, MEANWHILE),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.lines: list[bytes] = []
        self.errors: list[bytes] = []
        self.readers = [
            threading.Thread(target=self._read, args=(self.process.stdout, self.lines), daemon=True),
            threading.Thread(target=self._read, args=(self.process.stderr, self.errors), daemon=True),
        ]
        for reader in self.readers:
            reader.start()

    def _read(self, stream: Any, kept: list[bytes]) -> None:
        for line in stream:
            kept.append(line)

    def send(self, line: bytes) -> None:
        assert self.process.stdin
        self.process.stdin.write(line.replace(b"\n", b" ").replace(b"\r", b" ") + b"\n")
        self.process.stdin.flush()

    def ask(self, id: str, method: str, **params: Any) -> Any:
        """The answer to a request, whatever else comes in between."""
        self.send(json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).encode())
        give_up = threading.Event()
        timer = threading.Timer(120, give_up.set)
        timer.start()
        seen = 0
        try:
            while not give_up.wait(0.02) and self.process.poll() is None:
                for line in self.lines[seen:]:
                    seen += 1
                    told = json.loads(line)
                    if told.get("id") == id:
                        return told
        finally:
            timer.cancel()
        raise AssertionError(f"no answer to {method}: {b''.join(self.errors)[-3000:]!r}")

    def close(self) -> int:
        assert self.process.stdin and self.process.stdout and self.process.stderr
        self.process.stdin.close()
        code = self.process.wait(60)
        for reader in self.readers:
            reader.join(60)
        self.process.stdout.close()
        self.process.stderr.close()
        return code


@pytest.fixture
def talk(machine: CommandLine) -> Iterator[Talk]:
    talk = Talk(machine)
    yield talk
    if talk.process.poll() is None:
        talk.process.kill()
    with contextlib.suppress(OSError, ValueError):
        talk.close()


def hello(talk: Talk) -> Any:
    info = {"name": OURS, "version": "1"}
    told = talk.ask("hello", "initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo=info)
    talk.send(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}')
    return told


def fuzzed(chance: random.Random) -> bytes:
    """A message that is wrong in one of many ways, or right and odd."""
    tools = [*sorted(READING), "prepare_handoff", "offer_handoff", "no such"]
    names = (
        "folder",
        "project",
        "id",
        "of",
        "tier",
        "budget",
        "limit",
        "handoff",
        "to",
        "reason",
        "preserve",
        "x",
    )
    arguments = {chance.choice(names): chance.choice(ODD) for _ in range(chance.randrange(4))}
    message: Any = {"jsonrpc": "2.0", "id": chance.randrange(10**6), "method": chance.choice(METHODS)}
    if chance.random() < 0.5:
        message |= {"method": "tools/call", "params": {"name": chance.choice(tools), "arguments": arguments}}
    elif chance.random() < 0.7:
        message["params"] = chance.choice(
            (*ODD, arguments, {"name": chance.choice(ODD), "_meta": chance.choice(ODD)})
        )
    match chance.randrange(12):
        case 0:
            message = [message, message]
        case 1:
            message.pop(chance.choice(list(message)))
        case 2:
            message[chance.choice(list(message))] = chance.choice(ODD)
        case 3:
            message = chance.choice(ODD)
        case 4:
            message = {"jsonrpc": "2.0", "id": chance.choice(ODD), "result": chance.choice(ODD)}
        case 5:
            return chance.randbytes(chance.randrange(400))
        case 6:
            text = json.dumps(message).encode()
            return text[: chance.randrange(len(text) + 1)]
        case 7:
            return b"[" * chance.randrange(1, 5000)
    return json.dumps(message).encode()


def test_two_thousand_bad_messages_leave_it_answering(talk: Talk) -> None:
    hello(talk)
    chance = random.Random(4711)
    for _ in range(HOW_MANY):
        talk.send(fuzzed(chance))
    told = talk.ask("the last", "tools/call", name="status", arguments={})
    assert "a cent off" in json.dumps(told["result"]), told
    assert {tool["name"] for tool in talk.ask("list", "tools/list")["result"]["tools"]} == READING
    assert talk.close() == 0
    # Nothing but the protocol is on stdout, and nothing of the machine's files in it.
    assert all(json.loads(line)["jsonrpc"] == "2.0" for line in talk.lines)
    assert b"root:x:0" not in b"".join(talk.lines)


def test_what_it_does_costs_the_client_nothing_but_time(machine: CommandLine, talk: Talk) -> None:
    """A server that only read has made no handoff, no session, and no change to a setting."""
    hello(talk)
    before = machine("log").out, machine("config", "list").out
    for tool in sorted(READING):
        talk.ask(tool, "tools/call", name=tool, arguments={})
    assert talk.close() == 0
    assert (machine("log").out, machine("config", "list").out) == before
    assert list(machine.cwd.iterdir()) == []
