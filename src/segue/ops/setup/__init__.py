"""Installing Segue's hooks and MCP server into agents' settings, with backups and undo."""
