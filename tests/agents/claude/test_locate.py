"""Where Claude Code's transcripts are found, and how they are told from others'."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from segue.agents.claude import reader as claude
from tests.agents.claude.test_reader import DATA, OTHER, SESSION, user


def test_every_transcript_is_found_by_looking_at_folders(tmp_path: Path) -> None:
    project = tmp_path / ".claude" / "projects" / "-home-ada-ferry"
    below = project / SESSION / "subagents" / "workflows" / "wf_1"
    below.mkdir(parents=True)
    (tmp_path / ".config" / "claude" / "projects" / "-x").mkdir(parents=True)
    wanted = [
        tmp_path / ".config" / "claude" / "projects" / "-x" / f"{OTHER}.jsonl",
        project / SESSION / "subagents" / "agent-b7.jsonl",
        below / "agent-c8.jsonl",
        project / f"{SESSION}.jsonl",
        project / "agent-a6.jsonl",
    ]
    unwanted = [below / "journal.jsonl", below / "agent-c8.meta.json", project / "notes.md"]
    for path in (*wanted, *unwanted):
        path.write_text("{}\n")
    os.mkfifo(project / "pipe.jsonl")
    (project / "folder.jsonl").mkdir()
    (project / "gone.jsonl").symlink_to(tmp_path / "nowhere")
    (project / "loop").symlink_to(project)
    Path(os.fsdecode(os.fsencode(project) + b"/\xff.jsonl")).write_text("{}\n")
    found = list(claude.find({"HOME": str(tmp_path)}, []))
    assert sorted(item.path for item in found) == sorted(map(str, wanted))
    assert all(item.size == 3 and item.stamp > 0 and item.agent == "claude" for item in found)


def test_named_folders_are_looked_at_instead(tmp_path: Path) -> None:
    for name in ("one", "two", ".claude"):
        folder = tmp_path / name / "projects" / "-x"
        folder.mkdir(parents=True)
        (folder / f"{SESSION}.jsonl").write_text("{}\n")
    env = {
        "HOME": str(tmp_path),
        "CLAUDE_CONFIG_DIR": f"{tmp_path}/one, ~/two,{tmp_path}/one/,{tmp_path}/none",
    }
    assert [Path(item.path).parts[-4] for item in claude.find(env, [])] == ["one", "two"]
    assert list(claude.find({}, [])) == []


def test_its_files_are_recognised_and_others_are_not() -> None:
    for path in DATA.glob("*.jsonl"):
        assert claude.recognise(path.read_bytes()[:4096])
    long = msgspec.json.encode(user("x" * 9000))
    assert claude.recognise(long[:4096])
    for other in (
        b"",
        b"\n\n",
        b"# aider chat started at 2026-03-02",
        b'{"timestamp":"2026-03-02T09:00:00Z","type":"session_meta","payload":{"id":"x"}}\n',
        b'{"uuid":"a","parentUuid":null,"sessionId":"s","type":"user","message":{"role":"user","parts":[]}}\n',
        b'{"type":"session","version":3,"id":"x","cwd":"/"}\n',
        b'{"type":"session.start","data":{"sessionId":"x"},"id":"1","parentId":null}\n',
        b'{"type":"system","subtype":"init","session_id":"x","qwen_code_version":"0.15"}\n',
        b'{"sessionId":"x","projectHash":"y","messages":[]}',
        b'{"id": "e1", "kind": "prompt", "origin": "human", "text": "go"}\n',
        b"[1, 2]\n",
        b"\xff\xfe\x00",
    ):
        assert not claude.recognise(other)
