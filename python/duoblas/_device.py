"""Arrays in the library's own device memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._errors import check
from ._library import library
from ._unique import Unique

__all__ = ["DeviceArray", "Memory"]


class Memory:
    """Memory of duo_malloc on a device. Behind its floats is one more, which `wait` writes."""

    def __init__(self, address: int, floats: int, device: int) -> None:
        self.address = address
        self.floats = floats
        self.device = device

    def wait(self) -> None:
        """Waits for all work on it: a write follows all earlier work, and the read follows it."""
        word, last = np.zeros(1, np.float32), self.address + 4 * self.floats
        check(library.duo_copy(None, last, word.ctypes.data, 4))
        check(library.duo_copy(None, word.ctypes.data, last, 4))


class DeviceArray(Unique):
    """float32 elements on a device, made by duoblas.device_empty: an operand of all functions of
    the package, and of libraries that know the CUDA array interface.

    `a[1:, ::2]`, `a.T` and `a.transpose(...)` are views of the same memory, which is freed with the
    last of them. Elements are read and written by duoblas.copy.   Since 1.0
    """

    def __init__(self, memory: Memory, places: np.ndarray) -> None:
        self._memory = memory
        self._places = places  # as NumPy's, for shape and strides: its elements are never touched

    @property
    def shape(self) -> tuple[int, ...]:
        return self._places.shape

    @property
    def strides(self) -> tuple[int, ...]:
        """In bytes, as NumPy's."""
        return self._places.strides

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._places.dtype

    @property
    def ndim(self) -> int:
        return self._places.ndim

    @property
    def size(self) -> int:
        return self._places.size

    @property
    def nbytes(self) -> int:
        return self._places.nbytes

    @property
    def device(self) -> int:
        """The number of the GPU."""
        return self._memory.device

    @property
    def T(self) -> DeviceArray:
        return self.transpose()

    def transpose(self, *axes: Any) -> DeviceArray:
        """A view with these axes; without any, in the opposite order."""
        return DeviceArray(self._memory, self._places.transpose(*axes))

    def __getitem__(self, index: Any) -> DeviceArray:
        parts = index if isinstance(index, tuple) else (index,)
        for part in parts:
            if not (part is None or part is ... or isinstance(part, (slice, int, np.integer))
                    ) or isinstance(part, bool):
                raise TypeError("an array on the device is indexed by integers and slices alone")
        whole = parts if any(part is ... for part in parts) else (*parts, ...)
        return DeviceArray(self._memory, self._places[whole])  # with ... NumPy reads no element

    def __len__(self) -> int:
        return len(self._places)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """All work of the library on it is done. That of others has to be, before the next call."""
        self._memory.wait()
        return {"version": 3, "shape": self.shape, "typestr": self.dtype.str, "stream": None,
                "strides": None if self._places.flags.c_contiguous else self.strides,
                "data": (self._places.ctypes.data, False)}

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise TypeError("the array is on the device: copy it by duoblas.copy")

    def __repr__(self) -> str:
        return f"<duoblas.DeviceArray shape={self.shape} device={self.device}>"
