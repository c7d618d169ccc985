"""nodeagent: a durable runtime for AI agents whose storage is a plugin.

Everything public is importable from here. Providers use :data:`hookimpl`, the records, the ports and the
errors; applications use :class:`App`.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from nodeagent.public import *  # noqa: F403 - its sorted __all__ is the list
    from nodeagent.public import __all__ as __all__
    from nodeagent.records import *  # noqa: F403 - type checkers do not see these through the list above
else:

    def __getattr__(name: str) -> Any:
        """Load the public names when one is first asked for: ``nodeagent --help`` does not wait for them."""
        if not _is_submodule(name) and (name == "__all__" or not name.startswith("__")):
            from nodeagent import public  # noqa: PLC0415 - that is the point

            globals().update({each: getattr(public, each) for each in public.__all__}, __all__=public.__all__)
            if name in globals():
                return globals()[name]
        raise AttributeError(f"module 'nodeagent' has no attribute {name!r}")

    def _is_submodule(name: str) -> bool:
        """Say whether the import system, which asks here first, will find a module of this name."""
        return (Path(__file__).parent / name).exists() or (Path(__file__).parent / f"{name}.py").exists()

    def __dir__() -> list[str]:
        """Return what there is, loaded or not."""
        return sorted({*globals(), *__getattr__("__all__")})
