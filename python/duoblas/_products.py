"""matmul, dot and vdot: products by NumPy's rules."""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Optional

import numpy as np

from ._arrays import Operand, copied, device_of, empty_like, operand, overlap
from ._context import Context, context_for
from ._elsewhere import elsewhere, why_not
from ._library import library
from ._operations import answer, multiply, multiply_lists, multiply_stacks, reduce_to
from ._quick import quick
from ._storage import Stack, Stored, addresses, is_apart, merged, stored, view

__all__ = ["dot", "matmul", "vdot"]

_FLOAT = np.dtype(np.float32)


# ---- Batches of any number of axes ----

def _steps(o: Operand, counts: tuple[int, ...]) -> tuple[int, ...]:
    """The distances to the next matrix along each axis of a batch, to which those of the operand
    are broadcast."""
    own = [0 if n == 1 else stride for n, stride in zip(o.shape[:-2], o.strides)]
    return (*[0] * (len(counts) - len(own)), *own)


def _usable(o: Operand, name: str) -> tuple[Operand, Stored]:
    """A factor, copied if BLAS cannot be told of its strides: each matrix once, also if it stands
    in the batch often."""
    one = stored(o)
    if one is None:
        often = [n > 1 and stride == 0 for n, stride in zip(o.shape[:-2], o.strides)]
        shape = [1 if again else n for again, n in zip(often, o.shape)]
        o = copied(Operand(o.address, (*shape, *o.shape[-2:]), o.strides, None, o.holder), name)
        one = stored(o)
        assert one is not None
    return o, one


def _multiply(ctx: Context, a: Operand, b: Operand, c: Operand) -> None:
    """c = a @ b. The last two axes are of matrices; the others of a and b are broadcast to c's. No
    two elements of c are the same, and none is in a or b."""
    (a, sa), (b, sb), sc = _usable(a, "a"), _usable(b, "b"), stored(c)
    assert sc is not None
    counts, k = c.shape[:-2], a.shape[-1]
    to_a, to_b, to_c = _steps(a, counts), _steps(b, counts), c.strides[:-2]
    if not any(to_b):  # one b: if the rows of all a, and of all c, go on, it is one product
        rows = merged(c.shape[:-1], (*to_a, a.strides[-2]), (*to_c, c.strides[-2]))
        if len(rows) <= 1:
            m, in_a, in_c = rows[0] if rows else (1, k, c.shape[-1])
            whole_a = Operand(a.address, (m, k), (in_a, a.strides[-1]), a.device, a.holder)
            whole_c = Operand(c.address, (m, c.shape[-1]), (in_c, c.strides[-1]), c.device,
                              c.holder)
            s, t = stored(whole_a), stored(whole_c)
            if s is not None and t is not None:
                multiply(ctx, 1.0, whole_a, s, b, sb, 0.0, whole_c, t)
                return
    axes = merged(counts, to_a, to_b, to_c)
    if len(axes) <= 1:
        count, *steps = axes[0] if axes else (1, 0, 0, 0)
        stacks = [Stack(*told) for told in zip((a, b, c), (sa, sb, sc), steps)]
        multiply_stacks(ctx, 1.0, stacks[0], stacks[1], 0.0, stacks[2], count)
    else:
        lists = [addresses(o, [(axis[0], axis[i]) for axis in axes])
                 for i, o in enumerate((a, b, c), 1)]
        multiply_lists(ctx, a, sa, b, sb, c, sc, lists)


# ---- NumPy's rules ----

class _Plan(NamedTuple):
    """A product as a batch of products of matrices."""

    a: Operand
    b: Operand
    shape: tuple[int, ...]  # of the result
    axes: tuple[Optional[int], ...]  # of the result, as a batch


def _planned(name: str, a: Operand, b: Operand) -> Optional[_Plan]:
    """None: the shapes do not fit, or it is no product of matrices."""
    if not a.shape or not b.shape:
        return None
    rows, columns = len(a.shape) > 1, len(b.shape) > 1  # has the result these axes?
    a = a if rows else view(a, (None, 0))
    b = b if columns else view(b, (0, None))
    (*of_a, m, k), (*of_b, depth, n) = a.shape, b.shape
    if k != depth:
        return None
    if name == "dot" and rows and of_b:  # every matrix of a with every one of b
        first, more = len(of_a), len(of_b)
        a = view(a, (*range(first), *[None] * more, -2, -1))
        return _Plan(a, b, (*of_a, m, *of_b, n),
                     (*range(first), *range(first + 1, first + 1 + more), first, -1))
    counts = tuple(of_a)
    if of_a != of_b:
        try:
            counts = np.broadcast_shapes(counts, tuple(of_b))
        except ValueError:
            return None
    return _Plan(a, b, (*counts, *[m] * rows, *[n] * columns),
                 (*range(len(counts)), len(counts) if rows else None, -1 if columns else None))


