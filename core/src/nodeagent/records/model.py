"""What a model is asked, and the parts that it streams back."""

from __future__ import annotations

from typing import Literal

from attrs import field, frozen

from nodeagent.lossless import Json
from nodeagent.records.ids import a_count, an_id

PartKind = Literal["text", "reasoning", "tool-arguments", "tool-call", "metadata", "usage", "source", "file", "finish"]


@frozen(kw_only=True)
class ModelRequest:
    """One request of a run's ``step`` (zero-based): the messages so far and the tools on offer."""

    run_id: str = field(validator=an_id)
    step: int = field(validator=a_count)
    operation_id: str = field(validator=an_id)
    messages: tuple[Json, ...] = field(repr=False)
    tools: tuple[Json, ...] = field(default=(), repr=False)


@frozen(kw_only=True)
class ModelPart:
    """One part of a model's answer, in the order in which it came."""

    kind: PartKind
    data: Json = field(repr=False)
