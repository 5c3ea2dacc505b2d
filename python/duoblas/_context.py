"""Contexts, and the choice of one for a call."""

from __future__ import annotations

import ctypes
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal, Optional, Protocol, Union

from . import _cuda, _scope
from ._arguments import choice, integer, integers, stream_address
from ._arrays import Operand, is_of_others
from ._callbacks import Log, decider
from ._errors import DeviceError, check
from ._explain import Explanation, explained, last_decision
from ._library import MATHS, OPENING, PATHS, PRIORITIES, REMEMBER, library
from ._locked import Locked
from ._ranges import Range, adopted
from ._unique import Unique

if TYPE_CHECKING:
    import logging

    from ._keep import Kept

__all__ = ["Context", "Math", "Path", "Priority", "Taker", "context_for", "default_context",
           "explain"]

Path = Literal["auto", "cpu", "gpu"]
Math = Literal["accurate", "ieee", "tf32", "float64"]
Priority = Literal["normal", "high"]
Opening = Literal["first", "background"]
Remember = Literal["none", "bytes", "pages"]

_AWAITED = 128  # results that are remembered; the library itself waits for the oldest of 64


class Taker(Protocol):
    """Takes a context's operations, which are not carried out then."""

    def take(self, ctx: Context, function: Callable[..., int], operands: Sequence[Operand],
             arguments: Sequence[Any]) -> None:
        """One operation, as of Context._run."""

    def join(self, ctx: Context) -> None:
        """It takes this context's, too."""


