"""Ranges of addresses that the library is told of while somebody needs them.

The library knows each address once, in the whole process. So if several calls, blocks and threads
need the same one, the first tells it and the last takes it back.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Callable
from typing import Optional

from ._cuda import allocation_of
from ._errors import Status, check
from ._library import library
from ._locked import Locked

__all__ = ["Range", "adopted", "kept"]

_Handle = Optional[int]  # of a context; None: the calling thread's own in the library


class Range:
    """Bytes from low to high, and how many need them."""

    __slots__ = ("high", "lasting", "low", "needed")

    def __init__(self, low: int, high: int) -> None:
        self.low = low
        self.high = high
        self.needed = 0
        self.lasting = 0  # needs that outlast a call

    def __lt__(self, other: Range) -> bool:
        return self.low < other.low


class Ranges(Locked):
    """The ranges that are known at present, by one pair of the library's functions.

    In a forked child all of it stays known, as to the library. A thread that is gone may have been
    in the middle of a change: a range that it was telling is told again when it is needed, and
    nobody needs one that it was taking back.
    """

    def __init__(self, tell: Callable[..., int], take_back: Callable[..., int]) -> None:
        super().__init__()
        self._tell = tell
        self._take_back = take_back
        self._known: list[Range] = []  # in the order of their addresses; no two overlap

    def need(self, handle: _Handle, low: int, bytes: int, lasting: bool) -> Range:
        """The range that holds these bytes. let_go() has to follow."""
        with self._lock:  # an array may be collected, and let go, inside
            held = self._find(low, low + bytes)
            if held is None:
                check(self._tell(handle, low, bytes), handle)
                held = Range(low, low + bytes)
                insort(self._known, held)
            held.needed += 1
            held.lasting += lasting
            return held

    def let_go(self, handle: _Handle, held: Range, lasting: bool) -> None:
        """Nobody is left: takes it back. If that fails, the range stays known."""
        with self._lock:
            held.needed -= 1
            held.lasting -= lasting
            if held.needed > 0:
                return
            status = self._take_back(handle, held.low)
            if status == Status.ERR_RANGE:  # it was taken back already
                status = Status.OK
            if status in (Status.OK, Status.ERR_LOST):
                self._known.remove(held)
            check(status, handle)

    def note(self, low: int, bytes: int) -> Range:
        """The library knows these bytes by itself until forget()."""
        held = Range(low, low + bytes)
        held.needed = held.lasting = 1
        with self._lock:
            insort(self._known, held)
        return held

    def forget(self, held: Range) -> None:
        """The end of note()."""
        with self._lock:
            self._known.remove(held)

    def knows(self, low: int, bytes: int) -> bool:
        """Does the library know them?"""
        with self._lock:
            return self._find(low, low + bytes) is not None

    def _find(self, low: int, high: int) -> Optional[Range]:
        at = bisect_right(self._known, Range(low, high))
        return self._known[at - 1] if at > 0 and high <= self._known[at - 1].high else None


class Allocations(Ranges):
    """Of others on a device. The library is told of whole ones: calls may need other parts."""

    def need(self, handle: _Handle, low: int, bytes: int, lasting: bool) -> Range:
        with self._lock:
            if not self.knows(low, bytes):
                low, bytes = allocation_of(low, bytes)
            return super().need(handle, low, bytes, lasting)


kept = Ranges(library.duo_keep, library.duo_release)
adopted = Allocations(library.duo_adopt, library.duo_disown)
