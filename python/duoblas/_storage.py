"""How elements lie in memory, as BLAS is told of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, Optional

import numpy as np

from ._arrays import Operand

__all__ = ["Stack", "Stored", "addresses", "is_apart", "merged", "stored", "view"]


# ---- Matrices ----


class Stored(NamedTuple):
    """A matrix as BLAS is told of it: the order of its elements in memory."""

    order: str  # "row", "column"
    ld: int


def stored(o: Operand) -> Optional[Stored]:
    """The last two axes. None: BLAS cannot be told of these strides."""
    for order, slow in (("row", -2), ("column", -1)):
        fast = -3 - slow
        width, count = o.shape[fast], o.shape[slow]
        least = max(1, width)
        if 0 in o.shape or count == 1 and (width == 1 or o.strides[fast] == 1):
            return Stored(order, least)
        if (width == 1 or o.strides[fast] == 1) and o.strides[slow] >= least:
            return Stored(order, o.strides[slow])
    return None


class Stack(NamedTuple):
    """Matrices at equal distances."""

    operand: Operand  # all of them
    one: Stored
    stride: int  # 0: one matrix for all products

    @property
    def shape(self) -> tuple[int, ...]:
        return self.operand.shape[-2:]


# ---- Axes ----

def view(o: Operand, axes: Iterable[Optional[int]]) -> Operand:
    """The same elements with the axes in this order. None: a new one of length 1."""
    axes = list(axes)
    return Operand(o.address, tuple([1 if i is None else o.shape[i] for i in axes]),
                   tuple([0 if i is None else o.strides[i] for i in axes]), o.device, o.holder)


def merged(shape: Sequence[int], *strides: Sequence[int]) -> list[tuple[int, ...]]:
    """The axes of operands of one shape, as few as visit the same elements in the same order: an
    axis joins the next one if in each operand its steps go on where the next one ends. The length
    of each, and the stride in each operand."""
    axes: list[tuple[int, ...]] = []
    for n, *steps in zip(shape, *strides):
        if n == 1:
            continue
        if axes and all(before == n * step for before, step in zip(axes[-1][1:], steps)):
            n *= axes.pop()[0]
        axes.append((n, *steps))
    return axes


def is_apart(o: Operand) -> bool:
    """Has each index an element of its own? False: or that is not known."""
    reach = 0
    for stride, n in sorted((abs(stride), n) for n, stride in zip(o.shape, o.strides) if n > 1):
        if stride <= reach:
            return False
        reach += (n - 1) * stride
    return True


def addresses(o: Operand, axes: Iterable[tuple[int, int]]) -> np.ndarray[Any, Any]:
    """The addresses that are reached along axes of these lengths and strides, the last one
    fastest."""
    found: np.ndarray[Any, Any] = np.array(o.address, np.intp)
    for n, stride in axes:
        found = np.add.outer(found, np.arange(n, dtype=np.intp) * (4 * stride))
    return found.ravel()
