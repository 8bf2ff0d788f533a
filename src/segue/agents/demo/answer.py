"""The program of the demo agent: answers from its message, and from nothing else.

    python -I answer.py TRANSCRIPT < message > answer

It runs apart from Segue (isolated, standard library only) and opens no file but its own transcript, so it
knows only what arrived. Questions are numbered lines at the end of a message, under "# Check"; each is
answered with the lines of the section that it is about.
"""

import json
import re
import sys
import time
from pathlib import Path

SECTIONS = {
    "forbidden": ("What the user insists on, word for word", "What the person insists on, word for word"),
    "tests fail": ("Failing tests", "Tests failing"),
    "errors are": ("Open errors", "Errors still open"),
    "do next": ("Next step",),
    "tasks are": ("Open tasks",),
    "question of the agent": ("Waiting for the user's answer", "Waiting for the person's answer"),
    "files were": ("Files, in their current state", "Files, as they now stand"),
    "command failed": ("Failed attempts", "Tried, and failed"),
    "commit": ("Current state", "How things stand"),
    "branch": ("Current state", "How things stand"),
}
"""The section that answers a question with these words, by every title that it has had."""


def sections_of(message: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    title = ""
    for line in message.split("\n"):
        if line.startswith("## "):
            title = line[3:]
        elif line.startswith("<<<data ") or line.endswith(" data>>>"):
            title = ""
        elif title and line.startswith("- "):
            found.setdefault(title, []).append(line[2:])
        elif title in found and line.startswith("  "):
            found[title][-1] += "\n" + line[2:]
    return found


def answers(sections: dict[str, list[str]], question: str) -> list[str]:
    words = next((words for words in SECTIONS if words in question), "")
    lines = next((sections[title] for title in SECTIONS.get(words, ()) if title in sections), [])
    match words:
        case "files were":
            return [
                line.partition(": ")[0]
                for line in lines
                if not line.startswith(("Read:", "Listed,", "Names in use:"))
            ]
        case "command failed":
            return re.findall(r"^`(.*)`", lines[-1])[:1] if lines else []
        case "commit" | "branch":
            label = "Commits: " if words == "commit" else "Branch: "
            told = [line.removeprefix(label) for line in lines if line.startswith(label)]
            return [part.split()[0] for line in told[-1:] for part in line.split("; ")[-1:]]
        case "do next" | "question of the agent":
            return lines[-1:]
    return [re.sub(r"^\[\d+\] ", "", line) for line in lines]


def reply_to(message: str) -> str:
    told, is_asked, asked = message.partition("\n# Check ")
    if not is_asked:
        return "I have the handoff, and continue with the next step."
    sections = sections_of(told)
    numbered = re.findall(r"^(\d+)\. (.+)$", asked, re.MULTILINE)
    return json.dumps({"answers": {number: answers(sections, question) for number, question in numbered}})


def main(transcript: Path) -> None:
    message = sys.stdin.read()
    reply = reply_to(message)
    at = time.strftime("%Y-%m-%dT%H:%M:%S.000000Z", time.gmtime())
    entries = [
        {"id": "1", "kind": "prompt", "origin": "human", "text": message, "at": at},
        {"id": "2", "parent": "1", "kind": "reply", "origin": "assistant", "text": reply, "at": at},
    ]
    transcript.write_text("".join(json.dumps(entry) + "\n" for entry in entries), encoding="utf-8")
    sys.stdout.write(reply)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
