"""Helpers without domain terms: time, paths, files, hashes, text, JSON, YAML, and the fence around foreign text."""
