"""Operands: where an array's elements are, whatever made the array.

Host memory is seen as a NumPy array. Device memory is seen by DLPack where the array has it, as
CuPy's, PyTorch's and JAX's do, because that tells the device and can be told a stream; else by the
CUDA array interface, as Numba's.
"""

from __future__ import annotations

import ctypes
import sys
from ctypes import POINTER, c_char_p, c_int, c_int32, c_int64, c_uint8, c_uint16, c_uint32
from ctypes import c_uint64, c_void_p, py_object
from typing import Any, Optional

import numpy as np

from . import _cuda

__all__ = ["Operand", "device_of", "empty_like", "operand", "overlap"]

_FLOAT = np.dtype(np.float32)
_CUDA = 2  # kDLCUDA. Pinned (3) and managed memory (13) can be read by the host, and are used there
_SHORT: Any = 10000  # steps of NumPy's search for an element that two arrays share
_READ_ONLY = 1  # DLPACK_FLAG_BITMASK_READ_ONLY


class Operand:
    """float32 elements at an address. Strides are in elements; device is None for host memory."""

    __slots__ = ("address", "device", "holder", "shape", "strides")

    def __init__(self, address: int, shape: tuple[int, ...], strides: tuple[int, ...],
                 device: Optional[int], holder: object) -> None:
        self.address = address
        self.shape = shape
        self.strides = strides
        self.device = device
        self.holder = holder  # what keeps the memory alive while the operand is used

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


# ---- Host memory ----

def _check_dtype(dtype: Any, name: str) -> None:
    if dtype != _FLOAT:
        raise TypeError(f"{name} has elements of type {dtype}; DuoBLAS computes with float32 alone")


