"""The program behind the demonstration agent: answers questions from a brief, and from nothing else.

    python -I program.py BRIEF TRANSCRIPT < questions.json > answers.json

A question is {"section": "...", "about": "..."}; the answer is the last line of that section of the
brief that names what it is about, or null. It runs apart from Segue (isolated, standard library only), opens
no file but its brief and its own transcript, and so can only know what arrived.
"""

import json
import sys
from pathlib import Path


def sections_of(brief: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    title = ""
    for line in brief.split("\n"):
        if line.startswith("## "):
            title = line[3:]
        elif line.startswith("- "):
            found.setdefault(title, []).append(line[2:])
        elif line.startswith("  "):
            found[title][-1] += "\n" + line[2:]
    return found


def answer(sections: dict[str, list[str]], question: dict[str, str]) -> str | None:
    lines = sections.get(question["section"], [])
    fitting = [line for line in lines if question.get("about", "") in line]
    return fitting[-1] if fitting else None


def main(brief_path: Path, transcript_path: Path) -> None:
    brief = brief_path.read_text(encoding="utf-8")
    questions = json.load(sys.stdin)
    answers = [answer(sections_of(brief), question) for question in questions]
    entries = [
        {"id": "1", "kind": "prompt", "origin": "system", "text": brief},
        {"id": "2", "parent": "1", "kind": "reply", "origin": "assistant", "text": json.dumps(answers)},
    ]
    lines = "".join(json.dumps(entry) + "\n" for entry in entries)
    transcript_path.write_text(lines, encoding="utf-8")
    json.dump(answers, sys.stdout)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
