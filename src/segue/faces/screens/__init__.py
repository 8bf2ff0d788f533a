"""Screens that several faces share."""