class Context(Locked, Unique):
    """An in-order queue on one device, with its policy: how its calls choose, and compute.

    In its ``with`` block it is the one that calls without ``ctx`` use, on this thread and in this
    task of asyncio; at the end of the block it is closed. Calls without any context use one that
    belongs to the thread. A context may be used by several threads, one call at a time.

    path          "auto", the default: each call runs where it is predicted to finish first. "cpu",
                  "gpu": there. "gpu" without a GPU runs on the CPU.
    math          "accurate", the default: errors as of fp32 multiply-adds; "ieee": only these,
                  with the same bits on every side and machine; "tf32": faster, and less accurate;
                  "float64": products and sums in float64.
    threads       most CPU threads of a call; 0: the default.
    device        number of the GPU; devices: several of them, for products of host arrays.
    stream        the caller's CUDA stream: an object of CuPy, PyTorch or Numba, or its address. It
                  has to live as long as the context, and to be one of its device.
    asynchronous  results of reductions on the GPU may come after the call: see sasum.
    adapt         learn from the calls where the predictions are off.
    priority      "normal" or "high", of its work on the device.
    remember      "bytes": a matrix in plain host memory is not sent again while its bytes stay the
                  same; "pages": nor read, while the system says that nobody wrote to it;
                  "none": each product sends it.
    opening       "first": the first call that is faster on the GPU opens it; "background": it runs
                  on the CPU, and a thread opens the GPU when that pays.
    verify        the part of its calls whose results are checked, from 0 to 1; seed 0. A wrong one
                  is computed again, or is a WrongResultError. See duo_set_verify of duoblas.h.

    Arguments that are not given are as in the environment (DUOBLAS_PATH and others).
    """

    def __init__(self, *, path: Optional[Path] = None, math: Optional[Math] = None,
                 threads: Optional[int] = None, device: Optional[int] = None,
                 devices: Optional[Sequence[int]] = None, stream: Any = None,
                 asynchronous: bool = False, adapt: Optional[bool] = None,
                 priority: Optional[Priority] = None,
                 remember: Optional[Remember] = None,
                 opening: Optional[Opening] = None,
                 verify: Optional[float] = None) -> None:
        super().__init__()
        self._handle: Optional[int] = None
        self._given: dict[str, Any] = {}
        self._device: Optional[int] = None
        self._stream: Optional[int] = None
        self._asynchronous = False
        self._awaited: deque[Any] = deque(maxlen=_AWAITED)
        self._taker: Optional[Taker] = None
        self._log: Optional[Log] = None
        self._decide: Any = None
        self._long_way = False
        self._deciding = False
        self._blocks = 0
        self._waits = False  # its calls on a device are done when they return
        self._last: Callable[[], Optional[_scope.LastCall]] = lambda: None
        handle = ctypes.c_void_p()
        if device is not None and devices is not None:
            raise ValueError("give device or devices, not both")
        check(library.duo_create(ctypes.byref(handle)))
        self._handle = handle.value
        try:
            if path is not None:
                self.set_path(path)
            if math is not None:
                self.set_math(math)
            if threads is not None:
                self.set_threads(threads)
            if devices is not None:
                self.set_devices(devices)
            if device is not None:
                self.set_device(device)
            if stream is not None:
                self.set_stream(stream)
            if adapt is not None:
                self._call(library.duo_set_adapt, int(bool(adapt)))
                self._given["adapt"] = bool(adapt)
            if priority is not None:
                self._call(library.duo_set_priority, choice(PRIORITIES, priority, "priority"))
                self._given["priority"] = priority
            if remember is not None:
                self._call(library.duo_set_remember, choice(REMEMBER, remember, "remember"))
                self._given["remember"] = remember
            if opening is not None:
                self._call(library.duo_set_open, choice(OPENING, opening, "opening"))
                self._given["opening"] = opening
            if verify is not None:
                self.set_verify(verify)
            if asynchronous:
                self.set_asynchronous(True)
        except BaseException:
            self.close()
            raise

    # ---- Policy ----

    def set_path(self, path: Path) -> None:
        """Which side may serve its calls."""
        self._call(library.duo_set_path, choice(PATHS, path, "path"))
        self._given["path"] = path

    def set_math(self, math: Math) -> None:
        """The arithmetic of its calls."""
        self._call(library.duo_set_math, choice(MATHS, math, "math"))
        self._given["math"] = math

    def set_verify(self, rate: float, seed: int = 0) -> None:
        """The part of its calls whose results are checked, and what decides which."""
        self._call(library.duo_set_verify, float(rate), integer(seed, "seed"))
        self._given["verify"] = rate

    def set_threads(self, threads: int) -> None:
        """Most CPU threads that a call may use; 0: the default."""
        self._call(library.duo_set_threads, integer(threads, "threads"))
        self._given["threads"] = threads

    @property
    def threads(self) -> int:
        """Most CPU threads that a call may use now."""
        count = ctypes.c_int()
        self._call(library.duo_get_threads, ctypes.byref(count))
        return count.value

    def set_device(self, device: int) -> None:
        """The GPU of later calls. A stream of another one is given up."""
        number = integer(device, "device")
        self._call(library.duo_set_device, number)
        self._moved(number)
        self._given["device"] = number

    def set_devices(self, devices: Sequence[int]) -> None:
        """The GPUs that share a product of host arrays; the first is the context's own. Empty: all
        of them."""
        numbers = integers(devices, "devices")
        self._call(library.duo_set_devices, (ctypes.c_int * len(numbers))(*numbers), len(numbers))
        if numbers:
            self._moved(numbers[0])
        self._given["devices"] = numbers

    def set_stream(self, stream: Any) -> None:
        """Run in the caller's CUDA stream; None: in one of its own."""
        address = stream_address(stream)
        self._call(library.duo_set_stream, address)
        self._stream = address
        self._given["stream"] = address

    def set_asynchronous(self, on: bool) -> None:
        """May results of reductions come after the call? Switching it off waits for them."""
        self._call(library.duo_set_async, int(bool(on)))
        self._asynchronous = bool(on)
        self._choose_way()
        self._given["asynchronous"] = bool(on)

    def set_log(self, logger: Union[str, logging.Logger, None] = "duoblas") -> None:
        """Where lines on calls and events go: to this logger of `logging`, or that of this name,
        with the level INFO, also if DUOBLAS_VERBOSE is not set. None: to stderr if DUOBLAS_VERBOSE
        asks for it.

        The lines of a call are logged when it ends. What a handler raises goes to
        sys.unraisablehook.   Since 1.0
        """
        log = None if logger is None else Log(self, logger)
        with self._lock:
            self._call(library.duo_set_log, log and log.function, log and log.user)
            self._log = log
            self._choose_way()

    def set_decide(self, decide: Optional[Callable[[Explanation], Optional[str]]]) -> None:
        """Let the program decide which algorithm runs. None: the library decides.

        decide   is called before each call of the context, on its thread, with the explanation of
                 what would run. It returns the name of one of the candidates that accept the call,
                 or None: the library's choice stands. So it does if decide raises an exception,
                 which goes to sys.unraisablehook, or returns anything else. It must not use this
                 context.   Since 1.0
        """
        if decide is not None and not callable(decide):
            raise TypeError(f"decide is a {type(decide).__name__}, which cannot be called")
        function = None if decide is None else decider(self, decide)
        with self._lock:
            self._call(library.duo_set_decide, function and ctypes.cast(function, ctypes.c_void_p),
                       None)
            self._decide = function
            self._choose_way()

    # ---- Work ----

    def synchronize(self) -> None:
        """Wait until all its work is done."""
        self._call(library.duo_synchronize)
        self._awaited.clear()

    def warm_up(self) -> None:
        """Pay the costs of first calls now: open the GPU, start threads, open the CPU's BLAS."""
        self._call(library.duo_warm_up)

    def trim(self) -> None:
        """Give idle workspace back to the system."""
        self._call(library.duo_trim)

    def explain(self) -> Explanation:
        """The choice of its last call, and why. See duoblas.explain."""
        with self._lock:
            return explained(last_decision(self.handle))

    def keep(self, *arrays: Any) -> Kept:
        """See duoblas.keep."""
        from ._keep import keep
        return keep(*arrays, ctx=self)

    def prepare(self, *arrays: Any) -> Kept:
        """See duoblas.prepare."""
        from ._keep import prepare
        return prepare(*arrays, ctx=self)

    # ---- Its life ----

    @property
    def handle(self) -> int:
        """The duo_context, as a number, for calls of the C library by ctypes."""
        if self._handle is None:
            raise ValueError("the context is closed")
        if self._deciding:
            raise ValueError("the context is in a call, which asks what to do: use another context")
        return self._handle

    @property
    def closed(self) -> bool:
        """Was it closed?"""
        return self._handle is None

    def close(self) -> None:
        """Wait for its work, and end it. Kept arrays live on."""
        with self._lock:
            if self._handle is not None:
                handle, self._handle = self.handle, None
                self._settle_last(handle)
                try:
                    check(library.duo_destroy(handle))
                finally:
                    self._tell_log()
                self._awaited.clear()

    def __enter__(self) -> Context:
        self._enter()
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._leave()
            if self._blocks == 0:
                self.close()

    def __repr__(self) -> str:
        given = "".join(f" {name}={value!r}" for name, value in self._given.items())
        return f"<duoblas.Context{given}{' closed' if self.closed else ''}>"

    def __del__(self) -> None:
        try:
            self.close()
        except Exception:  # nobody can be told
            pass

    # ---- For the package ----

    def _enter(self) -> None:
        """A block begins in which calls use it."""
        with self._lock:
            self._blocks += 1
        _scope.enter(self)

    def _leave(self) -> None:
        """Such a block ends."""
        _scope.leave(self)
        with self._lock:
            self._blocks = max(0, self._blocks - 1)

    def _call(self, function: Callable[..., int], *arguments: Any) -> None:
        """function(context, ...)"""
        try:
            with self._lock:
                check(function(self.handle, *arguments), self._handle)
        finally:
            self._tell_log()

    def _capture(self, taker: Optional[Taker]) -> None:
        """Calls go to this one instead of being run; None: they are run."""
        self._taker = taker
        self._choose_way()

    def _choose_way(self) -> None:
        """Have calls to go the long way (_quick)? Only that one knows of these."""
        self._long_way = self._asynchronous or any(
            x is not None for x in (self._taker, self._log, self._decide))

    def _tell_log(self) -> None:
        """Logs what the library told in calls that have ended."""
        if self._log is not None:
            self._log.tell()

    def _end_log(self, log: Log) -> None:
        """The interpreter ends. A thread that is in a call goes on, and may have lines."""
        if self._own.acquire(blocking=False):
            try:
                if self._handle is not None and self._log is log:
                    self.set_log(None)
            finally:
                self._own.release()

    def _moved(self, device: int) -> None:
        """This is its device now. A stream of another device is of no use here."""
        if device != self._device and self._stream is not None:
            self.set_stream(None)
        self._device = device

    def _run(self, function: Callable[..., int], operands: Sequence[Operand],
             *arguments: Any) -> None:
        """An operation. Operands on a device are made known to the library while it runs; it is
        done when this returns, unless it runs in the caller's stream and they stay known."""
        try:
            with self._lock:
                if self._taker is not None:
                    self._taker.take(self, function, operands, arguments)
                    return
                self._note_call(self.handle)
                held: list[Range] = []
                try:
                    for o in operands:
                        if o.device is not None and is_of_others(o) and o.span()[1] > 0:
                            held.append(self._adopt(o, False))
                    check(function(self.handle, *arguments), self._handle)
                    lasting = self._stream is not None and all(h.lasting for h in held)
                    if held and (self._waits or not lasting):
                        check(library.duo_synchronize(self.handle), self._handle)
                finally:
                    for h in held:
                        adopted.let_go(self.handle, h, False)
        finally:
            self._tell_log()

    def _follow_others(self) -> None:
        """It runs in the stream that other libraries use unless they are told of one: behind their
        work, without waiting for it. Its own calls wait, for they may use any other."""
        self._waits = True
        try:
            self.set_stream(_cuda.LEGACY_STREAM)
        except DeviceError:  # the call will tell
            pass

    def _note_call(self, handle: int) -> None:
        """This thread makes a call."""
        last = self._last()
        if last is None or last is not _scope.thread.last:
            self._settle_last(handle)
            last = _scope.thread.last = _scope.LastCall(self)
            self._last = weakref.ref(last)

    def _settle_last(self, handle: int) -> None:
        """From now on the thread of the last call can explain it without the context."""
        last = self._last()
        if last is not None:
            last.settle(handle)

    def _adopt(self, o: Operand, lasting: bool) -> Range:
        """Makes the allocation of an operand on the device known to the library."""
        device = o.device
        assert device is not None
        if self._device is None:
            if self._taker is not None:
                raise ValueError("an array is on a device, and the context of the graph was not "
                                 "given one: Context(device=...)")
            stream = self._stream
            self.set_device(device)
            if stream is not None:
                self.set_stream(stream)
        if device != self._device:
            raise ValueError(f"an array is on device {device}, the context on {self._device}")
        return adopted.need(self.handle, *o.span(), lasting)


