"""Tool calls of any agent, classified as actions: commands, edits, reads, tasks."""
