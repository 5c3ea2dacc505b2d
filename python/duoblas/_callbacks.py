"""Functions of the program that the library calls."""

from __future__ import annotations

import atexit
import ctypes
import os
import sys
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from ctypes import CFUNCTYPE, POINTER, c_char_p, c_int, c_size_t, c_void_p
from typing import TYPE_CHECKING, Any, Optional, Union

from ._explain import Explanation, explained
from ._library import Decision

if TYPE_CHECKING:
    import logging

    from ._context import Context

__all__ = ["Log", "decider"]


def _report(problem: BaseException) -> None:
    """Tells of an exception that cannot be raised, by sys.unraisablehook."""
    def again() -> None:
        raise problem

    CFUNCTYPE(None)(again)()  # ctypes tells it what a callback raises


# ---- Logs ----

_LINE = CFUNCTYPE(None, c_size_t, c_char_p)
_END: Any = sys.maxsize  # the `user` of the library's log


class Log:
    """The lines of a context, on their way to a logger.

    The library may hold locks when it has a line. So Python must not run then: a handler might
    call the library or wait for another thread, and objects that are collected do call it. Lines
    are put at the end of a list, by a function in C, and logged when the call has returned.
    """

    def __init__(self, ctx: Context, logger: Union[str, logging.Logger]) -> None:
        import logging  # only here: `import duoblas` does not wait for it
        self._logger = logging.getLogger(logger) if isinstance(logger, str) else logger
        self._lines: list[bytes] = []
        self._insert = _LINE(self._lines.insert)
        self.ctx = weakref.ref(ctx)
        self.function = ctypes.cast(self._insert, c_void_p)
        self.user = _END
        _logs.add(self)

    def tell(self) -> None:
        """Logs the lines so far."""
        while True:
            try:
                line = self._lines.pop(0).decode(errors="replace")
            except IndexError:  # another thread may take them, too
                return
            try:
                self._logger.info("%s", line.removeprefix("duoblas: "))
            except Exception as problem:
                _report(problem)

    def forget(self) -> None:
        """A child leaves its parent's lines to the parent."""
        self._lines.clear()


_logs: weakref.WeakSet[Log] = weakref.WeakSet()


def _in_child() -> None:
    for log in list(_logs):
        log.forget()


def _at_exit() -> None:
    """The library may live longer than the interpreter."""
    for log in list(_logs):
        ctx = log.ctx()
        if ctx is not None:
            ctx._end_log(log)


os.register_at_fork(after_in_child=_in_child)
atexit.register(_at_exit)


# ---- Decisions ----

_DECIDE = CFUNCTYPE(c_int, c_void_p, POINTER(Decision), c_int)
_OWN = -1  # the library's choice


@contextmanager
def _deciding(ctx: Optional[Context]) -> Iterator[None]:
    """The context is in a call, and cannot be used for another."""
    assert ctx is not None
    ctx._deciding = True
    try:
        yield
    finally:
        ctx._deciding = False


def _index(told: Explanation, name: Optional[str]) -> int:
    if name is None:
        return _OWN
    for i, candidate in enumerate(told["candidates"]):
        if candidate["algorithm"] == name and candidate["accepts"]:
            return i
    raise ValueError(f"decide returned {name!r}, which is no candidate that accepts the call")


def decider(ctx: Context, decide: Callable[[Explanation], Optional[str]]) -> Any:
    """`decide` as the library calls it for this context."""
    of = weakref.ref(ctx)

    def asked(user: Any, decision: Any, chosen: int) -> int:
        try:
            with _deciding(of()):
                told = explained(decision.contents)
                return _index(told, decide(told))
        except BaseException as problem:  # there is nowhere to raise it
            _report(problem)
            return _OWN

    return _DECIDE(asked)
