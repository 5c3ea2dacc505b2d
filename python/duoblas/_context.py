"""Contexts and events."""

from __future__ import annotations

import ctypes
import threading
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, Optional

from . import _cuda
from ._arrays import Operand
from ._errors import check
from ._explain import Explanation, explain_last
from ._library import MATHS, PATHS, PRIORITIES, library
from ._ranges import Range, adopted

if TYPE_CHECKING:
    from ._keep import Kept

__all__ = ["Context", "Event", "Math", "Path", "Priority", "context_for", "default_context",
           "last_context"]

Path = Literal["auto", "cpu", "gpu"]
Math = Literal["accurate", "ieee", "tf32", "float64"]
Priority = Literal["normal", "high"]

_AWAITED = 128  # results that are remembered; the library itself waits for the oldest of 64


def _value(values: dict[str, int], name: str, what: str) -> int:
    try:
        return values[name]
    except (KeyError, TypeError):
        raise ValueError(f"{what} is {name!r}; it is one of {', '.join(values)}") from None


def _stream_address(stream: Any) -> Optional[int]:
    """The CUDA stream behind a number, or behind an object of CuPy, PyTorch, Numba or cuda.core.
    0 is CUDA's default stream, which the library calls by another number."""
    if stream is None:
        return None
    if hasattr(stream, "__cuda_stream__"):
        stream = stream.__cuda_stream__
        stream = (stream() if callable(stream) else stream)[1]
    else:
        for name in ("cuda_stream", "ptr", "handle"):
            if hasattr(stream, name):
                stream = getattr(stream, name)
                break
        stream = getattr(stream, "value", stream)
    return int(stream or 0) or _cuda.LEGACY_STREAM


class Context:
    """An in-order queue on one device, with its policy: how its calls choose, and compute.

    In its ``with`` block it is the one that calls without ``ctx`` use, on this thread; at the end
    of the block it is closed. Calls without any context use one that belongs to the thread. A
    context may be used by several threads, one call at a time.

    path          "auto", the default: each call runs where it is predicted to finish first. "cpu",
                  "gpu": there. "gpu" without a GPU runs on the CPU.
    math          "accurate", the default: errors as of fp32 multiply-adds; "ieee": these alone;
                  "tf32": faster, and less accurate; "float64": products and sums in float64.
    threads       most CPU threads of a call; 0: the default.
    device        number of the GPU; devices: several of them, for products of host arrays.
    stream        the caller's CUDA stream: an object of CuPy, PyTorch or Numba, or its address. It
                  has to live as long as the context, and to be one of its device.
    asynchronous  results of reductions on the GPU may come after the call: see sasum.
    adapt         learn from the calls where the predictions are off.
    priority      "normal" or "high", of its work on the device.

    What is not given is as the environment (DUOBLAS_PATH and others) has it.
    """

    def __init__(self, *, path: Optional[Path] = None, math: Optional[Math] = None,
                 threads: Optional[int] = None, device: Optional[int] = None,
                 devices: Optional[Sequence[int]] = None, stream: Any = None,
                 asynchronous: bool = False, adapt: Optional[bool] = None,
                 priority: Optional[Priority] = None) -> None:
        self._handle: Optional[int] = None
        self._lock = threading.RLock()
        self._device: Optional[int] = None
        self._stream: Optional[int] = None
        self._asynchronous = False
        self._awaited: deque[Any] = deque(maxlen=_AWAITED)
        self._blocks = 0
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
                self._call(library.duo_set_adapt, int(adapt))
            if priority is not None:
                self._call(library.duo_set_priority, _value(PRIORITIES, priority, "priority"))
            if asynchronous:
                self.set_asynchronous(True)
        except BaseException:
            self.close()
            raise

    # ---- Policy ----

    def set_path(self, path: Path) -> None:
        """Which side may serve its calls."""
        self._call(library.duo_set_path, _value(PATHS, path, "path"))

    def set_math(self, math: Math) -> None:
        """The arithmetic of its calls."""
        self._call(library.duo_set_math, _value(MATHS, math, "math"))

    def set_threads(self, threads: int) -> None:
        """Most CPU threads that a call may use; 0: the default."""
        self._call(library.duo_set_threads, threads)

    def set_device(self, device: int) -> None:
        """The GPU of later calls. A stream of another one is given up."""
        self._call(library.duo_set_device, device)
        self._moved(device)

    def set_devices(self, devices: Sequence[int]) -> None:
        """The GPUs that share a product of host arrays; the first is the context's own. Empty: all
        of them."""
        numbers = (ctypes.c_int * len(devices))(*devices)
        self._call(library.duo_set_devices, numbers, len(devices))
        if len(devices) > 0:
            self._moved(devices[0])

    def set_stream(self, stream: Any) -> None:
        """Run in the caller's CUDA stream; None: in one of its own."""
        address = _stream_address(stream)
        self._call(library.duo_set_stream, address)
        self._stream = address

    def set_asynchronous(self, on: bool) -> None:
        """May results of reductions come after the call? Switching it off waits for them."""
        self._call(library.duo_set_async, int(on))
        self._asynchronous = on

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

    def explain(self) -> Optional[Explanation]:
        """What its last call chose, and why; None: there was none. See duoblas.explain."""
        with self._lock:
            return explain_last(self.handle)

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
        return self._handle

    @property
    def closed(self) -> bool:
        """Was it closed?"""
        return self._handle is None

    def close(self) -> None:
        """Wait for its work, and end it. Kept arrays live on."""
        with self._lock:
            handle, self._handle = self._handle, None
            if handle is not None:
                check(library.duo_destroy(handle))
                self._awaited.clear()

    def __enter__(self) -> Context:
        with self._lock:
            self._blocks += 1
        _thread.entered.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        _thread.entered.remove(self)
        with self._lock:
            self._blocks -= 1
            if self._blocks == 0:
                self.close()

    def __del__(self) -> None:
        try:
            self.close()
        except Exception:  # nobody is there to be told
            pass

    # ---- For the package ----

    def _call(self, function: Callable[..., int], *arguments: Any) -> None:
        """function(context, ...)"""
        with self._lock:
            check(function(self.handle, *arguments), self._handle)

    def _moved(self, device: int) -> None:
        """This is its device now, on which a stream of another one is of no use."""
        if device != self._device and self._stream is not None:
            self.set_stream(None)
        self._device = device

    def _run(self, function: Callable[..., int], operands: Sequence[Operand],
             *arguments: Any) -> None:
        """An operation. Operands on a device are made known to the library while it runs; it is
        done when this returns, unless it runs in the caller's stream and they stay known."""
        with self._lock:
            _thread.last = weakref.ref(self)
            held: list[Range] = []
            try:
                for o in operands:
                    if o.device is not None and o.span()[1] > 0:
                        held.append(self._adopt(o, False))
                check(function(self.handle, *arguments), self._handle)
                lasting = self._stream is not None and all(h.lasting for h in held)
                if held and not lasting:
                    check(library.duo_synchronize(self.handle), self._handle)
            finally:
                for h in held:
                    adopted.let_go(self.handle, h, False)

    def _adopt(self, o: Operand, lasting: bool) -> Range:
        """Makes the allocation that an operand on the device is in known to the library."""
        device = o.device
        assert device is not None
        if self._device is None:
            stream = self._stream
            self.set_device(device)
            if stream is not None:
                self.set_stream(stream)
        if device != self._device:
            raise ValueError(f"an array is on device {device}, the context on {self._device}")
        low, length = _cuda.allocation_of(*o.span(), device)
        return adopted.need(self.handle, low, length, lasting)


