"""Asking a model."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from nodeagent.records.model import ModelPart, ModelRequest


class Model(Protocol):
    """A model that streams its answer."""

    def stream(self, request: ModelRequest) -> Iterator[ModelPart]:
        """Yield the parts of the answer as they come. Closing the iterator cancels the request."""
        ...
