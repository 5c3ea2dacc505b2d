#!/usr/bin/env python3
"""The introductory experiment with numba-cuda, for comparison with `duoblas bench introduction`.

Sums 2^12 .. 2^27 floats by @cuda.reduce, from a host array and from a resident one. Multiplies two
n x n matrices, n = 1000 and 4092, by one thread per element and by tiles in shared memory. Prints
medians in microseconds after a warm-up; the host waits after every call.

Needs Python with numpy and numba-cuda, and a GPU.
"""
import sys
import time

import numpy as np

if not hasattr(np, "row_stack"):  # numba-cuda asks for it, NumPy 2.5 has dropped it
    np.row_stack = np.vstack
from numba import cuda, float32

ROUNDS = 9
LEAST_SECONDS = 0.02  # least length of a round
TILE = 32


@cuda.reduce
def total(a, b):
    return a + b


@cuda.jit
def product_naive(a, b, c):
    """One thread per element of C, every operand from device memory."""
    row, column = cuda.grid(2)
    if row < c.shape[0] and column < c.shape[1]:
        s = float32(0.0)
        for p in range(a.shape[1]):
            s += a[row, p] * b[p, column]
        c[row, column] = s


@cuda.jit
def product_tiled(a, b, c):
    """One block per tile of C; tiles of A and B pass through shared memory."""
    a_tile = cuda.shared.array((TILE, TILE), dtype=float32)
    b_tile = cuda.shared.array((TILE, TILE), dtype=float32)
    x = cuda.threadIdx.x  # along a row, so that a warp reads neighbouring elements
    y = cuda.threadIdx.y
    row = cuda.blockIdx.y * TILE + y
    column = cuda.blockIdx.x * TILE + x
    depth = a.shape[1]
    s = float32(0.0)
    for first in range(0, depth, TILE):
        a_tile[y, x] = float32(0.0)
        b_tile[y, x] = float32(0.0)
        if row < a.shape[0] and first + x < depth:
            a_tile[y, x] = a[row, first + x]
        if first + y < depth and column < b.shape[1]:
            b_tile[y, x] = b[first + y, column]
        cuda.syncthreads()
        for p in range(TILE):
            s += a_tile[y, p] * b_tile[p, x]
        cuda.syncthreads()
    if row < c.shape[0] and column < c.shape[1]:
        c[row, column] = s


def median_microseconds(call):
    """Median time of call(), which must wait for its own result."""
    call()
    call()
    calls = 1
    while True:
        begin = time.perf_counter()
        for _ in range(calls):
            call()
        elapsed = time.perf_counter() - begin
        if elapsed >= LEAST_SECONDS / 4:
            break
        calls *= 4
    rounds = []
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        for _ in range(calls):
            call()
        rounds.append((time.perf_counter() - begin) / calls)
    return 1e6 * sorted(rounds)[ROUNDS // 2]


def check(name, got, want, tolerance):
    if not abs(got - want) <= tolerance:
        sys.exit(f"{name}: wrong result {got}, not {want}")


def sums(rng):
    print(f"sum, microseconds\n  {'n':>6}  {'from host':>14}  {'resident':>14}")
    for exponent in range(12, 28):
        x = rng.uniform(-1.0, 1.0, 1 << exponent).astype(np.float32)
        resident = cuda.to_device(x)
        scale = float(np.abs(x).sum(dtype=np.float64))
        check("sum", float(total(resident)), float(x.sum(dtype=np.float64)), 1e-4 * scale)
        host_us = median_microseconds(lambda: total(x))
        resident_us = median_microseconds(lambda: total(resident))
        print(f"  2^{exponent:<4}  {host_us:14.1f}  {resident_us:14.1f}", flush=True)


def products(rng):
    print("matrix product n x n x n, resident, microseconds")
    for n in (1000, 4092):
        a_host = rng.uniform(-1.0, 1.0, (n, n)).astype(np.float32)
        b_host = rng.uniform(-1.0, 1.0, (n, n)).astype(np.float32)
        a, b = cuda.to_device(a_host), cuda.to_device(b_host)
        c = cuda.device_array((n, n), dtype=np.float32)
        blocks = (n + TILE - 1) // TILE
        want = float(a_host[n // 2].astype(np.float64) @ b_host[:, n // 3].astype(np.float64))
        kernels = (
            ("naive", product_naive, ((n + 15) // 16, (n + 15) // 16), (16, 16)),
            ("tiled", product_tiled, (blocks, blocks), (TILE, TILE)),
        )
        for name, kernel, grid, block in kernels:

            def call():
                kernel[grid, block](a, b, c)
                cuda.synchronize()

            microseconds = median_microseconds(call)
            check(name, float(c.copy_to_host()[n // 2, n // 3]), want, 1e-3 * n)
            print(f"  n = {n:<5} {name:<6} {microseconds:14.1f}", flush=True)


def main():
    rng = np.random.default_rng(1)
    name = cuda.get_current_device().name
    print("numba-cuda on", name.decode() if isinstance(name, bytes) else name)
    sums(rng)
    products(rng)


if __name__ == "__main__":
    main()
