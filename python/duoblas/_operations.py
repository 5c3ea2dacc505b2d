"""sgemm, sasum, ssum and sdot on arrays."""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Optional, Sequence

import numpy as np

from ._arguments import real
from ._arrays import Operand, copied, device_of, empty_like, operand, overlap
from ._context import Context, context_for
from ._library import LAYOUT, TRANSPOSE, library
from ._quick import quick
from ._storage import Stack, Stored, stored

__all__ = ["answer", "multiply", "multiply_lists", "multiply_stacks", "reduce_to", "sasum", "sdot",
           "sgemm", "sgemm_batched", "sgemm_grouped", "ssum"]


# ---- Matrices ----

def _target(c: Any, out: Any, beta: float) -> Any:
    """C, by its two names."""
    if c is None:
        c = out
    elif out is not None:
        raise ValueError("give c or out, not both")
    if c is None and beta != 0:
        raise ValueError("beta is not 0, so c is needed")
    return c


def _copied(o: Operand, name: str) -> Operand:
    """A copy of an array in host memory that BLAS cannot be told of."""
    if o.device is not None:
        raise ValueError(f"{name} has strides that BLAS does not know: copy it first")
    return copied(o, name)


def _matrix(array: Any, name: str, stream: Optional[int]) -> tuple[Operand, Stored]:
    """A or B."""
    o = operand(array, name, stream=stream)
    if len(o.shape) != 2:
        raise ValueError(f"{name} has {len(o.shape)} dimensions, not 2")
    one = stored(o)
    if one is None:
        o = _copied(o, name)
        one = stored(o)
        assert one is not None
    return o, one


def _result(array: Any, stream: Optional[int]) -> tuple[Operand, Stored]:
    """C."""
    o = operand(array, "c", True, stream)
    if len(o.shape) != 2:
        raise ValueError(f"c has {len(o.shape)} dimensions, not 2")
    one = stored(o)
    if one is None:
        raise ValueError("c has strides that BLAS does not know: elements of its rows, or of its "
                         "columns, have to be neighbours")
    return o, one


def multiply(ctx: Context, alpha: float, a: Operand, sa: Stored, b: Operand, sb: Stored,
             beta: float, c: Operand, sc: Stored) -> None:
    """c = alpha a b + beta c, of matrices whose shapes fit."""
    order = sc.order
    ctx._run(library.duo_sgemm, (a, b, c), LAYOUT[order], TRANSPOSE[sa.order != order],
             TRANSPOSE[sb.order != order], *c.shape, a.shape[1], alpha, a.address, sa.ld, b.address,
             sb.ld, beta, c.address, sc.ld)


def sgemm(a: Any, b: Any, c: Any = None, alpha: float = 1.0, beta: float = 0.0, *,
          out: Any = None, ctx: Optional[Context] = None) -> Any:
    """Matrix product: c = alpha * a @ b + beta * c.

    a     (m, k) float32
    b     (k, n) float32
    c     (m, n) float32; written, and returned. With beta == 0 it is not read. None: a new array,
          in C order, of the library that made `a`.
    out   another name of c

    For a transposed factor give `a.T`. Views with contiguous rows, or contiguous columns, are used
    where they are, in C or F order, also as parts of larger arrays. Any other a and b in host
    memory are copied; any other c is a ValueError, and so is a c that shares elements with a or b.

    Arrays may be NumPy's, or anything with __dlpack__ or __cuda_array_interface__; those on a
    device are used there. docs/reference/python.md tells when a call waits, duoblas.h the errors.
    """
    if c is None or out is None:
        done = quick.sgemm(ctx, a, b, out if c is None else c, alpha, beta)
        if done is not None:
            return done
    alpha, beta = real(alpha, "alpha"), real(beta, "beta")
    c = _target(c, out, beta)
    ctx = context_for(ctx, map(device_of, (a, b, c)))
    stream = ctx._stream
    (oa, sa), (ob, sb) = _matrix(a, "a", stream), _matrix(b, "b", stream)
    (m, k), (rows, n) = oa.shape, ob.shape
    if k != rows:
        raise ValueError(f"a is {m} x {k} and b is {rows} x {n}: columns of a are not rows of b")
    result = empty_like(a, (m, n)) if c is None else c
    oc, sc = _result(result, stream)
    if oc.shape != (m, n):
        raise ValueError(f"c is {oc.shape[0]} x {oc.shape[1]}; it should be {m} x {n}")
    for other, name in ((oa, "a"), (ob, "b")):
        if c is not None and overlap(other, oc):
            raise ValueError(f"c shares elements with {name}")
    multiply(ctx, alpha, oa, sa, ob, sb, beta, oc, sc)
    return result


# ---- Batches ----

