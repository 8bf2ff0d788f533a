"""Reading transcript files: lines, records, marks, entry links, limit messages."""