def _product(name: str, a: Any, b: Any, out: Any, ctx: Optional[Context]) -> Any:
    def left(why: str) -> Any:
        given = {} if out is None else {"out": out}
        return elsewhere(name, why, a, lambda of: getattr(of, name)(a, b, **given), ctx)

    why = why_not(a, b) if out is None else why_not(a, b, out)
    if why is not None:
        return left(why)
    ctx = context_for(ctx, map(device_of, (a, b, out)))
    oa, ob = operand(a, "a", stream=ctx._stream), operand(b, "b", stream=ctx._stream)
    plan = _planned(name, oa, ob)
    if plan is None:
        return left("shape")
    if any(o.device is not None and stored(o) is None for o in (plan.a, plan.b)):
        return left("strides")
    is_numpys = isinstance(out, np.ndarray)
    if is_numpys and not (out.flags.behaved and (name != "dot" or out.flags.c_contiguous)):
        return left("out")
    target = empty_like(a, plan.shape) if out is None else out
    result = operand(target, "out", True, ctx._stream)
    if result.shape != plan.shape:
        return left("out")
    if len(oa.shape) == len(ob.shape) == 1:
        reduce_to(ctx, library.duo_sdot, (oa, ob), result)
        return answer(ctx, result, target, out if name == "matmul" else None)  # as NumPy's
    if 0 in plan.shape:
        return target
    c = view(result, plan.axes)
    if out is not None and (stored(c) is None or not is_apart(c) or overlap(oa, c)
                            or overlap(ob, c)):
        if not is_numpys or ctx._taker is not None:
            return left("out")
        out[...] = _product(name, a, b, None, ctx)
        return out
    _multiply(ctx, plan.a, plan.b, c)
    return target


def matmul(a: Any, b: Any, /, out: Any = None, *, ctx: Optional[Context] = None) -> Any:
    """Product of matrices, of stacks of them, and of vectors, as numpy.matmul.

    a     (..., m, k), or (k,)
    b     (..., k, n), or (k,)
    out   the array for the result: NumPy's rules for it hold, also if it overlaps with a or b.
          None: a new array of the library that made `a`.

    The result is (..., m, n), where the axes before the last two are broadcast. A vector is one row
    of a, or one column of b, and the result is without that axis; of two vectors it is a number.

    float32 arrays are multiplied by one call of the library, as by sgemm, sgemm_batched and sdot:
    an array that is broadcast is not copied. All else goes to NumPy, to CuPy with arrays of
    CuPy, and to PyTorch with tensors: other types of elements, lists, and what they refuse, so the
    errors are theirs. See `report`.   Since 1.0
    """
    done = quick.sgemm(ctx, a, b, out, 1.0, 0.0)
    return _product("matmul", a, b, out, ctx) if done is None else done


def dot(a: Any, b: Any, out: Any = None, *, ctx: Optional[Context] = None) -> Any:
    """Product over the last axis of a and the last but one of b, as numpy.dot.

        dot(a, b)[i, j, ..., l, n] = sum over k of a[i, j, ..., k] * b[l, ..., k, n]

    a     (..., k)
    b     (..., k, n), or (k,)
    out   a C-contiguous array for the result. None: a new one of the library that made `a`.

    Of vectors and matrices it is what matmul gives. Everything else as of matmul.   Since 1.0
    """
    done = None
    if out is None:
        done = quick.sgemm(ctx, a, b, None, 1.0, 0.0)
        if done is None:
            done = quick.dot(ctx, a, b)
    return _product("dot", a, b, out, ctx) if done is None else done


def _flat(o: Operand, name: str) -> Optional[Operand]:
    """All elements as a vector, in C order. None: an array on a device would be copied."""
    axes = merged(o.shape, o.strides)
    if 0 in o.shape:
        axes = [(0, 1)]
    if len(axes) > 1:
        if o.device is not None:
            return None
        o = copied(o, name)
        axes = [(math.prod(o.shape), 1)]
    n, stride = axes[0] if axes else (1, 1)
    return Operand(o.address, (n,), (stride,), o.device, o.holder)


def vdot(a: Any, b: Any, /, *, ctx: Optional[Context] = None) -> Any:
    """Inner product of all elements, in C order, as numpy.vdot.

    a, b  arrays with the same number of elements, of any shapes

    A number: numpy.float32, or an array without axes of the library that made `a`. Everything else
    as of matmul.   Since 1.0
    """
    def left(why: str) -> Any:
        return elsewhere("vdot", why, a, lambda of: of.vdot(a, b), ctx)

    done = quick.dot(ctx, a, b)
    if done is not None:
        return done
    why = why_not(a, b)
    if why is not None:
        return left(why)
    ctx = context_for(ctx, map(device_of, (a, b)))
    oa, ob = operand(a, "a", stream=ctx._stream), operand(b, "b", stream=ctx._stream)
    if math.prod(oa.shape) != math.prod(ob.shape):
        return left("shape")
    x, y = _flat(oa, "a"), _flat(ob, "b")
    if x is None or y is None:
        return left("strides")
    target = empty_like(a, ())
    result = operand(target, "out", True, ctx._stream)
    reduce_to(ctx, library.duo_sdot, (x, y), result)
    return answer(ctx, result, target, None)
