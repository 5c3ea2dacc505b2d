"""Numbers and names that callers give. Values that ctypes would cut off, or refuse by an error of
its own, are refused here."""

from __future__ import annotations

import ctypes
import operator
from collections.abc import Iterable
from typing import Any, Optional

import numpy as np

from . import _cuda

__all__ = ["choice", "integer", "integers", "real", "stream_address"]

_INT = 2**31
_ADDRESS = 2**64


def choice(values: dict[str, int], name: str, what: str) -> int:
    """The number of a name."""
    try:
        return values[name]
    except (KeyError, TypeError):
        raise ValueError(f"{what} is {name!r}; it is one of {', '.join(values)}") from None


def integer(value: Any, name: str) -> int:
    """A C int."""
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} is a {type(value).__name__}, not an integer") from None
    if not -_INT <= number < _INT:
        raise ValueError(f"{name} is {number}, which is out of range")
    return number


def integers(values: Iterable[Any], name: str) -> list[int]:
    """C ints."""
    return [integer(value, f"{name}[{i}]") for i, value in enumerate(values)]


def real(value: Any, name: str) -> float:
    """A C float, as the library sees it: a value too small for one is 0."""
    try:
        if type(value) is float or not np.iscomplexobj(value):
            return ctypes.c_float(value).value
    except TypeError:
        pass
    except OverflowError:  # an integer
        raise ValueError(f"{name} is an integer that is out of range") from None
    raise TypeError(f"{name} is a {type(value).__name__}, not a real number")


def stream_address(stream: Any) -> Optional[int]:
    """The CUDA stream behind a number, or behind an object of CuPy, PyTorch, Numba or cuda.core.
    0 is CUDA's default stream, which the library calls by another number."""
    if stream is None:
        return None
    found = stream
    if hasattr(found, "__cuda_stream__"):
        found = found.__cuda_stream__
        found = (found() if callable(found) else found)[1]
    else:
        for name in ("cuda_stream", "ptr", "handle"):
            if hasattr(found, name):
                found = getattr(found, name)
                break
        found = getattr(found, "value", found)
    if isinstance(found, (float, str, bytes)):
        raise TypeError(f"stream is a {type(stream).__name__}, not a stream or its address")
    address = 0 if found is None else int(found)
    if not 0 <= address < _ADDRESS:
        raise ValueError(f"stream is {stream!r}, which is out of range")
    return address or _cuda.LEGACY_STREAM
