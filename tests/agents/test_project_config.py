"""Belongings: what each agent loads and has in a folder, what of it travels to another, and that nothing else does.

What is asserted here of the agents was seen with the real programs, whose requests show what they had loaded.
"""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from segue.agents.shared.settings import project_config
from segue.agents.shared.settings.project_config import Belongings

FOUR = ["claude", "codex", "gemini", "opencode"]
SECRET = "sk-very-secret-value"


class World:
    """A home, and a repository with a folder in it that agents are started in."""

    def __init__(self, root: Path) -> None:
        self.home = root / "home"
        self.above = root / "above"
        self.repo = self.above / "repo"
        self.sub = self.repo / "sub"
        (self.repo / ".git").mkdir(parents=True)
        self.sub.mkdir()
        self.home.mkdir()
        self.env = {"HOME": str(self.home)}

    def put(self, *names: str, text: str = "") -> None:
        for name in names:
            path = (self.home if name.startswith("~/") else self.above) / name.removeprefix("~/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text or f"What {name} says\n")

    def of(self, agent: str, folder: Path | None = None) -> Belongings:
        return project_config.of(agent, self.env, folder or self.sub)

    def loaded(self, agent: str, folder: Path | None = None) -> list[str]:
        return [self.name(path) for path in self.of(agent, folder).instructions]

    def name(self, path: Path) -> str:
        if path.is_relative_to(self.home):
            return f"~/{path.relative_to(self.home)}"
        return str(path.relative_to(self.above))

    def travelling(self, source: str, target: str) -> tuple[list[str], list[str]]:
        files, lost = project_config.travelling(source, target, self.env, self.repo)
        return [self.name(path) for path in files], list(lost)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


# What each agent loads


def test_one_loads_its_files_from_every_folder_above(world: World) -> None:
    marks = ("CLAUDE.md", ".claude/CLAUDE.md", ".claude/rules/a.md", "CLAUDE.local.md", "AGENTS.md")
    world.put(*(f"{folder}{mark}" for folder in ("", "repo/", "repo/sub/") for mark in marks))
    world.put("~/.claude/CLAUDE.md", "~/.claude/rules/u.md", "~/CLAUDE.md", "repo/sub/below/CLAUDE.md")
    world.put("repo/.claude/rules/some.md", text="---\npaths: src/**\n---\nOnly there\n")
    assert world.loaded("claude") == [
        "~/.claude/CLAUDE.md",
        "~/.claude/rules/u.md",
        *(f"{folder}{mark}" for folder in ("", "repo/", "repo/sub/") for mark in marks[:-1]),
    ]


@pytest.mark.parametrize("mark", ["CLAUDE.md", "repo/.claude/CLAUDE.md", "repo/sub/CLAUDE.local.md"])
def test_the_common_file_counts_only_where_no_folder_has_its_own(world: World, mark: str) -> None:
    world.put("AGENTS.md", "repo/AGENTS.md", "~/.claude/CLAUDE.md", "repo/.claude/rules/r.md")
    assert world.loaded("claude") == [
        "~/.claude/CLAUDE.md",
        "repo/.claude/rules/r.md",
        "AGENTS.md",
        "repo/AGENTS.md",
    ]
    world.put(mark)
    assert not any("AGENTS" in name for name in world.loaded("claude"))


def test_a_home_above_the_project_counts_once(tmp_path: Path) -> None:
    project = tmp_path / "work"
    (project / ".git").mkdir(parents=True)
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude" / "CLAUDE.md").write_text("mine")
    (project / "AGENTS.md").write_text("common")
    found = project_config.of("claude", {"HOME": str(tmp_path)}, project).instructions
    assert found == (tmp_path / ".claude" / "CLAUDE.md", project / "AGENTS.md")


def test_one_loads_a_file_of_each_folder_of_the_repository(world: World) -> None:
    world.put("AGENTS.md", "repo/AGENTS.md", "repo/sub/AGENTS.md", "repo/CLAUDE.md", "~/.codex/AGENTS.md")
    assert world.loaded("codex") == ["~/.codex/AGENTS.md", "repo/AGENTS.md", "repo/sub/AGENTS.md"]
    world.put("repo/AGENTS.override.md", "~/.codex/AGENTS.override.md")
    assert world.loaded("codex") == [
        "~/.codex/AGENTS.override.md",
        "repo/AGENTS.override.md",
        "repo/sub/AGENTS.md",
    ]


def test_settings_may_name_another_file_in_its_place(world: World) -> None:
    world.put("~/.codex/config.toml", text='project_doc_fallback_filenames = ["CLAUDE.md"]\n')
    world.put("repo/CLAUDE.md", "repo/sub/AGENTS.md", "repo/sub/CLAUDE.md")
    assert world.loaded("codex") == ["repo/CLAUDE.md", "repo/sub/AGENTS.md"]


def test_settings_may_name_more_files(world: World) -> None:
    world.put("repo/GEMINI.md", "repo/sub/GEMINI.md", "GEMINI.md", "repo/AGENTS.md", "~/.gemini/GEMINI.md")
    assert world.loaded("gemini") == ["~/.gemini/GEMINI.md", "repo/GEMINI.md", "repo/sub/GEMINI.md"]
    settings = '{"context": {"fileName": ["AGENTS.md", "NOTES.md"]}, /* a comment */ }'
    world.put("repo/sub/.gemini/settings.json", text=settings)
    assert set(world.loaded("gemini")) == {
        "~/.gemini/GEMINI.md",
        "repo/GEMINI.md",
        "repo/sub/GEMINI.md",
        "repo/AGENTS.md",
    }


def test_one_takes_anothers_file_where_there_is_no_common_one(world: World) -> None:
    world.put("CLAUDE.md", "repo/CLAUDE.md", "repo/sub/CLAUDE.md", "~/.claude/CLAUDE.md")
    assert world.loaded("opencode") == ["~/.claude/CLAUDE.md", "repo/sub/CLAUDE.md", "repo/CLAUDE.md"]
    world.put("repo/AGENTS.md", "~/.config/opencode/AGENTS.md")
    assert world.loaded("opencode") == ["~/.config/opencode/AGENTS.md", "repo/AGENTS.md"]


def test_settings_may_name_files_by_patterns(world: World) -> None:
    world.put("repo/docs/a.md", "repo/docs/b.md", "repo/docs/c.txt", "~/mine.md")
    world.put(
        "repo/opencode.jsonc", text='{"instructions": ["docs/*.md", "https://example.org/x.md"], // more\n}'
    )
    world.put("~/.config/opencode/opencode.json", text='{"instructions": ["~/mine.md"]}')
    assert world.loaded("opencode") == ["~/mine.md", "repo/docs/a.md", "repo/docs/b.md"]


def test_outside_of_a_repository_only_the_folder_itself_counts_unless_the_agent_goes_further(
    tmp_path: Path,
) -> None:
    world = World(tmp_path)
    plain = world.above / "plain" / "sub"
    plain.mkdir(parents=True)
    for name in ("AGENTS.md", "GEMINI.md"):
        world.put(name, f"plain/{name}", f"plain/sub/{name}")
    assert world.loaded("codex", plain) == ["plain/sub/AGENTS.md"]
    assert world.loaded("gemini", plain) == ["plain/sub/GEMINI.md"]
    assert world.loaded("opencode", plain) == ["plain/sub/AGENTS.md", "plain/AGENTS.md", "AGENTS.md"]


def test_imports_are_loaded_with_the_file_that_names_them(world: World) -> None:
    text = "See @docs/a.md, and @docs/b.md.\n`@code.md`\n```sh\n@fenced.md\n```\nmail@x.md @missing.md\n"
    world.put("repo/CLAUDE.md", "repo/GEMINI.md", text=text)
    world.put("repo/docs/a.md", text="@deep.md @a.md @../CLAUDE.md")
    world.put("repo/docs/b.md", "repo/docs/deep.md", "repo/code.md", "repo/fenced.md", "repo/x.md")
    expected = ["repo/docs/a.md", "repo/docs/b.md", "repo/docs/deep.md"]
    assert world.loaded("claude", world.repo) == ["repo/CLAUDE.md", *expected]
    assert world.loaded("gemini", world.repo) == [
        "repo/GEMINI.md",
        expected[0],
        expected[1],
        expected[2],
        "repo/CLAUDE.md",
    ]


# What else it has


def test_names_are_told_and_values_never(world: World) -> None:
    server = {"command": "npx", "env": {"TOKEN": SECRET}, "url": f"https://{SECRET}@example.org"}
    servers = {"mcpServers": {"github": server, "linear": server}}
    world.put(
        "~/.claude.json",
        text=json.dumps({**servers, "projects": {str(world.repo): {"mcpServers": {"own": server}}}}),
    )
    world.put("repo/.mcp.json", text=json.dumps({"mcpServers": {"shared": server}}))
    world.put(
        "~/.codex/config.toml", text=f'[mcp_servers.linear]\ncommand = "x"\nenv = {{ TOKEN = "{SECRET}" }}\n'
    )
    world.put("~/.gemini/settings.json", text=json.dumps({**servers, "mcp": {"excluded": ["linear"]}}))
    world.put(
        "~/.gemini/extensions/more/gemini-extension.json",
        text=json.dumps({"mcpServers": {"from-extension": server}}),
    )
    off = {"enabled": False}
    world.put("repo/opencode.json", text=json.dumps({"mcp": {"github": server, "old": off}}))
    assert world.of("claude").servers == ("github", "linear", "own", "shared")
    assert world.of("codex").servers == ("linear",)
    assert world.of("gemini").servers == ("github", "from-extension")
    assert world.of("opencode").servers == ("github",)
    assert SECRET not in repr([world.of(agent) for agent in FOUR])


def test_skills_commands_and_agents_are_told_by_name(world: World) -> None:
    for place in (".claude", ".codex", ".agents", ".gemini", ".opencode"):
        name = place.removeprefix(".")
        world.put(f"repo/{place}/skills/{name}-skill/SKILL.md", f"~/{place}/skills/my-{name}/SKILL.md")
        world.put(f"repo/{place}/commands/git/{name}.md", f"repo/{place}/commands/{name}.toml")
        world.put(f"repo/{place}/agents/{name}.md", f"repo/{place}/skills/no-skill/README.md")
    world.put("~/.codex/prompts/review.md")
    found = {agent: world.of(agent, world.repo) for agent in FOUR}
    assert {agent: set(one.skills) for agent, one in found.items()} == {
        "claude": {"my-claude", "claude-skill"},
        "codex": {"my-codex", "my-agents", "codex-skill", "agents-skill"},
        "gemini": {"my-gemini", "my-agents", "gemini-skill", "agents-skill"},
        "opencode": {
            *("my-opencode", "opencode-skill", "my-claude", "claude-skill", "my-agents", "agents-skill"),
        },
    }
    assert {agent: one.commands for agent, one in found.items()} == {
        "claude": ("git:claude",),
        "codex": ("review",),
        "gemini": ("gemini",),
        "opencode": ("git:opencode",),
    }
    assert {agent: one.agents for agent, one in found.items()} == {
        "claude": ("claude",),
        "codex": (),
        "gemini": ("gemini",),
        "opencode": ("opencode",),
    }


def test_permissions_are_told_in_a_few_words(world: World) -> None:
    rules = {"permissions": {"defaultMode": "plan", "allow": [SECRET, "b"], "deny": ["c"]}}
    world.put("~/.claude/settings.json", text=json.dumps(rules))
    world.put("repo/.claude/settings.local.json", text='{"permissions": {"defaultMode": "acceptEdits"}}')
    world.put("~/.codex/config.toml", text='sandbox_mode = "danger-full-access"\napproval_policy = "never"\n')
    world.put(
        "~/.gemini/settings.json",
        text='{"general": {"defaultApprovalMode": "auto_edit"}, "tools": {"sandbox": true}}',
    )
    world.put("repo/opencode.json", text='{"permission": {"edit": "allow", "bash": {"rm *": "deny"}}}')
    told = {agent: world.of(agent, world.repo).permissions for agent in FOUR}
    assert told == {
        "claude": ("edits accepted by itself", "2 rules that allow calls", "1 rule that denies calls"),
        "codex": ("sandbox: danger-full-access", "approvals: never"),
        "gemini": ("edits accepted by itself", "sandbox"),
        "opencode": ("edit: allow", "bash: by rules"),
    }


def test_settings_of_a_project_count_only_where_it_is_trusted(world: World) -> None:
    world.put("repo/.codex/config.toml", text='sandbox_mode = "danger-full-access"\n[mcp_servers.theirs]\n')
    assert world.of("codex") == Belongings()
    world.put("~/.codex/config.toml", text=f'[projects."{world.repo}"]\ntrust_level = "trusted"\n')
    assert world.of("codex").servers == ("theirs",)


def test_variables_that_move_an_agents_folder_are_followed(world: World, tmp_path: Path) -> None:
    moved = tmp_path / "moved"
    moved.mkdir()
    (moved / "CLAUDE.md").write_text("x")
    (moved / "AGENTS.md").write_text("x")
    (moved / ".claude.json").write_text('{"mcpServers": {"moved": {}}}')
    world.env |= {"CLAUDE_CONFIG_DIR": str(moved), "CODEX_HOME": str(moved)}
    assert world.of("claude").instructions == (moved / "CLAUDE.md",)
    assert world.of("claude").servers == ("moved",)
    assert world.of("codex").instructions == (moved / "AGENTS.md",)


def test_an_agent_that_tells_nothing_has_nothing(world: World) -> None:
    assert world.of("aider") == Belongings()


# What travels


def test_what_the_target_does_not_load_travels(world: World) -> None:
    world.put("repo/CLAUDE.md", "repo/AGENTS.md", "~/.claude/CLAUDE.md")
    assert world.travelling("claude", "codex") == (["~/.claude/CLAUDE.md", "repo/CLAUDE.md"], [])
    assert world.travelling("codex", "claude") == (["repo/AGENTS.md"], [])
    assert world.travelling("claude", "claude") == ([], [])


def test_the_same_words_under_another_name_are_loaded_already(world: World) -> None:
    world.put("repo/CLAUDE.md", text="Be kind.  \r\nAlways.\r\n\r\n")
    world.put("repo/AGENTS.md", text="Be kind.\nAlways.")
    world.put("repo/GEMINI.md", text=" \n")
    assert world.travelling("claude", "codex") == ([], [])
    assert world.travelling("gemini", "codex") == ([], [])
    (world.repo / "CLAUDE.md").unlink()
    (world.repo / "CLAUDE.md").symlink_to("AGENTS.md")
    assert world.travelling("claude", "codex") == ([], [])


def test_what_cannot_travel_is_told_with_what_the_target_has(world: World) -> None:
    world.put("~/.claude.json", text='{"mcpServers": {"github": {}, "linear": {}}}')
    world.put(
        "~/.codex/config.toml",
        text='sandbox_mode = "workspace-write"\n[mcp_servers.linear]\n[mcp_servers.other]\n',
    )
    world.put("repo/.claude/skills/release/SKILL.md", "repo/.claude/commands/fix.md")
    world.put("repo/.claude/settings.json", text='{"permissions": {"defaultMode": "acceptEdits"}}')
    assert world.travelling("claude", "codex") == (
        [],
        [
            "MCP servers: github, linear (Codex has: linear)",
            "skills: release",
            "commands: fix",
            "permissions: edits accepted by itself (Codex has: sandbox: workspace-write)",
        ],
    )


def test_a_file_that_is_too_large_is_said_to_stay_behind(world: World) -> None:
    world.put("repo/CLAUDE.md", text="x" * (project_config.LARGEST + 1))
    assert world.travelling("claude", "codex") == ([], ["instructions: CLAUDE.md is larger than 200 kB"])


@given(
    st.lists(st.text(max_size=8), max_size=20),
    st.lists(st.text(max_size=8), max_size=20),
)
def test_there_is_a_line_exactly_where_the_target_lacks_something(own: list[str], theirs: list[str]) -> None:
    source, target = (Belongings(servers=project_config.names(names)) for names in (own, theirs))
    files, lost = project_config.compared(source, target, "Other")
    assert files == () and bool(lost) == bool(set(source.servers) - set(target.servers))
    assert all(len(line.splitlines()) == 1 for line in lost)


# What must not happen


def test_a_project_cannot_send_along_what_is_not_its_own(world: World) -> None:
    world.put("~/.ssh/id_rsa", text=SECRET)
    key = world.home / ".ssh" / "id_rsa"
    for name in ("CLAUDE.md", "AGENTS.md", "GEMINI.md", "CLAUDE.local.md"):
        (world.repo / name).symlink_to(key)
    (world.repo / ".claude").symlink_to(world.home / ".ssh")
    (world.above / "CLAUDE.md").symlink_to(key)
    naming = f"@~/.ssh/id_rsa @{key} @../../home/.ssh/id_rsa"
    world.put("repo/sub/CLAUDE.md", "repo/sub/GEMINI.md", text=naming)
    world.put(
        "repo/opencode.json",
        text=json.dumps({"instructions": [str(key), "~/.ssh/*", "../../home/.ssh/id_*"]}),
    )
    for agent in FOUR:
        assert not any(SECRET in project_config.content(path) for path in world.of(agent).instructions), agent
    world.put("~/.claude/CLAUDE.md", text="@~/notes.md")
    world.put("~/notes.md")
    assert "~/notes.md" in world.loaded("claude")  # what the person imports is theirs


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[1, 2]", b"\xff\xfe\x00", b'{"mcpServers": [1], "permissions": 3, "mcp": "x", "projects": []}',
     b'{"mcpServers": {"a": 1, "": {}, "b\\n## c": {}}, "context": {"fileName": 3}, "instructions": {}}',
     b'{"a":' * 5000, b'permission = 3\nmcp_servers = "x"\nprojects = 1\n'],
)  # fmt: skip
def test_broken_settings_are_no_error(world: World, content: bytes) -> None:
    for name in (
        *("~/.claude.json", "~/.claude/settings.json", "repo/.mcp.json", "repo/.claude/settings.json"),
        *(
            "~/.codex/config.toml",
            "~/.gemini/settings.json",
            "repo/.gemini/settings.json",
            "repo/opencode.json",
        ),
    ):
        world.put(name)
        path = (world.home if name.startswith("~/") else world.above) / name.removeprefix("~/")
        path.write_bytes(content)
    for agent in FOUR:
        found = world.of(agent, world.repo)
        assert all(name.isprintable() for name in (*found.servers, *found.permissions))


def test_what_is_no_file_is_passed_over(world: World) -> None:
    for name in ("CLAUDE.md", "AGENTS.md", "GEMINI.md", ".mcp.json", "opencode.json"):
        os.mkfifo(world.repo / name)
    (world.repo / ".claude").write_text("no folder")
    (world.repo / ".opencode").symlink_to(".opencode")
    for agent in FOUR:
        assert world.of(agent, world.repo) == Belongings(), agent


@pytest.mark.parametrize(
    "text", ['"\\' * 100_000, '"' + '\\"' * 100_000, "/*" * 100_000, "{" + ",\n" * 90_000]
)
def test_no_settings_file_takes_long(world: World, text: str) -> None:
    world.put("repo/opencode.json", "~/.gemini/settings.json", text=text)
    started = time.process_time()
    world.of("opencode"), world.of("gemini")
    assert time.process_time() - started < 5


@pytest.mark.parametrize("text", ["```x\n" * 40_000, "@" * 190_000, "`" * 190_000, "@a " * 60_000])
def test_no_instructions_take_long(world: World, text: str) -> None:
    world.put("repo/CLAUDE.md", text=text)
    started = time.process_time()
    world.of("claude")
    assert time.process_time() - started < 5