def _stack(array: Any, name: str, stream: Optional[int], count: Optional[int],
           written: bool = False) -> tuple[Stack, Optional[int]]:
    """A, B or C, and its number of matrices; count: the number in others."""
    o = operand(array, name, written, stream)
    if len(o.shape) not in ((3,) if written else (2, 3)):
        wanted = "3" if written else "2 or 3"
        raise ValueError(f"{name} has {len(o.shape)} dimensions, not {wanted}")
    one = stored(o)
    if one is None and written:
        raise ValueError(f"{name} has strides that BLAS does not know: elements of rows, or of "
                         "columns, have to be neighbours")
    if one is None:
        o = _copied(o, name)
        one = stored(o)
        assert one is not None
    if len(o.shape) == 2:
        return Stack(o, one, 0), count
    if count is not None and o.shape[0] != count:
        raise ValueError(f"{name} has {o.shape[0]} matrices; it should have {count}")
    return Stack(o, one, o.strides[0] if o.shape[0] > 1 else 0), o.shape[0]


def multiply_stacks(ctx: Context, alpha: float, a: Stack, b: Stack, beta: float, c: Stack,
                    count: int) -> None:
    """c[i] = alpha a[i] b[i] + beta c[i], of stacks whose shapes fit."""
    order = c.one.order
    ctx._run(library.duo_sgemm_strided_batched, (a.operand, b.operand, c.operand), LAYOUT[order],
             TRANSPOSE[a.one.order != order], TRANSPOSE[b.one.order != order], *c.shape, a.shape[1],
             alpha, a.operand.address, a.one.ld, a.stride, b.operand.address, b.one.ld, b.stride,
             beta, c.operand.address, c.one.ld, c.stride, count)


def multiply_lists(ctx: Context, a: Operand, sa: Stored, b: Operand, sb: Stored, c: Operand,
                   sc: Stored, lists: Sequence[np.ndarray[Any, Any]]) -> None:
    """c[i] = a[i] b[i], of matrices at the addresses in three lists."""
    order = sc.order
    in_a, in_b, in_c = (x.ctypes.data for x in lists)
    ctx._run(library.duo_sgemm_batched, (a, b, c), LAYOUT[order], TRANSPOSE[sa.order != order],
             TRANSPOSE[sb.order != order], *c.shape[-2:], a.shape[-1], 1.0, in_a, sa.ld, in_b,
             sb.ld, 0.0, in_c, sc.ld, len(lists[0]))


def sgemm_batched(a: Any, b: Any, c: Any = None, alpha: float = 1.0, beta: float = 0.0, *,
                  out: Any = None, ctx: Optional[Context] = None) -> Any:
    """Matrix products: c[i] = alpha * a[i] @ b[i] + beta * c[i] for every i.

    a     (count, m, k) float32, or (m, k): the same for all products
    b     (count, k, n) float32, or (k, n); at least one of a and b has three dimensions
    c     (count, m, n) float32; as of sgemm. None: a new array, in C order. out: another name

    Each may also be a list of matrices of one shape, which are used where they are.

    One call of the library for all products: on a device one launch, from host memory some. For
    transposed factors give `a.transpose(0, 2, 1)`. Strides, devices and errors are as of sgemm.
    """
    alpha, beta = real(alpha, "alpha"), real(beta, "beta")
    c = _target(c, out, beta)
    if any(isinstance(x, (list, tuple)) for x in (a, b, c)):
        return _multiply_listed(a, b, c, alpha, beta, ctx)
    ctx = context_for(ctx, map(device_of, (a, b, c)))
    sa, count = _stack(a, "a", ctx._stream, None)
    sb, count = _stack(b, "b", ctx._stream, count)
    if count is None:
        raise ValueError("neither a nor b has three dimensions: that is one product, for sgemm")
    (m, k), (rows, n) = sa.shape, sb.shape
    if k != rows:
        raise ValueError(f"a is {m} x {k} and b is {rows} x {n}: columns of a are not rows of b")
    result = empty_like(a, (count, m, n)) if c is None else c
    sc, _ = _stack(result, "c", ctx._stream, count, True)
    if sc.shape != (m, n):
        raise ValueError(f"c is {sc.shape[0]} x {sc.shape[1]}; it should be {m} x {n}")
    for other, name in ((sa, "a"), (sb, "b")):
        if c is not None and overlap(other.operand, sc.operand):
            raise ValueError(f"c shares elements with {name}")
    multiply_stacks(ctx, alpha, sa, sb, beta, sc, count)
    return result


# ---- Groups ----

class _Product(NamedTuple):
    """A product by rows. Neighbours of one shape are a group."""

    shape: tuple[int, ...]  # transa, transb, m, n, k, lda, ldb, ldc
    operands: tuple[Operand, Operand, Operand]