# ---- The context of a call ----

def _of_thread(device: Optional[int]) -> Context:
    own = _scope.thread.contexts
    found = own.get(device)
    if found is None or found._handle is None:
        found = own[device] = Context(device=device)
        if device is not None:
            found._follow_others()
    return found


def default_context() -> Context:
    """The context for calls without `ctx` on host arrays: the innermost `with` block's, else the
    thread's own."""
    return context_for(None, [])


def thread_context() -> Context:
    """The thread's own context, which serves its calls outside of `with` blocks."""
    return _of_thread(None)


def context_for(ctx: Optional[Context], devices: Iterable[Optional[int]]) -> Context:
    """The context for a call with arrays on these devices (None: in host memory). They are looked
    at only if the call is in no block, for then the thread has a context for each device."""
    if ctx is None:
        return _scope.innermost() or _of_thread(next((d for d in devices if d is not None), None))
    if not isinstance(ctx, Context):
        raise TypeError(f"ctx is a {type(ctx).__name__}, not a duoblas.Context")
    return ctx


def explain(ctx: Optional[Context] = None) -> Explanation:
    """The choice of the last call, and why: the algorithm, the places of the operands, and all
    candidates with their predicted seconds. For a context, or else for this thread's last call,
    also if its context is closed. LookupError: there was no call yet.
    """
    if ctx is not None:
        return context_for(ctx, []).explain()
    last = _scope.thread.last
    return explained(None) if last is None else last.explain()
