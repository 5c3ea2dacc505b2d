"""Facts of this machine as the library sees them."""

from __future__ import annotations

import ctypes
import os
from typing import TypedDict

import numpy as np

from . import _scope
from ._context import Context
from ._errors import Status, check
from ._library import DeviceInfo, library, library_path, library_version
from ._operations import sgemm

__all__ = ["Device", "Info", "device_count", "info"]


class Device(TypedDict):
    """A GPU."""

    name: str  # "not usable" for one that was lost; all else is 0 then
    capability: tuple[int, int]
    multiprocessors: int
    memory_bytes: int
    memory_free_bytes: int
    driver_version: tuple[int, int]


class Info(TypedDict):
    """The result of info()."""

    version: str  # of the library
    library: str
    cpu_sgemm: str  # the algorithm of products on the CPU
    cpu_threads: int
    devices: list[Device]
    environment: dict[str, str]


def device_count() -> int:
    """How many GPUs this process can use."""
    count = ctypes.c_int()
    check(library.duo_device_count(ctypes.byref(count)))
    return count.value


def _device(number: int) -> Device:
    d = DeviceInfo(size=ctypes.sizeof(DeviceInfo))
    status = library.duo_device_describe(number, ctypes.byref(d))
    if status == Status.ERR_DEVICE:  # it is lost: the others keep their numbers
        d.name = b"not usable"
    else:
        check(status)
    return Device(name=d.name.decode(), capability=(d.capability_major, d.capability_minor),
                  multiprocessors=d.multiprocessors, memory_bytes=d.memory_bytes,
                  memory_free_bytes=d.memory_free_bytes,
                  driver_version=(d.driver_version // 1000, d.driver_version % 1000 // 10))


def info() -> Info:
    """The library, its algorithm for products on the CPU, and the GPUs."""
    factor = np.zeros((512, 512), np.float32)
    last = _scope.thread.last
    with Context(path="cpu") as ctx:
        sgemm(factor, factor, ctx=ctx)
        told = ctx.explain()
    _scope.thread.last = last  # this call was not the program's
    return Info(version=library_version, library=library_path, cpu_sgemm=told["algorithm"] or "",
                cpu_threads=told["threads"], devices=[_device(i) for i in range(device_count())],
                environment={k: v for k, v in os.environ.items() if k.startswith("DUOBLAS_")})
