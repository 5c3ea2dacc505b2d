#!/usr/bin/env python3
"""The first launch of a kernel beside a long queue, with numba-cuda: for comparison with
`duoblas bench stall`.

1000 kernels are queued in one stream; each keeps the GPU busy for about 50 us. Then a kernel is
launched in another stream and waited for: one that was compiled and loaded before, and one that
numba has to compile first. Prints the milliseconds of each, and whether the queue still ran.

Needs Python with numpy and numba-cuda, and a GPU.
"""
import time

import numpy as np

if not hasattr(np, "row_stack"):  # numba-cuda asks for it, NumPy 2.5 has dropped it
    np.row_stack = np.vstack
from numba import cuda, float32

QUEUED = 1000
SECONDS = 50e-6  # of one kernel
THREADS = 256
LENGTH = 100000


@cuda.jit
def spin(x, steps):
    """Does `steps` steps; each waits for the one before."""
    value = x[cuda.threadIdx.x]
    for _ in range(steps):
        value = value * float32(0.999) + float32(0.001)
    if value == float32(-1.0):  # never true, but the compiler does not know
        x[cuda.threadIdx.x] = value


@cuda.jit("void(float32[::1], float32[::1])")
def loaded_before(x, y):
    i = cuda.grid(1)
    if i < x.shape[0]:
        y[i] = float32(2.0) * x[i]


@cuda.jit
def never_compiled(x, y):
    i = cuda.grid(1)
    if i < x.shape[0]:
        y[i] = float32(3.0) * x[i]


def seconds_of(launches, blocks, stream, x, steps):
    stream.synchronize()
    begin = time.perf_counter()
    for _ in range(launches):
        spin[blocks, THREADS, stream](x, steps)
    stream.synchronize()
    return (time.perf_counter() - begin) / launches


def calibrated_steps(blocks, stream, x):
    steps = 20000
    seconds_of(1, blocks, stream, x, steps)  # compiles
    long, longer = (seconds_of(20, blocks, stream, x, f * steps) for f in (4, 8))
    return int(SECONDS / ((longer - long) / (4 * steps)))


def first_launch(name, kernel, factor, blocks, busy, other, spin_x, steps, x, y):
    busy.synchronize()
    for _ in range(QUEUED):
        spin[blocks, THREADS, busy](spin_x, steps)
    behind = cuda.event(timing=False)
    behind.record(busy)
    begin = time.perf_counter()
    kernel[(LENGTH + THREADS - 1) // THREADS, THREADS, other](x, y)
    other.synchronize()
    milliseconds = 1e3 * (time.perf_counter() - begin)
    running = "no" if behind.query() else "yes"
    print(f"  {name:<24} {milliseconds:10.3f}  {running}", flush=True)
    if not np.array_equal(y.copy_to_host(), np.float32(factor) * x.copy_to_host()):
        raise SystemExit(f"{name}: wrong result")


def main():
    device = cuda.get_current_device()
    name = device.name
    print("numba-cuda on", name.decode() if isinstance(name, bytes) else name)
    busy, other = cuda.stream(), cuda.stream()
    blocks = 2 * device.MULTIPROCESSOR_COUNT
    spin_x = cuda.to_device(np.ones(THREADS, dtype=np.float32))
    x = cuda.to_device(np.random.default_rng(1).uniform(-1.0, 1.0, LENGTH).astype(np.float32))
    y = cuda.device_array(LENGTH, dtype=np.float32)
    steps = calibrated_steps(blocks, busy, spin_x)
    each = seconds_of(100, blocks, busy, spin_x, steps)
    print(f"{QUEUED} kernels of {1e6 * each:.0f} us are queued; then, in another stream:")
    print(f"  {'':<24} {'ms':>10}  queue still running")
    for what, kernel, factor in (("compiled and loaded", loaded_before, 2.0),
                                 ("not compiled before", never_compiled, 3.0)):
        first_launch(what, kernel, factor, blocks, busy, other, spin_x, steps, x, y)


if __name__ == "__main__":
    main()
