"""Prohibitions: how many broken ones are found, and how many that were obeyed are reported (docs/verification.md).

    ./dev bench prohibitions [--show]

Takes sixty cases of prohibitions from real transcripts (_prohibitions_said.py), breaks half of them and obeys the others. The
bars: at least 95 % of what is reported was broken, and at least 80 % of what was broken is reported.
"""

from __future__ import annotations

import argparse
import sys

from bench._prohibitions_said import BROKEN, OBEYED
from segue.assertions.evidence import Record, Run, Touched
from segue.prohibitions import parse, violations
from segue.prohibitions.violations import Since

PRECISION_BAR, RECALL_BAR = 0.95, 0.80
AT_HANDOFF = (
    *(f"cmd/cli/strategy/manual_commit_{name}.go" for name in ("rewind", "rewind_test", "session")),
    *("collab/state.json", "collab/context.md", "wiki/raw/notes.md", "wiki/raw.md", "test.txt", "CLAUDE.md"),
    *("STRATEGY.md", "state/session-db.json", ".beads/dolt/config.yaml", ".beads/embeddeddolt/a.db"),
    *("src/totals.go", "package.json", "runs/a.json"),
)
MANIFEST = b'{"dependencies": {"react": "19.0.0"}, "version": "1"}'


def reported(sentence: str, deed: str) -> str:
    """The report on one deed after one prohibition; empty where nothing is reported."""
    how, _, what = deed.partition(" ")
    changed, manifests, runs = {}, {}, []
    if how == "$":
        runs.append(Run(n=2, command=what, purpose="", is_done=True, output=""))
    elif how == "+":
        changed = {"package.json": "M"}
        added = MANIFEST.replace(b'"react"', b'"%s": "1.0.0", "react"' % what.encode())
        manifests = {"package.json": (MANIFEST, added)}
    else:
        changed = {what: how}
        if what == "package.json":
            manifests = {what: (MANIFEST, MANIFEST.replace(b'"1"', b'"2"'))}
    touched = [Touched(n=2, path=f"/work/{path}", is_deleted=how == "D") for path in changed]
    record = Record(runs=tuple(runs), touched=tuple(touched))
    since = Since(names=AT_HANDOFF, changed=changed, manifests=manifests, roots=("/work",))
    told = parse.in_messages(["The invoices are a cent off.", sentence])
    return "; ".join(map(violations.in_words, violations.find(told, since, record, "The agent")))


def main() -> int:
    parser = argparse.ArgumentParser(prog="./dev bench prohibitions")
    parser.add_argument("--show", action="store_true", help="each prohibition that was judged wrongly")
    options = parser.parse_args()
    missed = [row for row in BROKEN if not reported(*row)]
    accused = [row for row in OBEYED if reported(*row)]
    right = len(BROKEN) - len(missed)
    precision, recall = right / max(1, right + len(accused)), right / len(BROKEN)
    print(f"broken {len(BROKEN)}, obeyed {len(OBEYED)}: {right} reported, {len(accused)} accused wrongly")
    print(f"precision {precision:.3f} (bar {PRECISION_BAR}), recall {recall:.3f} (bar {RECALL_BAR})")
    if options.show:
        for label, rows in (("missed", missed), ("accused", accused)):
            for sentence, deed in rows:
                print(f"{label}: {sentence} / {deed}")
    return int(precision < PRECISION_BAR or recall < RECALL_BAR)


if __name__ == "__main__":
    sys.exit(main())
