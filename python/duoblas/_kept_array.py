"""Kept arrays that look after themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Optional, Protocol

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

__all__ = ["KeptArray"]

# What NumPy's arrays have, and kept ones too. All else might pass by them unseen.
_FACTS = frozenset(("flags", "itemsize", "nbytes", "strides"))
_VIEWS = frozenset(("diagonal", "ravel", "reshape", "squeeze", "swapaxes", "transpose"))
_READS = frozenset((
    "all", "any", "argmax", "argmin", "argpartition", "argsort", "astype", "clip", "compress",
    "conj", "conjugate", "copy", "cumprod", "cumsum", "dot", "flatten", "item", "max", "mean",
    "min", "nonzero", "prod", "repeat", "round", "searchsorted", "std", "sum", "take", "tobytes",
    "tofile", "tolist", "trace", "var"))
_WRITES = frozenset(("fill", "partition", "put", "sort"))


class Keeper(Protocol):
    """Keeps the memory of an array."""

    def _fetch(self, memory: Any) -> None:
        """Makes it current."""

    def _mark(self, memory: Any) -> None:
        """It was written."""

    def release(self) -> None:
        """Keeps it no longer."""


class KeptArray(NDArrayOperatorsMixin):
    """An array of NumPy's under keep or prepare, or a part of it. It is used as the array is. What
    reads it fetches it first, and what writes to it marks it as changed.

    reads     operators, ufuncs, indices, printing, NumPy's functions, and methods as sum and copy.
    writes    items (`k[0] = 1`), operators in place (`k += 1`), `out` of ufuncs, `numpy.add.at`,
              and fill, put, partition and sort.
    views     slices, T, reshape and others are kept arrays, too. They are not fetched.
    DuoBLAS   its functions take it where it is current, and put results into it. Nothing is
              fetched.

    numpy.asarray(k), and whatever needs an array of NumPy's own, gets a copy of what the array
    holds then. It has no buffer, address or DLPack, so code in C cannot read or write it unseen:
    that is a TypeError, as is numpy.copyto(k, x), and `out=k` where the function is no ufunc.
    Copies, also those of pickle, are NumPy's arrays.

    The array that was given to keep knows nothing of this. If the program reads it, or writes to
    it, `fetch` and `changed` are still needed. DUOBLAS_CHECK=1 (duoblas.h) looks for what was
    forgotten there. After the block this is as the array itself.

    Threads: while one writes to it, no call of another may use it.   Since 1.0
    """

    __slots__ = ("_keeper", "_memory")

    def __init__(self, memory: Any, keeper: Keeper) -> None:
        self._memory = memory
        self._keeper = keeper

    # ---- As of Kept ----

    def fetch(self) -> None:
        """Make the array that was kept current. Not needed for reads of this one."""
        self._keeper._fetch(self._memory)

    def changed(self) -> None:
        """The array that was kept was written. Not needed for writes to this one."""
        self._keeper._mark(self._memory)

    def release(self) -> None:
        """Fetch the arrays that were kept together, and forget them."""
        self._keeper.release()

    # ---- Access ----

    def _current(self) -> Any:
        self.fetch()
        return self._memory

    @contextmanager
    def _written(self) -> Iterator[Any]:
        memory = self._current()
        try:
            yield memory
        finally:
            self.changed()

    def _wrapped(self, found: Any) -> Any:
        """Of an array in the same memory: a kept one."""
        is_view = isinstance(found, np.ndarray) and np.may_share_memory(found, self._memory)
        return KeptArray(found, self._keeper) if is_view else found

    def _viewed(self, take: Callable[[Any], Any]) -> Any:
        """take(memory), of current elements if it copies them."""
        found = self._wrapped(take(self._memory))
        return found if isinstance(found, KeptArray) else take(self._current())

    # ---- NumPy's protocols ----

    def __array__(self, dtype: Any = None, copy: Optional[bool] = None) -> Any:
        if copy is False:
            raise ValueError("an array of NumPy's own is a copy of a kept one")
        return np.array(self._current(), dtype)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **given: Any) -> Any:
        outputs = given.get("out", ())
        touched = (*inputs, *outputs, *given.values())
        for x in touched:
            if isinstance(x, KeptArray):
                x.fetch()
        given = {name: _plain(value) for name, value in given.items()}
        if outputs:
            given["out"] = tuple([_plain(x) for x in outputs])
        try:
            result = getattr(ufunc, method)(*[_plain(x) for x in inputs], **given)
        finally:
            for x in (*outputs, *inputs[:method == "at"]):
                if isinstance(x, KeptArray):
                    x.changed()
        results = result if isinstance(result, tuple) else (result,)
        if not any(isinstance(x, KeptArray) for x in outputs):
            return result
        results = tuple([x if isinstance(x, KeptArray) else r for x, r in zip(outputs, results)])
        return results if len(results) > 1 else results[0]

    def __reduce__(self) -> Any:
        return np.array, (np.array(self),)

    # ---- As an array ----

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of its axes."""
        return tuple(self._memory.shape)

    @property
    def ndim(self) -> int:
        """The number of its axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of its elements."""
        return int(self._memory.size)

    @property
    def dtype(self) -> Any:
        """float32"""
        return self._memory.dtype

    @property
    def T(self) -> KeptArray:
        """The view with the axes in reverse order."""
        return KeptArray(self._memory.T, self._keeper)

    def __getattr__(self, name: str) -> Any:
        """The methods of NumPy's arrays, each by its kind."""
        if name in _FACTS:
            return getattr(self._memory, name)
        if name in _VIEWS:
            return lambda *a, **given: self._viewed(lambda m: getattr(m, name)(*a, **given))
        if name in _READS:
            return lambda *a, **given: self._wrapped(getattr(self._current(), name)(*a, **given))
        if name in _WRITES:
            return lambda *a, **given: self._write(name, *a, **given)
        raise AttributeError(f"a duoblas.KeptArray has no {name}")

    def _write(self, name: str, *arguments: Any, **given: Any) -> None:
        with self._written() as memory:
            getattr(memory, name)(*arguments, **given)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *_FACTS, *_VIEWS, *_READS, *_WRITES})

    def __getitem__(self, index: Any) -> Any:
        return self._viewed(lambda memory: memory[index])

    def __setitem__(self, index: Any, value: Any) -> None:
        with self._written() as memory:
            memory[index] = value

    def __len__(self) -> int:
        return len(self._memory)

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def __contains__(self, value: Any) -> bool:
        return value in self._current()

    def __bool__(self) -> bool:
        return bool(self._current())

    def __int__(self) -> int:
        return int(self._current())

    def __float__(self) -> float:
        return float(self._current())

    def __str__(self) -> str:
        return str(self._current())

    def __repr__(self) -> str:
        start = "KeptArray("
        text = np.array2string(self._current(), separator=", ", prefix=start)
        return f"{start}{text}, dtype={self.dtype})"


def _plain(x: Any) -> Any:
    return x._memory if isinstance(x, KeptArray) else x
