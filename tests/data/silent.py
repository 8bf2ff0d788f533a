"""A target that takes everything and knows nothing: for the tests of what is proved."""

import json
import sys
from pathlib import Path

entries = [
    {"id": "1", "kind": "prompt", "origin": "human", "text": sys.stdin.read()},
    {"id": "2", "parent": "1", "kind": "reply", "origin": "assistant", "text": '{"answers": {}}'},
]
Path(sys.argv[1] + ".demo.jsonl").write_text("".join(json.dumps(entry) + "\n" for entry in entries))
