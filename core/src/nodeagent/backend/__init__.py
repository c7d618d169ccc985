"""A backend: the ports of one or more opened providers, behind checks that the core makes once for all.

:func:`open_backend` opens what a configuration selects, :func:`open_provider` one provider by name.
"""

from nodeagent.backend.facade import Backend
from nodeagent.backend.opening import open_backend, open_provider

__all__ = ["Backend", "open_backend", "open_provider"]
