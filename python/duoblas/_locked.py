"""Locks that are free in a forked child.

A child process has one thread. Nobody there frees the locks that other threads of the parent held
at the fork, so they are made anew.
"""

from __future__ import annotations

import os
import threading
import weakref
from contextlib import AbstractContextManager
from typing import Any

__all__ = ["Locked"]

_owners: weakref.WeakSet[Locked] = weakref.WeakSet()
_process = os.getpid()


class Locked:
    """An object that one thread at a time uses."""

    def __init__(self) -> None:
        self._own = threading.RLock()
        _owners.add(self)

    @property
    def _lock(self) -> AbstractContextManager[Any]:
        # The interpreter ends objects of the other threads before it calls _in_child.
        if os.getpid() != _process:
            _in_child()
        return self._own


def _in_child() -> None:
    global _process
    _process = os.getpid()
    for owner in list(_owners):
        if owner._own.acquire(blocking=False):  # it is free, or of the thread that forked
            owner._own.release()
        else:
            owner._own = threading.RLock()


os.register_at_fork(after_in_child=_in_child)
