"""Answers to requests that are not for a model: lists of models, and checks that the server is there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

_OPENAI_MODELS = {
    "object": "list",
    "data": [{"id": "scripted", "object": "model", "created": 0, "owned_by": "tests"}],
    "models": [],
    "has_more": False,
}
_GEMINI_MODELS = {
    "models": [
        {
            "name": "models/gemini-2.5-pro",
            "supportedGenerationMethods": ["generateContent", "countTokens"],
        }
    ]
}
_ANSWERS: Mapping[tuple[str, str], Mapping[str, Any]] = {
    ("GET", "/"): {},
    ("HEAD", "/"): {},
    ("GET", "/v1/models"): _OPENAI_MODELS,
    ("GET", "/v1beta/models"): _GEMINI_MODELS,
}


def answer_aside(method: str, path: str) -> Mapping[str, Any] | None:
    """The answer, or None when nobody foresaw such a request."""
    return _ANSWERS.get((method, urlsplit(path).path))
