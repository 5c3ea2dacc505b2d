"""Operands: the place of an array's elements, for arrays of any library.

Arrays other than NumPy's are seen by DLPack if they have it, as CuPy's, PyTorch's and JAX's do: it
tells the place of the memory and can be told a stream. Else device memory is seen by the CUDA array
interface, as Numba's, and host memory by NumPy.
"""

from __future__ import annotations

import sys
from typing import Any, NamedTuple, Optional

import numpy as np

from . import _cuda, _dlpack
from ._device import DeviceArray, Memory
from ._kept_array import KeptArray

__all__ = ["Operand", "copied", "device_of", "empty_like", "is_copy", "is_in_place",
           "is_of_others", "maker_of", "operand", "overlap"]

_FLOAT = np.dtype(np.float32)
_SHORT: Any = 10000  # steps of NumPy's search for an element that two arrays share


class Operand:
    """float32 elements at an address. Strides are in elements; device is None for host memory."""

    __slots__ = ("address", "device", "holder", "shape", "strides")

    def __init__(self, address: int, shape: tuple[int, ...], strides: tuple[int, ...],
                 device: Optional[int], holder: object) -> None:
        self.address = address
        self.shape = shape
        self.strides = strides
        self.device = device
        self.holder = holder  # keeps the memory alive while the operand is used

    def span(self) -> tuple[int, int]:
        """The bytes from its lowest element to its highest: address and length."""
        low = high = 0
        for n, stride in zip(self.shape, self.strides):
            if n == 0:
                return self.address, 0
            if stride < 0:
                low += (n - 1) * stride
            else:
                high += (n - 1) * stride
        return self.address + 4 * low, 4 * (high - low + 1)


class _Seen(NamedTuple):
    """Holds what is used in place of an array."""

    array: Any  # None: it is a copy
    used: Any


def is_copy(o: Operand) -> bool:
    """Is it a copy of the array? It does not follow later changes."""
    if not isinstance(o.holder, _Seen):
        return False
    array, used = o.holder
    return array is None or bool(np.asarray(array).ctypes.data != used.ctypes.data)


def is_of_others(o: Operand) -> bool:
    """Is it in device memory that the library has to be told of?"""
    return o.device is not None and not isinstance(o.holder, Memory)


# ---- Host memory ----

def _check_dtype(dtype: Any, name: str) -> None:
    if dtype != _FLOAT:
        raise TypeError(f"{name} has elements of type {dtype}; DuoBLAS computes with float32 alone")


