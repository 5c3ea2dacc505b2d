"""Arrays that stay on the device: keep and prepare."""

from __future__ import annotations

import math
import warnings
from typing import Any, Optional

from ._arrays import Operand, device_of, is_in_place, operand
from ._context import Context, context_for
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
    happens they are kept as long as this object, and a ResourceWarning tells of it.
    """

    def __init__(self, ctx: Context, arrays: tuple[Any, ...], prepared: bool) -> None:
        self._ctx = ctx
        self._prepared = prepared
        self._held: list[tuple[Ranges, Range, Operand]] = []
        try:
            for i, array in enumerate(arrays):
                self._add(array, f"array {i}")
        except BaseException:
            self.release()
            raise

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

    def __enter__(self) -> Kept:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def __repr__(self) -> str:
        return f"<duoblas.Kept {'prepared' if self._prepared else 'kept'}={len(self._held)}>"

    def __del__(self) -> None:
        forgotten = repr(self) if self._held else None
        try:
            self.release()
        except Exception:  # nobody can be told
            pass
        if forgotten:
            warnings.warn(f"{forgotten} was neither released nor used in a `with` block",
                          ResourceWarning, source=self)


def _make(arrays: tuple[Any, ...], ctx: Optional[Context], prepared: bool) -> Kept:
    return Kept(context_for(ctx, [device_of(a) for a in arrays]), arrays, prepared)


def keep(*arrays: Any, ctx: Optional[Context] = None) -> Kept:
    """These arrays stay on the device as well, until the block ends. (As a statement of its own,
    without `with`, it keeps nothing.)

    A host array is sent only at its first use there; results in it stay there until they are
    fetched. Without a GPU, or without memory on it, it is used where it is.

        with duoblas.keep(a, x, y) as arrays:
            for _ in range(100):
                duoblas.sgemm(a, x, y)
                arrays.fetch()     # before NumPy reads y
                x[:] = y / np.linalg.norm(y)
                arrays.changed()   # after NumPy wrote x

    Arrays that are on a device already are made known to the library once instead of for each
    call; in a context with a stream of the caller's own, calls on them do not wait any more.

    arrays   float32, without gaps (of any shape, in C or F order).

    Without `changed`, calls compute with old data; without `fetch`, the program reads old data.
    """
    return _make(arrays, ctx, False)


def prepare(*arrays: Any, ctx: Optional[Context] = None) -> Kept:
    """As keep, for arrays that are factors of many products before they change: sgemm prepares them
    on the GPU only once. After a change `changed` has to be called, for arrays on a device too."""
    return _make(arrays, ctx, True)
