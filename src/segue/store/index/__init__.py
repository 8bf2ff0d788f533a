"""The index of transcripts: a disposable SQLite file that can be rebuilt."""
