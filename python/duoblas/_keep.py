"""Arrays that stay on the device: keep and prepare."""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Iterator
from typing import Any, Optional

import numpy as np

from ._arrays import Operand, device_of, is_in_place, operand
from ._context import Context, context_for
from ._kept_array import KeptArray
from ._library import library
from ._ranges import Range, Ranges, adopted, kept
from ._unique import Unique

__all__ = ["Kept", "keep", "prepare"]


def _whole(array: Any, name: str, stream: Optional[int]) -> Operand:
    """The operand of an array without gaps: it owns all bytes of its span."""
    o = operand(array, name, stream=stream)
    if o.device is None and not is_in_place(o, array, name):
        raise ValueError(f"{name} is not an array that can be kept where it is")
    if o.span()[1] != 4 * math.prod(o.shape):
        raise ValueError(f"{name} has gaps: keep the array that it is a part of")
    return o


class Kept(Unique):
    """Arrays that are kept until the ``with`` block ends, or ``release`` is called. If neither ever
    happens they are kept as long as this object, and a RuntimeWarning tells of it.
    """

    def __init__(self, ctx: Context, arrays: tuple[Any, ...], prepared: bool) -> None:
        self._ctx = ctx
        self._given = arrays
        self._prepared = prepared
        self._held: list[tuple[Ranges, Range, Operand]] = []
        try:
            for i, array in enumerate(arrays):
                self._add(array, f"array {i}")
        except BaseException:
            self.release()
            raise

    @property
    def arrays(self) -> tuple[Any, ...]:
        """A KeptArray for each array of NumPy's; all others as they were given."""
        return tuple([self._of(array) for array in self._given])

    def __iter__(self) -> Iterator[Any]:
        return iter(self.arrays)

    def _of(self, array: Any) -> Any:
        if isinstance(array, np.ndarray):
            return KeptArray(np.asarray(array), self)
        return KeptArray(array._memory, self) if isinstance(array, KeptArray) else array

    def _add(self, array: Any, name: str) -> None:
        o = _whole(array, name, self._ctx._stream)
        low, length = o.span()
        if length == 0:
            return
        with self._ctx._lock:
            if o.device is None:
                held = kept.need(self._ctx.handle, low, length, True)
            else:
                held = self._ctx._adopt(o, True)
        self._held.append((kept if o.device is None else adopted, held, o))
        if self._prepared:
            self._ctx._call(library.duo_prepare, low, length)

    def fetch(self) -> None:
        """Make the arrays in host memory current, before the program reads results in them. Waits
        for these calls."""
        for ranges, _, o in self._held:
            if ranges is kept:
                self._ctx._call(library.duo_fetch, *o.span())
            else:
                self._ctx.synchronize()

    def changed(self) -> None:
        """The program has written to the arrays: their copies on the device are not current."""
        for ranges, _, o in self._held:
            if ranges is kept or self._prepared:
                self._ctx._call(library.duo_changed, *o.span())

    def _fetch(self, memory: Any) -> None:
        """The same for an array that memory is a part of."""
        if self._held:
            self._ctx._call(library.duo_fetch, *operand(memory, "array").span())

    def _mark(self, memory: Any) -> None:
        """The program has written to this part of an array."""
        if self._held:
            self._ctx._call(library.duo_changed, *operand(memory, "array").span())

    def release(self) -> None:
        """Fetch the arrays, and forget them."""
        # By the thread's own context of the library: another thread may be in a call of self._ctx,
        # which cannot be waited for where this object is collected in the middle of something.
        problem: Optional[BaseException] = None
        while self._held:
            ranges, held, o = self._held.pop()
            try:
                if self._prepared:
                    library.duo_prepare(None, o.address, 0)
                ranges.let_go(None, held, True)
            except Exception as another:
                problem = problem or another
        if problem is not None:
            raise problem

    def __enter__(self) -> Any:
        arrays = self.arrays
        return arrays[0] if len(arrays) == 1 and isinstance(arrays[0], KeptArray) else self

    def __exit__(self, *_: object) -> None:
        self.release()

    def __repr__(self) -> str:
        return f"<duoblas.Kept {'prepared' if self._prepared else 'kept'}={len(self._held)}>"

    def __del__(self) -> None:
        forgotten = repr(self) if self._held and not sys.is_finalizing() else None
        try:
            self.release()
        except Exception:  # nobody can be told
            pass
        if forgotten:
            warnings.warn(f"{forgotten} was neither released nor used in a `with` block",
                          RuntimeWarning, stacklevel=2)


def _make(arrays: tuple[Any, ...], ctx: Optional[Context], prepared: bool) -> Kept:
    return Kept(context_for(ctx, map(device_of, arrays)), arrays, prepared)


def keep(*arrays: Any, ctx: Optional[Context] = None) -> Kept:
    """These arrays stay on the device as well, until the block ends. (As a statement of its own,
    without `with`, it keeps nothing, and a RuntimeWarning tells so.)

    A host array is sent only at its first use there; results in it stay there until somebody reads
    them. Without a GPU, or without memory on it, it is used where it is.

        with duoblas.keep(a) as k, duoblas.keep(x, y) as (x, y):
            for _ in range(100):
                duoblas.sgemm(k, x, y)
                x[...] = y / np.linalg.norm(y)

    `as` gives one array of NumPy's as a KeptArray: it fetches when it is read, and knows when it
    is written. Of several arrays it gives a Kept, which unpacks to them.

    The arrays that were given know nothing of it. Of them the program says so itself:

        with duoblas.keep(a, x, y) as arrays:
            for _ in range(100):
                duoblas.sgemm(a, x, y)
                arrays.fetch()     # before NumPy reads y
                x[:] = y / np.linalg.norm(y)
                arrays.changed()   # after NumPy wrote x

    Without `changed`, calls compute with old data; without `fetch`, the program reads old data.

    Arrays that are on a device already are made known to the library once instead of for each
    call; in a context with a stream of the caller's own, calls on them do not wait any more.

    arrays   float32, without gaps (of any shape, in C or F order).

    Raises TypeError (elements of another type), ValueError (an array with gaps, or a copy) and
    ArgumentError (an array that lies in a kept one in part); then none is kept.
    """
    return _make(arrays, ctx, False)


def prepare(*arrays: Any, ctx: Optional[Context] = None) -> Kept:
    """As keep, for arrays that are factors of many products before they change: sgemm prepares them
    on the GPU only once. After a change of an array on a device `changed` has to be called, too."""
    return _make(arrays, ctx, True)
