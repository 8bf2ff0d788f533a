"""Convert records about tokens and limits into parts, given the records before them."""

from __future__ import annotations

from typing import Any

from segue.agents.codex import usage as codex_usage
from segue.agents.codex.records import Part, note, part
from segue.agents.shared.transcripts.reader import Reading, count_of, dict_of, text_of
from segue.base.clock import Moment
from segue.model import EntryKind, Limit, Origin, Spend


class Meter:
    """The tokens and limits of a rollout that is being read. Its state is in the reading's mark."""

    def __init__(self, reading: Reading) -> None:
        self.reading = reading
        self.state = reading.mark.state

    def used(self, payload: dict[str, Any], at: Moment | None) -> Part:
        """The usage of one answer, from a record of its own."""
        state, used = self.state, codex_usage.figures(payload.get("usage"))
        turn, response = text_of(payload.get("turn_id")), text_of(payload.get("response_id"))
        state["total"] = codex_usage.figures(payload.get("thread_token_usage"))
        state["recorded"] = turn
        self._fill(payload.get("usage"))
        key = f"{turn}:{response}" if response else codex_usage.key_of(state)
        return note("token_usage_record", spend=self._spend(key, used, at), model=state.get("model"))

    def count(self, payload: dict[str, Any], at: Moment | None) -> list[Part]:
        """Running totals, and the used share of every limit."""
        state, rates = self.state, dict_of(payload.get("rate_limits"))
        limits = codex_usage.limits_of(rates, at)
        if rates:
            codex_usage.remember(state, limits, rates)
        used = self._since(payload.get("info"))
        is_recorded = bool(state.get("turn")) and state.get("recorded") == state["turn"]
        if used and not is_recorded:
            spend = self._spend(codex_usage.key_of(state), used, at)
            return [note("token_count", spend=spend, limits=limits, model=state.get("model"))]
        report = note("token_count", limits=limits)
        full = codex_usage.full_limits(state, at)
        # Versions that report the start and end of a turn also report, or show, that a limit ended it.
        return (
            [report]
            if state.get("has_tasks") or not full
            else [report, self._stopped("token_count", "", full)]
        )

    def _since(self, info: Any) -> list[int] | None:
        if not isinstance(info, dict):
            codex_usage.forget_total(self.state)
            return None
        if window := count_of(info.get("model_context_window")):
            self.reading.learn(context_window=window)
        self._fill(info.get("last_token_usage"))
        return codex_usage.answer(self.state, info)

    def _fill(self, usage: Any) -> None:
        """Learn the size of the context: the tokens of the last answer, or those that a compaction left."""
        if filled := count_of(dict_of(usage).get("total_tokens")):
            self.reading.learn(context_tokens=filled)

    def _spend(self, key: str, used: list[int], at: Moment | None) -> Spend | None:
        if not any(used):
            return None
        self.state.pop("hit", None)
        when = self.state.get("turn_at") if self.state.get("replay") else at
        model = text_of(self.state.get("model"))
        return Spend(key=key, model=model, tokens=codex_usage.tokens(used), at=when)

    def failed(self, kind: str, error: dict[str, Any], at: Moment | None) -> Part:
        text = text_of(error.get("message"))
        limits = codex_usage.hit(self.state, error, at)
        return self._stopped(kind, text, limits) if limits else note(kind, text, is_error=True)

    def finished(self, kind: str, payload: dict[str, Any], at: Moment | None) -> Part:
        error, last = payload.get("error"), payload.get("last_agent_message")
        if isinstance(error, dict):
            return self.failed(kind, error, at)
        full = codex_usage.full_limits(self.state, at)
        return self._stopped(kind, "", full) if full and not last else note(kind)

    def _stopped(self, kind: str, text: str, limits: tuple[Limit, ...]) -> Part:
        """A limit ended the turn. It is reported once, even if several records show it."""
        turn = self.state.get("turn") or "-"
        if self.state.get("hit") == turn:
            return note(kind, text, limits=limits)
        self.state["hit"] = turn
        return part(EntryKind.LIMIT, Origin.SYSTEM, text, tool=kind, limits=limits)
