"""Calls by NumPy's names that the library does not serve: NumPy computes them, or CuPy or PyTorch
with arrays of theirs, and they are counted. The report tells of them, and of the drop-in."""

from __future__ import annotations

import sys
from typing import Any, Callable, Optional, TypedDict

import numpy as np

from . import _scope
from ._arrays import maker_of
from ._context import Context
from ._device import DeviceArray
from ._install import Served, served
from ._kept_array import KeptArray
from ._locked import Locked

__all__ = ["Report", "elsewhere", "report", "why_not"]

_FLOAT = np.dtype(np.float32)


class Report(TypedDict):
    """The result of report()."""

    not_served: dict[str, dict[str, int]]  # for each function the number of calls for each reason
    installed_in: list[str]  # libraries whose BLAS calls are served now (install)
    served: dict[str, Served]  # for each BLAS operation its calls, while it was installed
    words: str  # the same for people, and why other calls did not come


class _Calls(Locked):
    """Numbers of calls."""

    def __init__(self) -> None:
        super().__init__()
        self._counts: dict[str, dict[str, int]] = {}

    def add(self, name: str, why: str) -> None:
        with self._lock:
            counts = self._counts.setdefault(name, {})
            counts[why] = counts.get(why, 0) + 1

    def so_far(self) -> dict[str, dict[str, int]]:
        with self._lock:
            return {name: dict(counts) for name, counts in self._counts.items()}


_calls = _Calls()


def report() -> Report:
    """What was served in this process so far, and what was not.

        {"not_served": {"matmul": {"float64": 2, "list": 1}}, "installed_in": [...],
         "served": {"sgemm": {"on_cpu": 3, "on_gpu": 1, ...}, ...}, "words": "..."}

    not_served    the calls of matmul, dot, vdot, sum and abs_sum that were left to NumPy (or to
                  CuPy or PyTorch, for arrays of theirs), by reason.
    installed_in  the libraries whose BLAS calls are served now: see install.
    served        their calls so far; nothing if `install` was never called.
    words         the same as text, with the reasons why calls of other libraries do not come.

    Reasons are a type of elements other than float32, a type of object that is no array of it, and

    axis      of a sum: its lines are shorter than 16384 elements, or not contiguous.
    dtype     of a sum: the result has another type.
    out       it cannot take the result, or overlaps with itself.
    shape     there is nothing that the library could do with these shapes.
    strides   of an array on a device: it would have to be copied.

    Calls that raised an exception are not counted.   Since 1.0
    """
    objects, calls, words = served()
    return Report(not_served=_calls.so_far(), installed_in=objects, served=calls, words=words)


def _why_not(array: Any) -> Optional[str]:
    kind = type(array)
    if kind is np.ndarray or kind is np.memmap or kind is KeptArray:
        return None if array.dtype == _FLOAT else str(array.dtype)
    if kind is DeviceArray:
        return None
    if isinstance(array, np.ndarray):
        return kind.__name__  # a subclass may have other rules
    if hasattr(array, "__dlpack_device__") or hasattr(array, "__cuda_array_interface__"):
        name = str(getattr(array, "dtype", _FLOAT)).rpartition(".")[2]  # torch.float32
        return None if name == _FLOAT.name else name
    return kind.__name__


def why_not(*arrays: Any) -> Optional[str]:
    """Why the library cannot serve a call with them; None: it can."""
    return next((why for why in map(_why_not, arrays) if why is not None), None)


def elsewhere(name: str, why: str, array: Any, call: Callable[[Any], Any],
              ctx: Optional[Context]) -> Any:
    """call(library): by the library that made `array`. That raises the errors of such a call, too.
    ctx: where the library would have served it.
    """
    ctx = ctx or _scope.innermost()
    if ctx is not None and ctx._taker is not None:
        raise ValueError(f"a graph cannot capture a {name} that DuoBLAS does not serve: {why}")
    maker = maker_of(array)
    library = sys.modules.get(maker, np) if maker in ("cupy", "torch") else np
    if why == "strides" and library is np:
        raise ValueError("an array on a device has strides that BLAS does not know: copy it first")
    result = call(library)
    _calls.add(name, why)
    return result
