"""The ways into Segue: each parses, calls one operation and renders; none thinks or calls another."""