def _product(a: Any, b: Any, c: Any, stream: Optional[int], number: int) -> _Product:
    (oa, sa), (ob, sb) = _matrix(a, f"a[{number}]", stream), _matrix(b, f"b[{number}]", stream)
    oc, sc = _result(c, stream)
    (m, k), (rows, n) = oa.shape, ob.shape
    if k != rows or oc.shape != (m, n):
        raise ValueError(f"product {number}: {m} x {k} times {rows} x {n} is not "
                         f"{oc.shape[0]} x {oc.shape[1]}")
    if overlap(oa, oc) or overlap(ob, oc):
        raise ValueError(f"c[{number}] shares elements with its factors")
    turned = [TRANSPOSE[s.order != sc.order] for s in (sa, sb)]
    if sc.order == "row":
        return _Product((*turned, m, n, k, sa.ld, sb.ld, sc.ld), (oa, ob, oc))
    return _Product((turned[1], turned[0], n, m, k, sb.ld, sa.ld, sc.ld), (ob, oa, oc))


def _multiply_listed(a: Any, b: Any, c: Any, alpha: float, beta: float,
                     ctx: Optional[Context]) -> Any:
    """sgemm_batched, where some are lists of matrices."""
    given = {"a": a, "b": b} if c is None else {"a": a, "b": b, "c": c}
    counts = {name: len(x) for name, x in given.items()
              if isinstance(x, (list, tuple)) or len(getattr(x, "shape", ())) == 3}
    count = next(iter(counts.values()))
    for name, n in counts.items():
        if n != count:
            raise ValueError(f"{name} has {n} matrices; it should have {count}")
    if count == 0 and c is None:
        raise ValueError("there are no matrices that tell the shape of c")
    of_a, of_b = (x if name in counts else [x] * count for name, x in (("a", a), ("b", b)))
    ctx = context_for(ctx, (device_of(x) for s in (of_a, of_b, c) if s is not None for x in s))
    result = c
    if c is None:
        shape = [operand(x, name, stream=ctx._stream).shape
                 for name, x in (("a", of_a[0]), ("b", of_b[0]))]
        result = empty_like(of_a[0], (count, shape[0][0], shape[1][-1]))
    elif "c" not in counts:
        raise ValueError("c has 2 dimensions, not 3")
    products = [_product(of_a[i], of_b[i], result[i], ctx._stream, i) for i in range(count)]
    if len({p.shape for p in products}) == 1:
        _multiply_alike(ctx, alpha, beta, products)
    elif products:
        _multiply_groups(ctx, alpha, beta, products)
    return result


def _multiply_alike(ctx: Context, alpha: float, beta: float, products: Sequence[_Product]) -> None:
    """Products of one shape."""
    turn_a, turn_b, m, n, k, lda, ldb, ldc = products[0].shape
    in_a, in_b, in_c = _address_lists(products)
    ctx._run(library.duo_sgemm_batched, [o for p in products for o in p.operands], LAYOUT["row"],
             turn_a, turn_b, m, n, k, alpha, in_a.ctypes.data, lda, in_b.ctypes.data, ldb, beta,
             in_c.ctypes.data, ldc, len(products))


def sgemm_grouped(a: Sequence[Any], b: Sequence[Any], c: Optional[Sequence[Any]] = None,
                  alpha: float = 1.0, beta: float = 0.0, *, out: Optional[Sequence[Any]] = None,
                  ctx: Optional[Context] = None) -> Any:
    """Matrix products of any shapes: c[i] = alpha * a[i] @ b[i] + beta * c[i] for every i.

    a, b  sequences of matrices, as of sgemm
    c     a sequence of matrices; no two of them, and none and a factor, may share elements. None:
          new arrays, in C order. The sequence is returned. out: another name

    One call of the library for all products: on a device one launch. Put products of the same
    shape beside each other. Strides, devices and errors are as of sgemm.
    """
    alpha, beta = real(alpha, "alpha"), real(beta, "beta")
    c = _target(c, out, beta)
    if len(a) != len(b) or c is not None and len(c) != len(a):
        raise ValueError("there are not as many matrices in each sequence")
    ctx = context_for(ctx, (device_of(x) for s in (a, b, c) if s is not None for x in s))
    result = c
    if result is None:
        result = [empty_like(x, (*operand(x, "a", stream=ctx._stream).shape[:1],
                                 *operand(y, "b", stream=ctx._stream).shape[-1:]))
                  for x, y in zip(a, b)]
    _multiply_groups(ctx, alpha, beta, [_product(*xyz, ctx._stream, i)
                                        for i, xyz in enumerate(zip(a, b, result))])
    return result


