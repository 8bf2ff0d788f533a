"""Transcripts to index: refresh, provenance, token counts, and transcripts tracked between commands."""
