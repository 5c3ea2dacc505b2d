"""sum and abs_sum: sums by NumPy's rules."""

from __future__ import annotations

import math
from typing import Any, Callable, Optional

import numpy as np

from ._arrays import Operand, copied, device_of, empty_like, operand, overlap
from ._context import Context, context_for
from ._elsewhere import elsewhere, why_not
from ._library import library
from ._operations import answer
from ._storage import addresses, merged, view

__all__ = ["abs_sum", "sum"]

_FLOAT = np.dtype(np.float32)
# Elements. Shorter lines are left to NumPy, whose sum takes as long as a call of the library, or
# less: on a Xeon at 2.5 GHz 1.3 us, and the call 1.3, for 4096 elements; 5.3 and 2.5 for 16384.
_LEAST_LINE = 16384


def _is_float32(dtype: Any) -> bool:
    try:
        return bool(np.dtype(dtype) == _FLOAT)
    except TypeError:  # of another library
        return str(dtype) == "torch.float32"


def _summed(axis: Any, rank: int) -> Optional[list[int]]:
    """The axes of a sum. None: NumPy tells what is wrong."""
    if axis is None:
        return list(range(rank))
    axes = axis if isinstance(axis, tuple) else (axis,)
    if not all(isinstance(i, (int, np.integer)) and not isinstance(i, bool) and -rank <= i < rank
               for i in axes):
        return None
    found = sorted({int(i) % rank for i in axes})
    return found if len(found) == len(axes) else None


def _line(o: Operand) -> Optional[tuple[int, int]]:
    """Its elements as one line: their number, and the distance between two. The order is memory's.
    None: there is no such line."""
    if 0 in o.shape:
        return 0, 1
    by_stride = sorted(zip(o.shape, o.strides), key=lambda axis: -axis[1])
    axes = merged([n for n, _ in by_stride], [stride for _, stride in by_stride])
    if not axes:
        return 1, 1
    return (axes[0][0], axes[0][1]) if len(axes) == 1 and axes[0][1] > 0 else None


def _each(function: Any, n: int, step: int, starts: Any, targets: Any) -> Callable[[int], int]:
    """The sums of lines from these addresses to these."""
    def run(handle: int) -> int:
        for start, target in zip(starts.tolist(), targets.tolist()):
            status: int = function(handle, n, start, step, target)
            if status != 0:
                return status
        return 0
    return run


def _sum(name: str, function: Any, x: Any, axis: Any, dtype: Any, out: Any, keepdims: bool,
         ctx: Optional[Context]) -> Any:
    def left(why: str) -> Any:
        given = {"axis": axis, "dtype": dtype, "out": out, "keepdims": keepdims or None}
        given = {key: value for key, value in given.items() if value is not None}
        return elsewhere(name, why, x, lambda of: of.sum(
            of.abs(x) if name == "abs_sum" else x, **given), ctx)

    why = why_not(x) if out is None else why_not(x, out)
    if why is None and dtype is not None and not _is_float32(dtype):
        why = "dtype"
    if why is not None:
        return left(why)
    ctx = context_for(ctx, map(device_of, (x, out)))
    o = operand(x, "x", stream=ctx._stream)
    summed = _summed(axis, len(o.shape))
    if summed is None:
        return left("axis")
    kept = [i for i in range(len(o.shape)) if i not in summed]
    lines = math.prod([o.shape[i] for i in kept])
    line = _line(view(o, summed))
    if lines != 1 and (line is None or line[0] < _LEAST_LINE or line[1] != 1):
        return left("axis")
    if line is None:
        if o.device is not None:
            return left("strides")
        o = copied(o, "x")
        line = math.prod(o.shape), 1
    shape = tuple([1 if i in summed else n for i, n in enumerate(o.shape) if keepdims or i in kept])
    if isinstance(out, np.ndarray) and not out.flags.behaved:
        return left("out")
    target = empty_like(x, shape) if out is None else out
    result = operand(target, "out", True, ctx._stream)
    if result.shape != shape or lines > 1 and out is not None and overlap(o, result):
        return left("out")
    places = kept if keepdims else range(len(kept))
    ctx._run(_each(function, *line, addresses(o, [(o.shape[i], o.strides[i]) for i in kept]),
                   addresses(result, [(result.shape[i], result.strides[i]) for i in places])),
             (o, result))
    return answer(ctx, result, target, out)


def sum(x: Any, /, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False, *,
        ctx: Optional[Context] = None) -> Any:
    """Sum of all elements, or along some axes, as numpy.sum.

    x         an array of any shape
    axis      an axis, or a tuple of axes. None: all.
    dtype     of the result. None: NumPy's choice, which is float32 for float32.
    out       the array for the result. None: a number, or a new array of the library that made `x`.
    keepdims  the axes that are summed stay, with length 1.

    All elements of a float32 array are summed by ssum. Elements that are not at equal distances in
    memory are copied first. Along some axes each line is summed so, if it is contiguous and has at
    least 16384 elements. All else goes to NumPy, CuPy or PyTorch, as with matmul; see `report`.

    The order of summation is that of the elements in memory: for it the header has one error bound,
    and the bits are the same on CPU and GPU.   Since 1.0
    """
    return _sum("sum", library.duo_ssum, x, axis, dtype, out, keepdims, ctx)


def abs_sum(x: Any, /, axis: Any = None, dtype: Any = None, out: Any = None,
            keepdims: bool = False, *, ctx: Optional[Context] = None) -> Any:
    """Sum of absolute values: as sum of numpy.abs(x), without an array of them. Arguments and
    everything else as of sum, by sasum.   Since 1.0"""
    return _sum("abs_sum", library.duo_sasum, x, axis, dtype, out, keepdims, ctx)