def _address_lists(products: Sequence[_Product]) -> list[np.ndarray]:
    """Where the three operands of each are."""
    return [np.array([p.operands[i].address or 0 for p in products], np.uintp) for i in range(3)]


def _multiply_groups(ctx: Context, alpha: float, beta: float, products: Sequence[_Product]) -> None:
    """Products of any shapes."""
    first = [i for i, p in enumerate(products) if i == 0 or p.shape != products[i - 1].shape]
    sizes = np.diff([*first, len(products)])
    turns = np.array([products[i].shape[:2] for i in first], np.int32).reshape(-1, 2).T.copy()
    numbers = np.array([products[i].shape[2:] for i in first], np.int64).reshape(-1, 6).T.copy()
    count = sizes.astype(np.int64)
    factors = [np.full(len(first), x, np.float32) for x in (alpha, beta)]
    lists = _address_lists(products)
    m, n, k, lda, ldb, ldc = (x.ctypes.data for x in numbers)
    ctx._run(library.duo_sgemm_grouped, [o for p in products for o in p.operands], LAYOUT["row"],
             len(first), turns[0].ctypes.data, turns[1].ctypes.data, m, n, k,
             factors[0].ctypes.data, lists[0].ctypes.data, lda, lists[1].ctypes.data, ldb,
             factors[1].ctypes.data, lists[2].ctypes.data, ldc, count.ctypes.data)


# ---- Vectors ----

def _vector(array: Any, name: str, stream: Optional[int], least: Optional[int]) -> Operand:
    """x or y. least: the smallest stride that BLAS knows there; None: it knows all."""
    o = operand(array, name, stream=stream)
    if len(o.shape) != 1:
        raise ValueError(f"{name} has {len(o.shape)} dimensions, not 1")
    if o.shape[0] > 1 and least is not None and o.strides[0] < least:
        o = _copied(o, name)
    return o


def _increment(o: Operand) -> int:
    return o.strides[0] if o.shape[0] > 1 else 1


def reduce_to(ctx: Context, function: Any, vectors: Sequence[Operand], result: Operand) -> None:
    """result = function(vectors), which have the same length."""
    where = [value for o in vectors for value in (o.span()[0], _increment(o))]
    ctx._run(function, (*vectors, result), vectors[0].shape[0], *where, result.address)


def answer(ctx: Context, result: Operand, target: Any, out: Any) -> Any:
    """What a reduction into `target` returns; result: its operand."""
    if ctx._taker is not None:
        return target
    if ctx._asynchronous and result.device is None:
        ctx._awaited.append(result)
        return target
    is_number = out is None and isinstance(target, np.ndarray) and target.ndim == 0
    return target[()] if is_number else target


def _reduce(name: str, arrays: dict[str, Any], out: Any, ctx: Optional[Context],
            least: Optional[int]) -> Any:
    ctx = context_for(ctx, map(device_of, (*arrays.values(), out)))
    vectors = [_vector(x, name, ctx._stream, least) for name, x in arrays.items()]
    if len({o.shape for o in vectors}) > 1:
        raise ValueError("x and y have different lengths: "
                         + " and ".join(str(o.shape[0]) for o in vectors))
    target = np.empty((), np.float32) if out is None else out
    result = operand(target, "out", True, ctx._stream)
    if math.prod(result.shape) != 1:
        raise ValueError("out has more than one element, or none")
    reduce_to(ctx, getattr(library, f"duo_{name}"), vectors, result)
    return answer(ctx, result, target, out)


def sasum(x: Any, *, out: Any = None, ctx: Optional[Context] = None) -> Any:
    """Sum of absolute values of x.

    x     (n,) float32, with any stride: an array in host memory with a negative stride, or 0, is
          copied.
    out   an array of one float32: the result is put into it, and it is returned. On a device the
          call need not wait for it. None: the result is returned as numpy.float32.

    The bits are the same on CPU and GPU, for every stride and number of threads. The result is
    there when the call returns. Only an asynchronous context returns an array without dimensions:
    its value is there after `ctx.synchronize()`.
    """
    done = quick.sasum(ctx, x, out)
    return _reduce("sasum", {"x": x}, out, ctx, 1) if done is None else done


def ssum(x: Any, *, out: Any = None, ctx: Optional[Context] = None) -> Any:
    """Sum of x. Arguments and result as of sasum."""
    done = quick.ssum(ctx, x, out)
    return _reduce("ssum", {"x": x}, out, ctx, 1) if done is None else done


def sdot(x: Any, y: Any, *, out: Any = None, ctx: Optional[Context] = None) -> Any:
    """Inner product of x and y, both (n,) float32, with any strides. Otherwise as sasum."""
    done = quick.sdot(ctx, x, y, out)
    return _reduce("sdot", {"x": x, "y": y}, out, ctx, None) if done is None else done
