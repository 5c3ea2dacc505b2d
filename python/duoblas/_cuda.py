"""Questions of the package to the CUDA driver: about arrays of others on a device.

The driver is opened when the first of them is seen. Without a driver, as only on the simulated
device of the tests, nothing is known and nothing is waited for.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Iterator
from contextlib import contextmanager
from ctypes import addressof, byref, c_int, c_uint, c_uint64, c_void_p
from typing import Optional

from ._errors import DeviceError, Status

__all__ = ["LEGACY_STREAM", "allocation_of", "device_of", "is_managed", "synchronize"]

LEGACY_STREAM = 1  # CU_STREAM_LEGACY, and in DLPack and the CUDA array interface
_IS_MANAGED, _DEVICE_ORDINAL = 8, 9  # CU_POINTER_ATTRIBUTE_...
_RANGE = (c_int * 2)(11, 12)  # the same: an allocation's address, and its length

_primary: dict[int, c_void_p] = {}


@functools.lru_cache(maxsize=None)
def _driver() -> Optional[ctypes.CDLL]:
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return None
    cuda.cuDevicePrimaryCtxRetain.argtypes = [c_void_p, c_int]
    cuda.cuCtxPushCurrent_v2.argtypes = [c_void_p]
    cuda.cuCtxPopCurrent_v2.argtypes = [c_void_p]
    cuda.cuStreamSynchronize.argtypes = [c_void_p]
    cuda.cuPointerGetAttribute.argtypes = [c_void_p, c_int, c_uint64]
    cuda.cuPointerGetAttributes.argtypes = [c_uint, c_void_p, c_void_p, c_uint64]
    return cuda if cuda.cuInit(0) == 0 else None


@contextmanager
def _current(cuda: ctypes.CDLL, device: int) -> Iterator[None]:
    """Makes the device's primary context, which all libraries share, current on this thread."""
    context = _primary.get(device)
    if context is None:
        context = c_void_p()
        if cuda.cuDevicePrimaryCtxRetain(byref(context), device) != 0:
            raise DeviceError(Status.ERR_DEVICE, f"CUDA device {device}")
        _primary[device] = context  # two threads may do so: it is the same one for both
    if cuda.cuCtxPushCurrent_v2(context) != 0:
        raise DeviceError(Status.ERR_DEVICE, f"CUDA device {device}")
    try:
        yield
    finally:
        cuda.cuCtxPopCurrent_v2(byref(c_void_p()))


def synchronize(stream: int, device: int) -> None:
    """Waits until all work in a stream is done."""
    cuda = _driver()
    if cuda is None:
        return
    with _current(cuda, device):
        if cuda.cuStreamSynchronize(stream) != 0:
            raise DeviceError(Status.ERR_DEVICE, "the work on an array failed before the call")


def _attribute(which: int, address: int) -> int:
    """0 if it is not known."""
    cuda, value = _driver(), c_int(0)
    if cuda is not None and address:
        cuda.cuPointerGetAttribute(byref(value), which, address)
    return value.value


def device_of(address: int) -> int:
    """The device that has this memory."""
    return _attribute(_DEVICE_ORDINAL, address)


def is_managed(address: int) -> bool:
    """May the host use this memory, too?"""
    return _attribute(_IS_MANAGED, address) != 0


def allocation_of(address: int, bytes: int) -> tuple[int, int]:
    """The allocation that holds these bytes: its address and length. Unknown memory is taken as it
    is."""
    cuda = _driver()
    if cuda is not None:
        found = (c_uint64 * 2)()
        places = (c_void_p * 2)(addressof(found), addressof(found) + 8)
        status = cuda.cuPointerGetAttributes(2, _RANGE, places, address)
        base, size = found
        if status == 0 and base <= address and address + bytes <= base + size:
            return base, size
    return address, bytes
