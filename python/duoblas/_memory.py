"""Device memory: its arrays, and copies from and to them."""

from __future__ import annotations

import ctypes
import math
import os
import weakref
from collections.abc import Callable, Sequence
from typing import Any, Literal, Optional, Union

import numpy as np

from . import _cuda, _scope
from ._arrays import Operand, copied, device_of, operand
from ._context import Context, context_for
from ._device import DeviceArray, Memory
from ._errors import check
from ._explain import last_decision
from ._library import RESIDENCES, library
from ._ranges import Range, adopted, kept
from ._storage import addresses, merged, view

__all__ = ["copy", "device_empty", "empty_beside"]


# ---- Arrays ----

def _free(address: int, known: Optional[Range], process: int) -> None:
    # By the thread's own context of the library: this may run in the middle of something. In a
    # child process the memory is its parent's.
    if os.getpid() == process:
        if known is not None:
            adopted.forget(known)
        library.duo_free(None, address)


def _is_on_device(address: int) -> bool:
    """Where the library found memory: a call tells."""
    result = ctypes.c_float()
    check(library.duo_ssum(None, 1, address, 1, ctypes.byref(result)))
    return RESIDENCES[last_decision(None).residence[0]] == "device"


def device_empty(shape: Union[int, Sequence[int]], order: Literal["C", "F"] = "C", *,
                 ctx: Optional[Context] = None) -> Any:
    """A float32 array in the memory of the context's device, not filled: a duoblas.DeviceArray.

    shape, order  as of numpy.empty

    Calls on such arrays move nothing, and return when they are queued; calls of all contexts on one
    of them are done in order. duoblas.copy fills and reads it. It is freed with its last view.

    Without a GPU, without memory on it, and in a context with path "cpu" the memory is the host's,
    and the array one of NumPy's. The library uses it as if it were on the device.

    Raises OutOfMemoryError, and what numpy.empty raises.   Since 1.0
    """
    if order not in ("C", "F"):
        raise ValueError(f"order must be 'C' or 'F', not {order!r}")
    like = np.broadcast_to(np.empty((), np.float32), shape)  # NumPy checks the shape
    address = ctypes.c_void_p()
    context_for(ctx, [])._call(library.duo_malloc, like.nbytes + 4, ctypes.byref(address))
    assert address.value is not None
    try:
        on_device = _is_on_device(address.value)
    except Exception:
        library.duo_free(None, address)
        raise
    memory = (ctypes.c_char * (like.nbytes + 4)).from_address(address.value)
    places = np.ndarray(like.shape, np.float32, memoryview(memory), order=order)
    if not on_device:
        weakref.finalize(memory, _free, address.value, None, os.getpid()).atexit = False
        return places
    owner = Memory(address.value, like.size, _cuda.device_of(address.value))
    known = adopted.note(address.value, like.nbytes + 4)
    weakref.finalize(owner, _free, address.value, known, os.getpid()).atexit = False
    return DeviceArray(owner, places)


def empty_beside(array: DeviceArray, shape: tuple[int, ...]) -> Any:
    """A new one on the same device."""
    return device_empty(shape, ctx=context_for(None, [array.device]))


# ---- Copies ----

def _by_stride(o: Operand) -> list[int]:
    """Its axes, from the longest steps to the shortest."""
    return sorted(range(len(o.shape)), key=lambda i: -abs(o.strides[i]))


def _runs(to: Operand, source: Operand) -> Optional[tuple[int, Any, Any]]:
    """Elements that lie side by side in both: how many, and the addresses of each such run. None:
    there are none."""
    axes = merged(to.shape, to.strides, source.strides)
    n = 1
    if axes and axes[-1][1:] == (1, 1):
        n = axes.pop()[0]
    elif axes:
        return None
    return (n, addresses(to, [(axis[0], axis[1]) for axis in axes]),
            addresses(source, [(axis[0], axis[2]) for axis in axes]))


def _each(n: int, to: Any, source: Any) -> Callable[[int], int]:
    """Copies of runs."""
    def run(handle: int) -> int:
        for target, start in zip(to.tolist(), source.tolist()):
            status: int = library.duo_copy(handle, target, start, 4 * n)
            if status != 0:
                return status
        return 0
    return run


def copy(to: Any, source: Any, *, ctx: Optional[Context] = None) -> Any:
    """to[...] = source, between any two places: NumPy's arrays in any host memory, also kept ones,
    duoblas.DeviceArray, and arrays of other libraries. Returns `to`.

    to, source  float32, of the same shape, without a common element

    A result in host memory is there when this returns; one on the device is in order with all later
    calls. Elements that lie side by side in both arrays go at once, rows that are apart one by one.
    If no elements do, as with C and F order, NumPy reorders what is in plain host memory; all else
    is a ValueError.   Since 1.0
    """
    ctx = context_for(ctx, map(device_of, (to, source)))
    o = operand(to, "to", True, ctx._stream)
    s = operand(source, "source", stream=ctx._stream)
    if o.shape != s.shape:
        raise ValueError(f"to has shape {o.shape}, source {s.shape}")
    if math.prod(o.shape) == 0:
        return to
    axes = _by_stride(o if s.device is None else s)
    o, s = view(o, axes), view(s, axes)
    runs, between = _runs(o, s), None
    if runs is None and s.device is None and not kept.knows(*s.span()):
        s = copied(s, "source")
        runs = _runs(o, s)
    if runs is None and isinstance(to, np.ndarray) and not kept.knows(*o.span()):
        between = np.empty(s.shape, np.float32)
        o = operand(between, "to")
        runs = _runs(o, s)
    if runs is None or between is not None and ctx._taker is not None:
        raise ValueError("no elements lie side by side in both arrays: copy one of them first")
    last = _scope.thread.last
    ctx._run(_each(*runs), (o, s))
    _scope.thread.last = last  # explain() tells of operations
    if between is not None:
        to.transpose(axes)[...] = between
    return to
