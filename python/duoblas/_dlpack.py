"""Arrays by DLPack, in any memory."""

from __future__ import annotations

import ctypes
from ctypes import POINTER, c_char_p, c_int, c_int32, c_int64, c_uint8, c_uint16, c_uint32
from ctypes import c_uint64, c_void_p, py_object
from typing import Any, NamedTuple, Optional

__all__ = ["CUDA", "HOST", "MANAGED", "View", "view"]

HOST = (1, 3)  # kDLCPU, kDLCUDAHost: pinned memory
CUDA = 2  # kDLCUDA
MANAGED = 13  # kDLCUDAManaged: the host may read it when the device's work on it is done
_READ_ONLY, _COPIED = 1, 2  # DLPACK_FLAG_BITMASK_...


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


class View(NamedTuple):
    """The contents of a capsule. Strides are in elements."""

    address: int
    shape: tuple[int, ...]
    strides: Optional[tuple[int, ...]]  # None: in C order
    device: int
    is_float32: bool
    read_only: bool  # False: or it cannot tell
    copied: bool
    holder: object  # it keeps the memory alive


def _capsule(array: Any, stream: Optional[int]) -> Any:
    """The array's capsule; its work so far is ordered before the stream's. The capsule stays ours,
    unconsumed: its own destructor gives the array free."""
    try:
        return array.__dlpack__(stream=stream, max_version=(1, 0))
    except TypeError:  # older than DLPack 1.0
        return array.__dlpack__(stream=stream)


def view(array: Any, stream: Optional[int]) -> View:
    """Asks the array for it."""
    if getattr(array, "is_neg", bool)():  # PyTorch's DLPack does not tell
        raise BufferError("a tensor with a minus sign that is still to be applied: resolve_neg()")
    capsule = _capsule(array, stream)
    flags = 0
    if _is_valid(capsule, b"dltensor_versioned"):
        managed = _Versioned.from_address(_get_pointer(capsule, b"dltensor_versioned"))
        tensor, flags = managed.tensor, managed.flags
    else:
        tensor = _Tensor.from_address(_get_pointer(capsule, b"dltensor"))
    strides = tuple(tensor.strides[:tensor.ndim]) if tensor.strides else None
    return View((tensor.data or 0) + tensor.byte_offset, tuple(tensor.shape[:tensor.ndim]), strides,
                tensor.device_id, (tensor.code, tensor.bits, tensor.lanes) == (2, 32, 1),
                bool(flags & _READ_ONLY), bool(flags & _COPIED), (array, capsule))
