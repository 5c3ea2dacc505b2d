"""The C library: where it is, and the functions of duoblas.h that the package calls."""

from __future__ import annotations

import ctypes
import os
from ctypes import POINTER, c_char, c_char_p, c_double, c_float, c_int, c_int64
from ctypes import c_size_t, c_uint64, c_void_p
from pathlib import Path
from typing import Any

__all__ = ["Decision", "DeviceInfo", "LAYOUT", "MATHS", "OPENING", "PATHS", "PRIORITIES",
           "REMEMBER", "RESIDENCES", "TRANSPOSE", "library", "library_path", "library_version"]

# The interface that this package is written for: minor versions add to it (stability.md).
_INTERFACE = (1, 0)
_NAME = "libduoblas.so.%d" % _INTERFACE[0]

LAYOUT = {"row": 101, "column": 102}
TRANSPOSE = {False: 111, True: 112}
PATHS = {"auto": 0, "cpu": 1, "gpu": 2}
MATHS = {"accurate": 0, "ieee": 1, "tf32": 2, "float64": 3}
PRIORITIES = {"normal": 0, "high": 1}
OPENING = {"first": 0, "background": 1}
REMEMBER = {"none": 0, "bytes": 1, "pages": 2}
SIDES = ("cpu", "gpu")
RESIDENCES = ("unused", "pageable", "pinned", "kept", "stale", "device", "remembered")

_CANDIDATES = 32


class Candidate(ctypes.Structure):
    """duo_candidate"""

    _fields_ = [("algorithm", c_char_p), ("side", c_int), ("accepts", c_int), ("threads", c_int),
                ("predicted_seconds", c_double)]


class Parts(ctypes.Structure):
    """duo_parts"""

    _fields_ = [("transfer_seconds", c_double), ("launch_seconds", c_double),
                ("compute_seconds", c_double)]


class Decision(ctypes.Structure):
    """duo_decision"""

    _fields_ = [("size", c_size_t), ("operation", c_char_p), ("m", c_int64), ("n", c_int64),
                ("k", c_int64), ("residence", c_int * 3), ("side", c_int),
                ("algorithm", c_char_p), ("threads", c_int), ("predicted_seconds", c_double),
                ("seconds", c_double), ("candidates", c_int),
                ("candidate", Candidate * _CANDIDATES), ("note", c_char * 160), ("ran", c_int),
                ("profile_seconds", c_double), ("gpu", c_int), ("gpu_seconds", c_double),
                ("open_seconds", c_double), ("checked_bytes", c_double),
                ("spared_seconds", c_double), ("parts", Parts * _CANDIDATES),
                ("reason", c_char * 320), ("count", c_int64), ("route", c_char_p * _CANDIDATES)]


class DeviceInfo(ctypes.Structure):
    """duo_device_info"""

    _fields_ = [("size", c_size_t), ("name", c_char * 256), ("capability_major", c_int),
                ("capability_minor", c_int), ("multiprocessors", c_int),
                ("memory_bytes", c_uint64), ("memory_free_bytes", c_uint64),
                ("driver_version", c_int), ("clock_khz", c_int), ("memory_clock_khz", c_int),
                ("memory_bus_bits", c_int), ("pcie_generation", c_int), ("pcie_width", c_int)]


class Work(ctypes.Structure):
    """duo_work"""

    _fields_ = [("size", c_size_t), ("kind", c_int), ("math", c_int), ("layout", c_int),
                ("transa", c_int), ("transb", c_int), ("m", c_int64), ("n", c_int64),
                ("k", c_int64), ("alpha", c_float), ("beta", c_float), ("a", c_void_p),
                ("b", c_void_p), ("c", c_void_p), ("lda", c_int64), ("ldb", c_int64),
                ("ldc", c_int64), ("x", c_void_p), ("y", c_void_p), ("incx", c_int64),
                ("incy", c_int64), ("result", c_void_p), ("dst", c_void_p), ("src", c_void_p),
                ("dst_pitch", c_size_t), ("src_pitch", c_size_t), ("width", c_size_t),
                ("height", c_size_t), ("value", c_int), ("function", c_void_p),
                ("user", c_void_p)]


_REDUCTION = [c_void_p, c_int64, c_void_p, c_int64, c_void_p]