def _of_numpy(array: np.ndarray[Any, Any], name: str, written: bool) -> Operand:
    _check_dtype(array.dtype, name)
    if written and not array.flags.writeable:
        raise ValueError(f"{name} is read-only")
    holder: object = array
    if not array.flags.aligned:  # also if only their distances are not
        if written:
            raise ValueError(f"{name} has elements that are not aligned to 4 bytes")
        array = array.copy()
        holder = _Seen(None, array)
    return Operand(array.ctypes.data, array.shape, tuple([s // 4 for s in array.strides]), None,
                   holder)


def _of_seen(array: Any, seen: np.ndarray, name: str, written: bool) -> Operand:
    """An array of another library, by what NumPy sees of it."""
    o = _of_numpy(seen, name, written)
    if o.holder is seen:
        o.holder = _Seen(array, seen)
    return o


def _as_numpy(array: Any, name: str, written: bool) -> np.ndarray[Any, Any]:
    """An array of another library as NumPy sees it. An output's memory has to be the array's own: a
    copy would be elsewhere the next time."""
    tells = hasattr(array, "__array_interface__")
    seen = np.asarray(array)
    if written and not (tells and np.asarray(array).ctypes.data == seen.ctypes.data):
        raise TypeError(f"{name} is a {type(array).__name__}, which a result cannot be put into")
    return seen


# ---- DLPack ----

def _row_major(shape: tuple[int, ...]) -> tuple[int, ...]:
    strides, step = [], 1
    for n in reversed(shape):
        strides.append(step)
        step *= n
    return tuple(reversed(strides))


def _is_locked(array: Any, address: int) -> bool:
    """If NumPy sees the same memory, it may know this; DLPack before 1.0 cannot tell it."""
    try:
        seen = np.asarray(array)
    except Exception:  # it allows only DLPack
        return False
    return seen.ctypes.data == address and not seen.flags.writeable


def _of_dlpack(array: Any, name: str, written: bool, stream: Optional[int]) -> Operand:
    kind, device = array.__dlpack_device__()
    if kind in _dlpack.HOST and not written:
        try:
            return _of_seen(array, np.asarray(array), name, False)  # takes a third of the time
        except TypeError:  # NumPy sees no floats, or may not look
            pass
    if kind == _dlpack.CUDA:
        view = _dlpack.view(array, stream or _cuda.LEGACY_STREAM)
    elif kind in _dlpack.HOST or kind == _dlpack.MANAGED:
        view = _dlpack.view(array, None)
    else:
        raise TypeError(f"{name} is in memory of DLPack's kind {int(kind)}; DuoBLAS knows the "
                        "host's and CUDA's")
    if kind == _dlpack.MANAGED or kind == _dlpack.CUDA and stream is None:
        _cuda.synchronize(_cuda.LEGACY_STREAM, device)
    if not view.is_float32:
        raise TypeError(f"{name} has elements of another type than float32, which DuoBLAS computes "
                        "with alone")
    if view.address % 4:
        raise ValueError(f"{name} has elements that are not aligned to 4 bytes")
    if written and view.copied:
        raise TypeError(f"{name} is a {type(array).__name__}, which gives a copy of its elements: "
                        "a result would be lost")
    if written and (view.read_only or kind in _dlpack.HOST and _is_locked(array, view.address)):
        raise ValueError(f"{name} is read-only")
    return Operand(view.address, view.shape, view.strides or _row_major(view.shape),
                   int(device) if kind == _dlpack.CUDA else None,
                   _Seen(None, view.holder) if view.copied else view.holder)


# ---- The CUDA array interface ----

def _of_interface(array: Any, name: str, written: bool, stream: Optional[int]) -> Operand:
    told = array.__cuda_array_interface__
    _check_dtype(np.dtype(told["typestr"]), name)
    address, read_only = told["data"]
    if written and read_only:
        raise ValueError(f"{name} is read-only")
    if told.get("mask") is not None:
        raise TypeError(f"{name} is a masked array; DuoBLAS knows of no masks")
    shape = tuple(told["shape"])
    steps = told.get("strides")
    if steps is not None and any(s % 4 for s in steps):
        raise ValueError(f"{name} has elements that are not aligned to 4 bytes")
    strides = _row_major(shape) if steps is None else tuple(s // 4 for s in steps)
    device, managed = _cuda.device_of(address), _cuda.is_managed(address)
    behind = told.get("stream", _cuda.LEGACY_STREAM)
    if behind is not None and (managed or behind != stream):
        _cuda.synchronize(behind, device)
    return Operand(address, shape, strides, None if managed else device, array)


# ---- Any array ----

def device_of(array: Any) -> Optional[int]:
    """The device that has the array in its memory; None: the array is in host memory, or in managed
    memory, which is used there."""
    if isinstance(array, np.ndarray):
        return None
    if isinstance(array, DeviceArray):
        return array.device
    if hasattr(array, "__dlpack_device__"):
        kind, device = array.__dlpack_device__()
        return int(device) if kind == _dlpack.CUDA else None
    if hasattr(array, "__cuda_array_interface__"):
        address = array.__cuda_array_interface__["data"][0]
        return None if _cuda.is_managed(address) else _cuda.device_of(address)
    return None


def operand(array: Any, name: str, written: bool = False,
            stream: Optional[int] = None) -> Operand:
    """The array as an operand. stream: the caller's, in which the call will run. Without one the
    array's own work is done when this returns."""
    if isinstance(array, np.ma.MaskedArray):
        raise TypeError(f"{name} is a masked array; DuoBLAS knows of no masks")
    if isinstance(array, np.ndarray):
        return _of_numpy(array, name, written)
    if isinstance(array, KeptArray):
        return _of_numpy(array._memory, name, written)
    if isinstance(array, DeviceArray):
        places = array._places
        return Operand(places.ctypes.data, places.shape, tuple([s // 4 for s in places.strides]),
                       array.device, array._memory)
    if hasattr(array, "__dlpack_device__"):
        return _of_dlpack(array, name, written, stream)
    if hasattr(array, "__cuda_array_interface__"):
        return _of_interface(array, name, written, stream)
    return _of_seen(array, _as_numpy(array, name, written), name, written)


def is_in_place(o: Operand, array: Any, name: str) -> bool:
    """Is the operand the array's own memory? A copy, as the operand keeps it alive, is elsewhere
    the next time."""
    return operand(array, name).address == o.address


def copied(o: Operand, name: str) -> Operand:
    """A copy in C order of elements in host memory."""
    copy = operand(np.ascontiguousarray(_elements(o)), name)
    copy.holder = _Seen(None, copy.holder)
    return copy


def maker_of(array: Any) -> str:
    """The name of the library that made it."""
    return type(array).__module__.partition(".")[0]


def empty_like(array: Any, shape: tuple[int, ...]) -> Any:
    """An array for a result: of CuPy, PyTorch or duoblas if they made `array`, else of NumPy. A
    number may always be in host memory."""
    maker = maker_of(array)
    if maker == "torch":
        return array.new_empty(size=shape)  # without the name it takes 1 us more
    if maker == "cupy":
        with array.device:
            return sys.modules["cupy"].empty(shape, np.float32)
    if isinstance(array, DeviceArray) and shape != ():
        from ._memory import empty_beside
        return empty_beside(array, shape)
    if shape == () or device_of(array) is None:
        return np.empty(shape, np.float32)
    raise ValueError(f"give the array that a result of {maker}'s arrays is put into")


class _Addresses:
    """Elements as NumPy sees them, in any memory."""

    def __init__(self, o: Operand) -> None:
        self.__array_interface__ = {"version": 3, "typestr": _FLOAT.str, "shape": o.shape,
                                    "strides": tuple(4 * s for s in o.strides),
                                    "data": (o.address, True)}


def _elements(o: Operand) -> np.ndarray[Any, Any]:
    return np.asarray(_Addresses(o))


def overlap(x: Operand, y: Operand) -> bool:
    """Do they have an element in common? Where that would take long to find out: might they?"""
    (low, bytes_), (other, other_bytes) = x.span(), y.span()
    if not (low < other + other_bytes and other < low + bytes_):
        return False
    try:
        return bool(np.shares_memory(_elements(x), _elements(y), max_work=_SHORT))
    except Exception as problem:
        if type(problem).__name__ != "TooHardError":
            raise
        return True
