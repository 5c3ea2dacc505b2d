"""Graphs: calls that are described once and done many times."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any, Optional

from . import _cuda
from ._arrays import Operand, is_copy, is_of_others
from ._context import Context, context_for
from ._errors import Status, check, problem
from ._library import MATHS, Work, library
from ._locked import Locked
from ._ranges import Range, adopted
from ._unique import Unique

__all__ = ["Graph"]

# The kinds of nodes that are one call, and the names of its arguments in duo_work.
_KINDS = {
    "duo_sgemm": (1, "layout transa transb m n k alpha a lda b ldb beta c ldc"),
    "duo_sasum": (2, "n x incx result"),
    "duo_ssum": (3, "n x incx result"),
    "duo_sdot": (4, "n x incx y incy result"),
}


class _Arrays:
    """The arrays of a graph's calls, which live and stay known to the library as long as this."""

    def __init__(self) -> None:
        self._holders: list[object] = []
        self._ranges: list[Range] = []
        self.devices: set[int] = set()  # of arrays that others made

    def hold(self, ctx: Context, operands: Sequence[Operand]) -> None:
        if any(is_copy(o) for o in operands):
            raise ValueError("a graph uses arrays where they are, and one would have to be copied")
        for o in operands:
            self._holders.append(o.holder)
            if o.device is not None and is_of_others(o) and o.span()[1] > 0:
                self._ranges.append(ctx._adopt(o, True))
                self.devices.add(o.device)

    def let_go(self) -> None:
        while self._ranges:
            adopted.let_go(None, self._ranges.pop(), True)
        self._holders.clear()


class _Work:
    """Takes one call as the work of a node."""

    def __init__(self) -> None:
        self.arrays = _Arrays()
        self.work: Optional[Work] = None

    def join(self, ctx: Context) -> None:
        raise ValueError("an update is one call")

    def take(self, ctx: Context, function: Callable[..., int], operands: Sequence[Operand],
             arguments: Sequence[Any]) -> None:
        if self.work is not None or function.__name__ not in _KINDS:
            raise ValueError("an update is one call of sgemm, sasum, ssum or sdot")
        kind, names = _KINDS[function.__name__]
        self.arrays.hold(ctx, operands)
        self.work = Work(size=ctypes.sizeof(Work), kind=kind, **dict(zip(names.split(), arguments)))


