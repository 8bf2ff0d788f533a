"""A scripted model: the model's side of a conversation with a real agent program, decided by the test."""

from .log import Exchange, RequestLog
from .request import Message, Request, ToolResult
from .script import (
    Call,
    Delay,
    Disconnect,
    Fault,
    Hang,
    Reply,
    Script,
    ScriptError,
    Step,
    Tokens,
    Turn,
)
from .server import ModelServer

__all__ = [
    "Call",
    "Delay",
    "Disconnect",
    "Exchange",
    "Fault",
    "Hang",
    "Message",
    "ModelServer",
    "Reply",
    "Request",
    "RequestLog",
    "Script",
    "ScriptError",
    "Step",
    "Tokens",
    "ToolResult",
    "Turn",
]