# ---- Those of a thread ----

class _Thread(threading.local):
    """The contexts of a thread: those whose blocks it is in, and of its own one for host arrays and
    one for each device that arrays are on."""

    def __init__(self) -> None:
        self.entered: list[Context] = []
        self.contexts: dict[Optional[int], Context] = {}
        self.last: Callable[[], Optional[Context]] = lambda: None


_thread = _Thread()


def _of_thread(device: Optional[int]) -> Context:
    found = _thread.contexts.get(device)
    if found is None or found.closed:
        found = _thread.contexts[device] = Context(device=device)
    return found


def default_context() -> Context:
    """The context that calls without `ctx` on host arrays use here: that of the innermost `with`
    block, else the thread's own."""
    return context_for(None, [])


def context_for(ctx: Optional[Context], devices: Sequence[Optional[int]]) -> Context:
    """The context of a call whose arrays are on these devices (None: in host memory)."""
    if ctx is not None:
        return ctx
    if _thread.entered:
        return _thread.entered[-1]
    return _of_thread(next((d for d in devices if d is not None), None))


def last_context() -> Context:
    """The one that this thread's last call used."""
    return _thread.last() or default_context()


# ---- Events ----

class Event:
    """A place in a context's work, that other contexts follow and the host waits for."""

    def __init__(self) -> None:
        self._handle: Optional[int] = None
        handle = ctypes.c_void_p()
        check(library.duo_event_create(ctypes.byref(handle)))
        self._handle = handle.value

    def record(self, ctx: Optional[Context] = None) -> Event:
        """The event is behind all that the context was given so far."""
        (ctx or default_context())._call(library.duo_event_record, self._handle)
        return self

    def wait(self, ctx: Optional[Context] = None) -> None:
        """What the context is given from now on begins when the event is reached. The host goes
        on."""
        (ctx or default_context())._call(library.duo_event_wait, self._handle)

    def synchronize(self) -> None:
        """The host waits until the event is reached."""
        check(library.duo_event_synchronize(self._handle))

    def query(self) -> bool:
        """Has it been reached?"""
        done = ctypes.c_int()
        check(library.duo_event_query(self._handle, ctypes.byref(done)))
        return bool(done.value)

    def __del__(self) -> None:
        if getattr(self, "_handle", None) is not None:
            library.duo_event_destroy(self._handle)