class Graph(Locked, Unique):
    """Calls that are described once, and done many times with little work of the host.

    In its ``with`` block calls are not carried out: they become nodes of the graph. `launch` does
    them all, with what is in the arrays then, as often as it is called.

        with duoblas.Graph() as graph:
            duoblas.sgemm(a, b, c)
            total = duoblas.ssum(c[0])
        graph.launch()                      # c and total are there

    ctx   the context of the block's calls, and of those without `ctx`; its threads and its device
          are the graph's. None: default_context().

    Nodes are calls of sgemm, sasum, ssum, sdot and copy, and of the other functions for each call
    of these that they make. A number is an array without dimensions: its value is there after a
    launch. Each node follows the one before; calls in other contexts take part if these wait for
    an Event that the block has recorded, and the block has to wait for one of theirs.

    The graph keeps the arrays of its calls alive, and uses them where they are: all operands of a
    call in host memory, or all on the device. Arrays that would be copied, kept arrays, and calls
    that DuoBLAS leaves to NumPy are a ValueError. An exception in the block ends it without a
    graph.   Since 1.0
    """

    def __init__(self, ctx: Optional[Context] = None) -> None:
        super().__init__()
        self._handle: Optional[int] = None
        self._given = ctx
        self._members: Optional[list[Context]] = None  # they capture; the block's own first
        self._begun = False
        self._arrays = _Arrays()
        self._updated: dict[int, _Arrays] = {}

    # ---- Capture ----

    def __enter__(self) -> Graph:
        if self._begun:
            raise ValueError("a graph has one block: make another graph")
        ctx = context_for(self._given, [])
        with ctx._lock:
            ctx._call(library.duo_graph_begin)
            self._begun = True
            self._members = []
            self.join(ctx)
        ctx._enter()
        return self

    def __exit__(self, kind: Any, *_: object) -> None:
        try:
            self._end()
        except Exception:
            self.close()
            if kind is None:
                raise
        if kind is not None:
            self.close()

    def _end(self) -> None:
        members, self._members = self._members, None
        assert members is not None
        for ctx in members:
            ctx._capture(None)
        ctx, handle = members[0], ctypes.c_void_p()
        ctx._leave()
        with ctx._lock:
            ctx._call(library.duo_graph_end, ctypes.byref(handle))
            self._handle = handle.value
            self._check(library.duo_graph_build(self._handle, ctx.handle))

    def join(self, ctx: Context) -> None:
        """The context takes part, if calls are captured. For the package."""
        if self._members is not None and ctx not in self._members:
            self._members.append(ctx)
            ctx._capture(self)

    def take(self, ctx: Context, function: Callable[..., int], operands: Sequence[Operand],
             arguments: Sequence[Any]) -> None:
        """A call in the block. For the package."""
        self._arrays.hold(ctx, operands)
        check(function(ctx.handle, *arguments), ctx.handle)

    # ---- Use ----

    @property
    def handle(self) -> int:
        """The duo_graph, as a number, for calls of the C library by ctypes."""
        if self._handle is None:
            raise ValueError("the graph is closed, or its block has not ended")
        return self._handle

    def launch(self, ctx: Optional[Context] = None) -> None:
        """Do the graph's calls, behind all earlier ones in the context.

        Results in host memory are there when this returns. Work on arrays that others have on a
        device is done, too, but in a context with the caller's own stream it is queued there. Their
        earlier work is waited for only in the default stream, and in that of the context.
        """
        ctx = context_for(ctx, [])
        try:
            self._launch(ctx)
        finally:
            ctx._tell_log()

    def _launch(self, ctx: Context) -> None:
        with self._lock, ctx._lock:
            devices = {d for a in (self._arrays, *self._updated.values()) for d in a.devices}
            if ctx._stream is None:
                for device in devices:
                    _cuda.synchronize(_cuda.LEGACY_STREAM, device)
            self._check(library.duo_graph_launch(self.handle, ctx.handle))
            if devices and ctx._stream is None:
                check(library.duo_synchronize(ctx.handle), ctx.handle)

    def update(self, node: int, call: Callable[..., Any], *arguments: Any,
               ctx: Optional[Context] = None, **named: Any) -> None:
        """From the next launch on a node does another call: of the same function, with arrays of
        the same shapes and orders, and any alpha and beta.

            graph.update(1, duoblas.sgemm, x, b, c)

        node    its number, from 1 in the order of the block. A batch has one node for each product.
        call    sgemm, sasum, ssum or sdot, with its arguments. Give results, too: `c` or `out`.

        Errors are as of the call, and ArgumentError: there is no such node, or its shape differs.
        """
        taker = _Work()
        ctx = context_for(ctx, [])
        with self._lock, ctx._lock:
            number = ctypes.c_int64()
            self._check(library.duo_graph_node_at(self.handle, node, ctypes.byref(number)))
            if ctx._taker is not None:
                raise ValueError("the context captures a graph")
            ctx._capture(taker)
            try:
                call(*arguments, ctx=ctx, **named)
                if taker.work is None:
                    raise ValueError("there is nothing to do in this call")
                self._check(self._replace(number.value, taker.work))
            except BaseException:
                taker.arrays.let_go()
                raise
            finally:
                ctx._capture(None)
            before = self._updated.get(node)
            self._updated[node] = taker.arrays
            if before is not None:
                before.let_go()

    def _replace(self, node: int, work: Work) -> int:
        """The node keeps its math, which only the library knows."""
        for work.math in MATHS.values():
            status: int = library.duo_graph_update(self._handle, node, ctypes.byref(work))
            if status != Status.ERR_SHAPE:
                break
        return status

    def text(self) -> str:
        """The nodes and what they depend on, in the language of Graphviz: for `dot -Tsvg`."""
        with self._lock:
            length = ctypes.c_size_t()
            self._check(library.duo_graph_print(self.handle, None, 0, ctypes.byref(length)))
            text = ctypes.create_string_buffer(length.value + 1)
            self._check(library.duo_graph_print(self.handle, text, len(text), None))
            return text.value.decode()

    # ---- Its life ----

    def close(self) -> None:
        """Wait for the last launch, and end the graph. Its arrays are free."""
        with self._lock:
            handle, self._handle = self._handle, None
            try:
                check(library.duo_graph_destroy(handle))
            finally:
                for arrays in (self._arrays, *self._updated.values()):
                    arrays.let_go()
                self._updated.clear()

    def _check(self, status: int) -> None:
        if status != Status.OK:
            detail = library.duo_graph_detail(self._handle).decode(errors="replace")
            raise problem(status, detail)

    def __repr__(self) -> str:
        return f"<duoblas.Graph{'' if self._handle is not None else ' without calls'}>"

    def __del__(self) -> None:
        try:
            self.close()
        except Exception:  # nobody can be told
            pass
