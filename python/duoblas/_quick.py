"""The quick way of a call: arrays of NumPy and of PyTorch, by the compiled module `_direct`.

The module lies beside the C library: in the wheel, and in a build. Without it every call goes the
long way, which takes some 10 us more and gives the same.
"""

from __future__ import annotations

import ctypes
from importlib.machinery import ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

from . import _scope
from ._arrays import empty_like
from ._context import Context
from ._errors import check
from ._library import library, library_path
from ._ranges import adopted

__all__ = ["quick"]


def _open() -> Any:
    path = Path(library_path).parent / "_direct.abi3.so"
    if "/" not in library_path or not path.exists():
        return None
    name = f"{__package__}._direct"
    spec = spec_from_file_location(name, path, loader=ExtensionFileLoader(name, str(path)))
    assert spec is not None and spec.loader is not None
    try:
        module = module_from_spec(spec)
        spec.loader.exec_module(module)
    except ImportError:  # it was made for another NumPy
        return None
    address = ctypes.c_void_p
    module.use(*(ctypes.cast(function, address).value for function in
                 (library.duo_sgemm, library.duo_sasum, library.duo_ssum, library.duo_sdot,
                  library.duo_synchronize)),
               _scope.thread, _scope.blocks, Context, check, adopted, empty_like)
    return module


class _LongWay:
    """In place of the compiled module."""

    def _take_it(self, *_: Any) -> None:
        return None

    sgemm = sasum = ssum = sdot = dot = _take_it


# Operations; their result is None if a call has to go the long way, which also tells what is wrong.
quick: Any = _open() or _LongWay()
