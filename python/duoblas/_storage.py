"""How elements lie in memory, as BLAS is told of it."""

from __future__ import annotations

from typing import NamedTuple, Optional

from ._arrays import Operand

__all__ = ["Stack", "Stored", "stored"]


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
