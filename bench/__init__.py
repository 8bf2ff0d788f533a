"""Measurements, each run with one command: ./dev bench NAME."""