def _of_numpy(array: np.ndarray, name: str, written: bool) -> Operand:
    _check_dtype(array.dtype, name)
    if written and not array.flags.writeable:
        raise ValueError(f"{name} is read-only")
    if not array.flags.aligned:  # be it in the distances between them
        if written:
            raise ValueError(f"{name} has elements that are not aligned to 4 bytes")
        array = array.copy()
    return Operand(array.ctypes.data, array.shape, tuple([s // 4 for s in array.strides]), None,
                   array)


def _as_numpy(array: Any, name: str, written: bool) -> np.ndarray:
    if isinstance(array, np.ma.MaskedArray):
        raise TypeError(f"{name} is a masked array; DuoBLAS knows of no masks")
    if isinstance(array, np.ndarray):
        return array
    if written and not hasattr(array, "__dlpack__") and not hasattr(array, "__array_interface__"):
        raise TypeError(f"{name} is a {type(array).__name__}, which a result cannot be put into")
    return np.asarray(array)


# ---- DLPack ----

class _Tensor(ctypes.Structure):
    """DLTensor"""

    _fields_ = [("data", c_void_p), ("device_type", c_int32), ("device_id", c_int32),
                ("ndim", c_int32), ("code", c_uint8), ("bits", c_uint8), ("lanes", c_uint16),
                ("shape", POINTER(c_int64)), ("strides", POINTER(c_int64)),
                ("byte_offset", c_uint64)]


class _Versioned(ctypes.Structure):
    """DLManagedTensorVersioned"""

    _fields_ = [("major", c_uint32), ("minor", c_uint32), ("manager", c_void_p),
                ("deleter", c_void_p), ("flags", c_uint64), ("tensor", _Tensor)]


_is_valid = ctypes.pythonapi.PyCapsule_IsValid
_is_valid.argtypes = [py_object, c_char_p]
_is_valid.restype = c_int
_get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_get_pointer.argtypes = [py_object, c_char_p]
_get_pointer.restype = c_void_p


def _capsule(array: Any, stream: int) -> Any:
    """The array's capsule; its work so far is ordered before the stream's. The capsule stays ours,
    unconsumed: its own destructor gives the array free."""
    try:
        return array.__dlpack__(stream=stream, max_version=(1, 0))
    except TypeError:  # older than DLPack 1.0
        return array.__dlpack__(stream=stream)


def _row_major(shape: tuple[int, ...]) -> tuple[int, ...]:
    strides, step = [], 1
    for n in reversed(shape):
        strides.append(step)
        step *= n
    return tuple(reversed(strides))


def _of_dlpack(array: Any, name: str, written: bool, stream: int) -> Operand:
    capsule = _capsule(array, stream)
    if _is_valid(capsule, b"dltensor_versioned"):
        managed = _Versioned.from_address(_get_pointer(capsule, b"dltensor_versioned"))
        tensor, read_only = managed.tensor, managed.flags & _READ_ONLY
    else:
        tensor, read_only = _Tensor.from_address(_get_pointer(capsule, b"dltensor")), 0
    if (tensor.code, tensor.bits, tensor.lanes) != (2, 32, 1):
        raise TypeError(f"{name} has elements of another type than float32, which DuoBLAS computes "
                        "with alone")
    if written and read_only:
        raise ValueError(f"{name} is read-only")
    shape = tuple(tensor.shape[i] for i in range(tensor.ndim))
    strides = (tuple(tensor.strides[i] for i in range(tensor.ndim)) if tensor.strides
               else _row_major(shape))
    return Operand((tensor.data or 0) + tensor.byte_offset, shape, strides, tensor.device_id,
                   (array, capsule))


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
    device = _cuda.device_of(address)
    behind = told.get("stream", _cuda.LEGACY_STREAM)
    if behind is not None and behind != stream:
        _cuda.synchronize(behind, device)
    return Operand(address, shape, strides, device, array)


# ---- Any array ----

def device_of(array: Any) -> Optional[int]:
    """The device whose memory the array is in; None: it is in host memory."""
    if isinstance(array, np.ndarray):
        return None
    if hasattr(array, "__dlpack_device__"):
        kind, device = array.__dlpack_device__()
        return int(device) if kind == _CUDA else None
    if hasattr(array, "__cuda_array_interface__"):
        return _cuda.device_of(array.__cuda_array_interface__["data"][0])
    return None


def operand(array: Any, name: str, written: bool = False,
            stream: Optional[int] = None) -> Operand:
    """The array as an operand. stream: the caller's, in which the call will run. Without one the
    array's own work is done when this returns."""
    device = device_of(array)
    if device is None:
        return _of_numpy(_as_numpy(array, name, written), name, written)
    if not hasattr(array, "__dlpack_device__"):
        return _of_interface(array, name, written, stream)
    found = _of_dlpack(array, name, written, stream or _cuda.LEGACY_STREAM)
    if stream is None:
        _cuda.synchronize(_cuda.LEGACY_STREAM, device)
    return found


def empty_like(array: Any, shape: tuple[int, ...]) -> Any:
    """An array for a result: NumPy's for host memory, else of the library that made `array`."""
    if device_of(array) is None:
        return np.empty(shape, np.float32)
    maker = type(array).__module__.partition(".")[0]
    if maker == "torch":
        return array.new_empty(shape)
    if maker == "cupy":
        with array.device:
            return sys.modules["cupy"].empty(shape, np.float32)
    raise ValueError(f"give the array that a result of {maker}'s arrays is put into")


class _Addresses:
    """Elements as NumPy sees them, wherever they are. They are never read."""

    def __init__(self, o: Operand) -> None:
        self.__array_interface__ = {"version": 3, "typestr": _FLOAT.str, "shape": o.shape,
                                    "strides": tuple(4 * s for s in o.strides),
                                    "data": (o.address, True)}


def overlap(x: Operand, y: Operand) -> bool:
    """Do they have an element in common? Where that would take long to find out: might they?"""
    (low, bytes_), (other, other_bytes) = x.span(), y.span()
    if not (low < other + other_bytes and other < low + bytes_):
        return False
    try:
        views = (np.asarray(_Addresses(x)), np.asarray(_Addresses(y)))
        return bool(np.shares_memory(*views, max_work=_SHORT))
    except Exception as problem:
        if type(problem).__name__ != "TooHardError":
            raise
        return True
