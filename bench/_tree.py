"""A large tree of Claude Code transcripts for benchmarks, made from the real ones with ids rewritten."""

from __future__ import annotations

import re
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
ARCHIVE = ROOT.parent / "shared" / "data" / "transcripts.tar.zst"
IDS = re.compile(rb'"(id|requestId|message_id)":"(msg_|req_)')


def unpacked(folder: Path) -> Path:
    """The real transcripts, unpacked into a folder."""
    if not ARCHIVE.exists():
        raise SystemExit(
            "bench: this needs the archive of real transcripts, which is not part of the checkout"
        )
    subprocess.run(["tar", "-I", "zstd --long=27", "-xf", ARCHIVE, "-C", folder], check=True)
    return folder / "transcripts"


def build(transcripts: Path, target: Path, size: int) -> int:
    """Fill `target/projects` with about `size` bytes; how many files. No message id occurs in two copies."""
    files = sorted(path for path in transcripts.glob("claude-code/*/*.jsonl") if path.stat().st_size)
    written = made = copy = 0
    while written < size:
        copy += 1
        for path in files:
            if written >= size:
                break
            content = IDS.sub(rb'"\1":"\g<2>%03d' % copy, path.read_bytes())
            folder = target / "projects" / f"-home-ada-{path.parent.name}-{copy}"
            folder.mkdir(parents=True, exist_ok=True)
            (folder / path.name.rpartition("__")[2]).write_bytes(content)
            written += len(content)
            made += 1
    return made


def scratch(prefix: str) -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix=f"segue-bench-{prefix}-")
