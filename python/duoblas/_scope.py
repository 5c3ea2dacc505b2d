"""The contexts that calls use: the blocks around them, and the last call of each thread.

Blocks belong to a thread, a task of asyncio, or other code in a contextvars.Context. They need not
end in the order of their beginnings, or in the same place: a generator may end its own in another
thread.
"""

from __future__ import annotations

import os
import threading
import weakref
from contextvars import ContextVar
from typing import TYPE_CHECKING, Optional

from ._explain import Explanation, explained, last_decision

if TYPE_CHECKING:
    from ._context import Context
    from ._library import Decision

__all__ = ["LastCall", "blocks", "enter", "innermost", "leave", "thread"]

_entered: ContextVar[tuple[Context, ...]] = ContextVar("duoblas blocks", default=())
blocks = _entered.get  # those that the caller is in, also some that have ended elsewhere


def enter(ctx: Context) -> None:
    """A block of the context begins here."""
    _entered.set((*(other for other in _entered.get() if other._blocks > 0), ctx))


def leave(ctx: Context) -> None:
    """Its innermost block ends, if it began here."""
    entered = list(_entered.get())
    for i in reversed(range(len(entered))):
        if entered[i] is ctx:
            del entered[i]
            break
    _entered.set(tuple(entered))


def innermost() -> Optional[Context]:
    """The context of the innermost block that has not ended, here or elsewhere."""
    for ctx in reversed(_entered.get()):
        if ctx._blocks > 0:
            return ctx
    return None


class LastCall:
    """The last call of a thread. Its context tells of it, and hands over its knowledge before
    another thread's call, or at its end."""

    __slots__ = ("__weakref__", "_ctx", "_decision")

    def __init__(self, ctx: Context) -> None:
        self._ctx = weakref.ref(ctx)
        self._decision: Optional[Decision] = None

    def settle(self, handle: int) -> None:
        """The context forgets it now."""
        self._decision = last_decision(handle)

    def explain(self) -> Explanation:
        """See duoblas.explain."""
        ctx = self._ctx()
        if ctx is not None:
            with ctx._lock:
                if self._decision is None:
                    return ctx.explain()
        return explained(self._decision)


class _Thread(threading.local):
    """The contexts of a thread's own: one for host arrays and one for each device that arrays are
    on."""

    def __init__(self) -> None:
        self.contexts: dict[Optional[int], Context] = {}
        self.last: Optional[LastCall] = None


thread = _Thread()


def _in_child() -> None:
    thread.last = None


os.register_at_fork(after_in_child=_in_child)
