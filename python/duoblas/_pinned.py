"""NumPy arrays in pinned host memory: a GPU reads and writes it faster than other memory."""

from __future__ import annotations

import ctypes
import os
import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, Optional, Union, overload

import numpy as np

from ._context import Context, context_for
from ._library import library

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

__all__ = ["empty_pinned", "pin", "zeros_pinned"]

_Shape = Union[int, Sequence[int]]
_Order = Literal["C", "F"]


def _free(address: int, process: int) -> None:
    # By the thread's own context of the library: this may run in the middle of something. A child
    # process has no pinned memory of its own; the parent frees it.
    if os.getpid() == process:
        library.duo_free_host(None, address)


def _like(shape: _Shape, dtype: DTypeLike, order: _Order,
          ctx: Optional[Context]) -> tuple[NDArray[Any], bool]:
    """The array, and whether there is memory in it."""
    kind = np.dtype(dtype)
    if kind.hasobject:
        raise TypeError(f"pinned memory has no Python objects: dtype={kind}")
    if not isinstance(order, str) or order not in ("C", "F"):
        raise ValueError(f"order must be 'C' or 'F', not {order!r}")
    bytes = np.broadcast_to(np.empty((), kind), shape).nbytes  # NumPy checks the shape
    if bytes == 0:
        return np.empty(shape, kind, order), False
    address = ctypes.c_void_p()
    context_for(ctx, [])._call(library.duo_malloc_host, bytes, ctypes.byref(address))
    assert address.value is not None
    memory = (ctypes.c_char * bytes).from_address(address.value)
    # The array and all its views hold `memory`. At exit the process frees it.
    weakref.finalize(memory, _free, address.value, os.getpid()).atexit = False
    return np.ndarray(shape, kind, memoryview(memory), order=order), True


@overload
def empty_pinned(shape: _Shape, dtype: type[np.float32] = np.float32, order: _Order = "C", *,
                 ctx: Optional[Context] = None) -> NDArray[np.float32]: ...


@overload
def empty_pinned(shape: _Shape, dtype: DTypeLike, order: _Order = "C", *,
                 ctx: Optional[Context] = None) -> NDArray[Any]: ...


def empty_pinned(shape: _Shape, dtype: DTypeLike = np.float32, order: _Order = "C", *,
                 ctx: Optional[Context] = None) -> NDArray[Any]:
    """A NumPy array in pinned host memory, not filled: as numpy.empty.

    Products and sums of pinned arrays are sent at the full rate of the link. It takes long to get
    such memory, and it is taken away from everything else: use it again. It is freed with the last
    view of it. Without a GPU it is plain memory.

    shape, dtype, order  as of numpy.empty; the default dtype is float32. The first element is on
                         256 bytes.
    ctx                  memory for this context's device.

    Raises TypeError (a dtype with Python objects), OutOfMemoryError, and what numpy.empty raises.
    """
    return _like(shape, dtype, order, ctx)[0]


@overload
def zeros_pinned(shape: _Shape, dtype: type[np.float32] = np.float32, order: _Order = "C", *,
                 ctx: Optional[Context] = None) -> NDArray[np.float32]: ...


@overload
def zeros_pinned(shape: _Shape, dtype: DTypeLike, order: _Order = "C", *,
                 ctx: Optional[Context] = None) -> NDArray[Any]: ...


def zeros_pinned(shape: _Shape, dtype: DTypeLike = np.float32, order: _Order = "C", *,
                 ctx: Optional[Context] = None) -> NDArray[Any]:
    """The same as empty_pinned, filled with zeros."""
    array, filled = _like(shape, dtype, order, ctx)
    if filled:
        ctypes.memset(array.ctypes.data, 0, array.nbytes)
    return array


def pin(a: Any, *, ctx: Optional[Context] = None) -> NDArray[Any]:
    """A copy of `a` in pinned memory, as empty_pinned: of its shape and dtype, in Fortran's order
    if `a` is, else in C's. `a` is whatever numpy.asarray takes."""
    source = np.asarray(a)
    order: _Order = "F" if source.flags.fnc else "C"
    array = empty_pinned(source.shape, source.dtype, order, ctx=ctx)
    np.copyto(array, source)
    return array
