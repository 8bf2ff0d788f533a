"""An agent's own settings: hooks, MCP servers and reversible edits of its files."""
