"""Events."""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Callable
from typing import Optional

from ._context import Context, Taker, context_for
from ._errors import check
from ._library import library
from ._unique import Unique

__all__ = ["Event"]


class Event(Unique):
    """A place in a context's work. Other contexts can follow it, and the host can wait for it."""

    def __init__(self) -> None:
        self._handle: Optional[int] = None
        self._captured: Callable[[], Optional[Taker]] = lambda: None  # the graph that it is in
        handle = ctypes.c_void_p()
        check(library.duo_event_create(ctypes.byref(handle)))
        self._handle = handle.value

    def record(self, ctx: Optional[Context] = None) -> Event:
        """The event is behind all calls in the context so far."""
        ctx = context_for(ctx, [])
        ctx._call(library.duo_event_record, self._handle)
        self._captured = weakref.ref(ctx._taker) if ctx._taker else lambda: None
        return self

    def wait(self, ctx: Optional[Context] = None) -> None:
        """Later calls in the context begin when the event is reached. The host goes on. If a graph
        is captured, and the event with it, the context takes part from now on."""
        ctx = context_for(ctx, [])
        ctx._call(library.duo_event_wait, self._handle)
        graph = self._captured()
        if graph is not None:
            graph.join(ctx)

    def synchronize(self) -> None:
        """The host waits until the event is reached."""
        check(library.duo_event_synchronize(self._handle))

    def query(self) -> bool:
        """Has it been reached?"""
        done = ctypes.c_int()
        check(library.duo_event_query(self._handle, ctypes.byref(done)))
        return bool(done.value)

    def __repr__(self) -> str:
        return f"<duoblas.Event {self._handle or 0:#x}>"

    def __del__(self) -> None:
        if getattr(self, "_handle", None) is not None:
            library.duo_event_destroy(self._handle)
