"""BLAS calls of this process by NumPy, SciPy and others, served by the drop-in: install,
uninstall, installed; and the program that starts another one so."""

from __future__ import annotations

import ctypes
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.machinery import ExtensionFileLoader, ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any, Optional, TypedDict

from ._library import library_path
from ._locked import Locked

__all__ = ["Served", "drop_in_path", "install", "installed", "served", "uninstall"]

_NAME = "libduoblas-blas.so.1"


class Served(TypedDict):
    """The BLAS calls of one operation."""

    on_cpu: int
    on_gpu: int
    nothing: int  # that had nothing to do
    small: int    # that would not be faster on a GPU
    cpu_seconds: float
    gpu_seconds: float
    moved_bytes: float  # to a device and back


class _Calls(ctypes.Structure):
    """duo_blas_calls"""

    _fields_ = [("operation", ctypes.c_char_p), ("on_cpu", ctypes.c_int64),
                ("on_gpu", ctypes.c_int64), ("nothing", ctypes.c_int64),
                ("small", ctypes.c_int64), ("cpu_seconds", ctypes.c_double),
                ("gpu_seconds", ctypes.c_double), ("moved_bytes", ctypes.c_double)]


def drop_in_path() -> str:
    """The drop-in beside the library, else the system's."""
    beside = Path(library_path).parent / _NAME
    return str(beside.resolve()) if "/" in library_path and beside.exists() else _NAME


class _DropIn(Locked):
    """The drop-in of this process, which is opened when it is first needed and never closed."""

    def __init__(self) -> None:
        super().__init__()
        self._library: Optional[ctypes.CDLL] = None
        self.counts: Optional[bool] = None  # None: it is not installed

    def open(self) -> ctypes.CDLL:
        with self._lock:
            if self._library is None:
                try:
                    opened = ctypes.CDLL(drop_in_path())
                except OSError as problem:
                    raise ImportError(f"duoblas: the drop-in cannot be opened: {problem}") from None
                opened.duo_blas_install.argtypes = [ctypes.c_int]
                opened.duo_blas_served.argtypes = [ctypes.c_int]
                opened.duo_blas_served.restype = ctypes.c_char_p
                opened.duo_blas_counted.argtypes = [ctypes.c_int, ctypes.POINTER(_Calls)]
                opened.duo_blas_summary.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
                opened.duo_blas_summary.restype = ctypes.c_size_t
                self._library = opened
            return self._library

    def lead_there(self) -> None:
        """All that is loaded leads to the drop-in."""
        if self.open().duo_blas_install(int(bool(self.counts))) < 0:
            raise MemoryError("there is not enough memory to install the drop-in")

    def served(self) -> tuple[list[str], dict[str, Served], str]:
        """The objects that lead there now; the calls so far; the same in words."""
        opened = self._library
        if opened is None:
            return [], {}, ""
        with self._lock:
            paths: list[str] = []
            while (path := opened.duo_blas_served(len(paths))) is not None:
                paths.append(os.fsdecode(path) or sys.executable)
        calls: dict[str, Served] = {}
        one = _Calls()
        while opened.duo_blas_counted(len(calls), ctypes.byref(one)):
            calls[one.operation.decode()] = Served(
                on_cpu=one.on_cpu, on_gpu=one.on_gpu, nothing=one.nothing, small=one.small,
                cpu_seconds=one.cpu_seconds, gpu_seconds=one.gpu_seconds,
                moved_bytes=one.moved_bytes)
        text = ctypes.create_string_buffer(opened.duo_blas_summary(None, 0) + 1024)
        opened.duo_blas_summary(text, len(text))
        return paths, calls, text.value.decode(errors="replace")


_drop_in = _DropIn()
served = _drop_in.served


# ---- Modules that are imported later ----

_create_module = ExtensionFileLoader.create_module


def _create_served(self: ExtensionFileLoader, spec: ModuleSpec) -> ModuleType:
    """As ExtensionFileLoader.create_module. The module's library is loaded first and led to the
    drop-in, since a module may copy addresses when it begins."""
    if _drop_in.counts is not None and spec.origin is not None:
        try:
            ctypes.CDLL(spec.origin, sys.getdlopenflags())
        except OSError:  # the import tells of it
            pass
        else:
            _drop_in.lead_there()
    return _create_module(self, spec)


def _hook(on: bool) -> None:
    create: Any = _create_served if on else _create_module
    ExtensionFileLoader.create_module = create  # type: ignore[method-assign]


# ---- The functions ----

def _multiplies_of_numpy() -> Optional[str]:
    """NumPy's library that calls BLAS."""
    for name in ("numpy._core._multiarray_umath", "numpy.core._multiarray_umath"):
        module = sys.modules.get(name)
        if module is not None and getattr(module, "__file__", None):
            return os.path.realpath(str(module.__file__))
    return None


def install(*, count: bool = True) -> None:
    """From now on BLAS calls in float32 of this process are served by DuoBLAS: products and sums of
    NumPy (`a @ b`, `np.dot`), of SciPy, and of other libraries that call sgemm, sdot, sasum or ssum
    by the loader; also of modules that are imported later. Each runs where it finishes first. Until
    `uninstall`; a second call changes only `count`.

    count   calls are counted for `report`, which takes about half a microsecond each.

    The arithmetic of other types, and functions with other names (NumPy calls ssyrk for `a @ a.T`,
    sgemv for a matrix times a vector), are left as they are. So are calls inside a library that
    contains its own BLAS; PyPI's PyTorch does. A RuntimeWarning says if that holds for NumPy.

    Raises ImportError (the drop-in is not there), MemoryError (and then nothing is served that was
    not before).   Since 1.0
    """
    with _drop_in._lock:
        before, _drop_in.counts = _drop_in.counts, bool(count)
        try:
            _drop_in.lead_there()
        except BaseException:
            _drop_in.counts = before
            raise
        _hook(True)
    library = _multiplies_of_numpy()
    if library is not None and library not in map(os.path.realpath, served()[0]):
        warnings.warn("NumPy's BLAS calls cannot be reached: they do not go through the loader "
                      f"({library})", RuntimeWarning, stacklevel=2)


def uninstall() -> None:
    """Undoes `install`. Calls that are under way are finished; `report` still tells of all."""
    with _drop_in._lock:
        if _drop_in.counts is not None:
            _hook(False)
            _drop_in.open().duo_blas_uninstall()
            _drop_in.counts = None


@contextmanager
def installed(*, count: bool = True) -> Iterator[None]:
    """`with duoblas.installed():` - as `install` for the block, on all threads. At its end things
    are as they were before."""
    before = _drop_in.counts
    install(count=count)
    try:
        yield
    finally:
        if before is None:
            uninstall()
        else:
            install(count=before)
