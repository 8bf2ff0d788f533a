"""Verification of an agent's claims and changes, and the return of the work."""
