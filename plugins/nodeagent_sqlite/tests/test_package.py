"""What the distribution nodeagent-sqlite brings."""

from __future__ import annotations

from importlib.metadata import entry_points


def test_the_provider_is_listed_under_its_name() -> None:
    """The entry point's name is the name that users write: ``sqlite``."""
    (found,) = entry_points(group="nodeagent.providers", name="sqlite")

    assert found.value == "nodeagent_sqlite"
    assert found.dist is not None
    assert found.dist.name == "nodeagent-sqlite"
