"""Sessions and transcripts: discovery, listing, reading and search."""