# Arguments of the functions that return a status. Contexts, events, graphs and addresses are plain
# pointers.
_ARGUMENTS: dict[str, list[Any]] = {
    "duo_create": [POINTER(c_void_p)],
    "duo_destroy": [c_void_p],
    "duo_set_path": [c_void_p, c_int],
    "duo_set_math": [c_void_p, c_int],
    "duo_set_threads": [c_void_p, c_int],
    "duo_get_threads": [c_void_p, POINTER(c_int)],
    "duo_set_adapt": [c_void_p, c_int],
    "duo_set_remember": [c_void_p, c_int],
    "duo_set_open": [c_void_p, c_int],
    "duo_set_verify": [c_void_p, c_double, c_uint64],
    "duo_get_verified": [POINTER(c_int64), POINTER(c_int64)],
    "duo_set_async": [c_void_p, c_int],
    "duo_set_device": [c_void_p, c_int],
    "duo_set_devices": [c_void_p, POINTER(c_int), c_int],
    "duo_set_stream": [c_void_p, c_void_p],
    "duo_set_log": [c_void_p, c_void_p, c_void_p],
    "duo_set_decide": [c_void_p, c_void_p, c_void_p],
    "duo_set_priority": [c_void_p, c_int],
    "duo_warm_up": [c_void_p],
    "duo_synchronize": [c_void_p],
    "duo_trim": [c_void_p],
    "duo_event_create": [POINTER(c_void_p)],
    "duo_event_destroy": [c_void_p],
    "duo_event_record": [c_void_p, c_void_p],
    "duo_event_wait": [c_void_p, c_void_p],
    "duo_event_synchronize": [c_void_p],
    "duo_event_query": [c_void_p, POINTER(c_int)],
    "duo_graph_begin": [c_void_p],
    "duo_graph_end": [c_void_p, POINTER(c_void_p)],
    "duo_graph_build": [c_void_p, c_void_p],
    "duo_graph_launch": [c_void_p, c_void_p],
    "duo_graph_update": [c_void_p, c_int64, POINTER(Work)],
    "duo_graph_node_at": [c_void_p, c_int64, POINTER(c_int64)],
    "duo_graph_print": [c_void_p, c_void_p, c_size_t, POINTER(c_size_t)],
    "duo_graph_destroy": [c_void_p],
    "duo_device_count": [POINTER(c_int)],
    "duo_device_describe": [c_int, POINTER(DeviceInfo)],
    "duo_sgemm": [c_void_p, c_int, c_int, c_int, c_int64, c_int64, c_int64, c_float, c_void_p,
                  c_int64, c_void_p, c_int64, c_float, c_void_p, c_int64],
    "duo_sgemm_strided_batched": [c_void_p, c_int, c_int, c_int, c_int64, c_int64, c_int64, c_float,
                                  c_void_p, c_int64, c_int64, c_void_p, c_int64, c_int64, c_float,
                                  c_void_p, c_int64, c_int64, c_int64],
    "duo_sgemm_batched": [c_void_p, c_int, c_int, c_int, c_int64, c_int64, c_int64, c_float,
                          c_void_p, c_int64, c_void_p, c_int64, c_float, c_void_p, c_int64,
                          c_int64],
    "duo_sgemm_grouped": [c_void_p, c_int, c_int64, *[c_void_p] * 14],
    "duo_sasum": _REDUCTION,
    "duo_ssum": _REDUCTION,
    "duo_sdot": [c_void_p, c_int64, c_void_p, c_int64, c_void_p, c_int64, c_void_p],
    "duo_malloc": [c_void_p, c_size_t, POINTER(c_void_p)],
    "duo_free": [c_void_p, c_void_p],
    "duo_copy": [c_void_p, c_void_p, c_void_p, c_size_t],
    "duo_malloc_host": [c_void_p, c_size_t, POINTER(c_void_p)],
    "duo_free_host": [c_void_p, c_void_p],
    "duo_adopt": [c_void_p, c_void_p, c_size_t],
    "duo_disown": [c_void_p, c_void_p],
    "duo_keep": [c_void_p, c_void_p, c_size_t],
    "duo_changed": [c_void_p, c_void_p, c_size_t],
    "duo_fetch": [c_void_p, c_void_p, c_size_t],
    "duo_release": [c_void_p, c_void_p],
    "duo_prepare": [c_void_p, c_void_p, c_size_t],
    "duo_explain_last": [c_void_p, POINTER(Decision)],
}


def _open() -> tuple[ctypes.CDLL, str]:
    """DUOBLAS_LIBRARY, else the one in this package, else the system's."""
    bundled = Path(__file__).parent / "lib" / _NAME
    name = os.environ.get("DUOBLAS_LIBRARY") or (str(bundled) if bundled.exists() else _NAME)
    try:
        return ctypes.CDLL(name), name
    except OSError as problem:
        raise ImportError(
            f"duoblas: the C library cannot be opened: {problem}. Install the package from a wheel "
            "or DuoBLAS itself, or name its library in DUOBLAS_LIBRARY.") from None


def _declare(opened: ctypes.CDLL) -> None:
    for name, arguments in _ARGUMENTS.items():
        function = getattr(opened, name)
        function.argtypes = arguments
        function.restype = c_int
    opened.duo_version.argtypes = []
    opened.duo_version.restype = c_int
    opened.duo_status_string.argtypes = [c_int]
    opened.duo_status_string.restype = c_char_p
    for name in ("duo_error_detail", "duo_graph_detail"):
        function = getattr(opened, name)
        function.argtypes = [c_void_p]
        function.restype = c_char_p


library, library_path = _open()
_number = library.duo_version()
library_version = "%d.%d.%d" % (_number // 10000, _number // 100 % 100, _number % 100)
if _number // 10000 != _INTERFACE[0] or _number // 100 % 100 < _INTERFACE[1]:
    raise ImportError(f"duoblas: {library_path} is version {library_version}; this package is "
                      "written for %d.%d" % _INTERFACE)
_declare(library)
