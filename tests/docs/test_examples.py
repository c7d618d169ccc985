"""The programs in the documents do what the documents say."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from nodeagent import App, FrameRequest, open_provider

if TYPE_CHECKING:
    import pytest

ROOT = Path(__file__).parents[2]


def program(document: str, marker: str) -> str:
    """Return the one Python block of a document that holds ``marker``."""
    blocks = re.findall(r"^```python\n(.*?)^```", (ROOT / document).read_text("utf-8"), re.MULTILINE | re.DOTALL)
    (found,) = [str(block) for block in blocks if marker in block]
    return found


def module(tmp_path: Path, name: str, source: str) -> ModuleType:
    """Import a program as a module."""
    path = tmp_path / f"{name}.py"
    path.write_text(source, "utf-8")
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def test_the_twenty_lines_complete_and_then_replay(tmp_path: Path) -> None:
    """The README's program, run twice: the second time the same bytes."""
    (tmp_path / "refunds.py").write_text(program("README.md", '@app.runner("refund")'), "utf-8")

    runs = [
        subprocess.run([sys.executable, "refunds.py"], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
        for _ in range(2)
    ]

    assert runs[0].startswith("completed ")
    assert runs[1].startswith("replayed ")
    assert runs[0].split(" ", 1)[1] == runs[1].split(" ", 1)[1]


def test_the_coroutine_of_the_quick_start_completes(tmp_path: Path) -> None:
    """Its three steps are recorded."""
    app: App = module(tmp_path, "quotes", program("docs/quick-start.md", '@app.runner("quotes")')).app

    with open_provider("memory", {"store": "quick start"}) as backend, app.open(backend=backend) as runtime:
        outcome = runtime.run(FrameRequest(goal="Ask three dealers.", runner="quotes"))

    assert outcome.status == "completed"
    assert outcome.receipt is not None
    assert b"[0, 1, 4]" in outcome.receipt


def test_the_provider_of_the_hooks_page_keeps_artifacts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Installed as the page says, it is opened by its name."""
    (tmp_path / "nodeagent_shelf.py").write_text(program("docs/hooks.md", "class Connection:"), "utf-8")
    info = tmp_path / "nodeagent_shelf-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: nodeagent-shelf\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[nodeagent.providers]\nshelf = nodeagent_shelf\n")
    monkeypatch.syspath_prepend(str(tmp_path))

    with open_provider("shelf", {"label": "x"}) as backend:
        ref = backend.artifacts.put(b"data", "text/plain")
        stat = backend.artifacts.stat(ref)

        assert backend.artifacts.get(ref) == b"data"
        assert stat is not None
        assert (stat.size, stat.media_type) == (4, "text/plain")
