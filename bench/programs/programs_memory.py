"""A product of NumPy with operands that take a given share of the host's memory.

C := A @ B on arrays that no GPU holds. A is square, and B is thin, so that reading A takes most of
the time. All threads make the operands. The product is timed once: there is no room, and no need,
for more. Rows and columns drawn at random are checked in float64, with the bound of float32.
"""
import os
import time
from concurrent.futures import ThreadPoolExecutor

from programs_child import run_child

THIN = 1024  # columns of B, at most a tenth of A's
LINES = 2  # number of checked rows, and of checked columns
PIECE_FLOATS = 1 << 20  # in a piece that a thread makes
CHECK_ROWS = 4  # in a piece that a thread multiplies in float64


def memory_bytes():
    """Bytes of the machine's memory, or the limit of this group of processes."""
    most = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    for limit in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            with open(limit) as file:
                most = min(most, int(file.read()))
        except (OSError, ValueError):  # not there, or "max"
            pass
    return most


def edge_of(share):
    """The edge of A at which A, B and C take this share of the memory."""
    floats = share * memory_bytes() / 4
    thin = min(THIN, max(1, int(floats ** 0.5) // 10))
    return max(1, int((floats + thin * thin) ** 0.5) - thin), thin


# ---- In a separate process ----

def fill(array, pool, numpy, seed):
    """Random numbers, uniform in [-1/2, 1/2)."""
    flat = array.reshape(-1)

    def piece(first):
        part = flat[first:first + PIECE_FLOATS]
        numpy.random.Generator(numpy.random.SFC64((seed, first))).random(dtype=numpy.float32,
                                                                         out=part)
        part -= 0.5

    list(pool.map(piece, range(0, flat.size, PIECE_FLOATS)))


def wide_product(a, lines, pool, numpy):
    """a @ lines.T and |a| @ |lines|.T in float64, by rows of a: no BLAS, no copy of a."""
    product, magnitude = (numpy.empty((len(lines), len(a))) for _ in range(2))
    sizes = numpy.abs(lines)

    def rows(first):
        part = a[first:first + CHECK_ROWS].astype(numpy.float64)
        size = numpy.abs(part)
        for line in range(len(lines)):
            here = line, slice(first, first + CHECK_ROWS)
            product[here] = numpy.einsum("ik,k->i", part, lines[line])
            magnitude[here] = numpy.einsum("ik,k->i", size, sizes[line])

    list(pool.map(rows, range(0, len(a), CHECK_ROWS)))
    return product, magnitude


def measure(share):
    import numpy
    n, thin = edge_of(float(share))
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        start = time.perf_counter()
        a, b = numpy.empty((n, n), numpy.float32), numpy.empty((n, thin), numpy.float32)
        fill(a, pool, numpy, 1)
        fill(b, pool, numpy, 2)
        made = time.perf_counter() - start
        start = time.perf_counter()
        c = a @ b
        seconds = time.perf_counter() - start
        random = numpy.random.default_rng()
        i, j = random.integers(n, size=LINES), random.integers(thin, size=LINES)
        start = time.perf_counter()
        transposed = numpy.ascontiguousarray(b.T)
        columns = wide_product(a, transposed[j].astype(numpy.float64), pool, numpy)
        rows = wide_product(transposed, a[i].astype(numpy.float64), pool, numpy)
        checked = time.perf_counter() - start
    unit = 2.0 ** -24
    worst = max(float((abs(got - product) / (unit * magnitude)).max()) for got, product, magnitude
                in ((c[:, j].T, *columns), (c[i], *rows)))
    return {"n": n, "thin": thin, "bytes": a.nbytes + b.nbytes + c.nbytes, "made": made,
            "seconds": seconds, "checked": checked, "error": worst,
            "right": worst <= n + 3}  # NaN: not right


# ---- The table ----

def report(options, folder):
    summary = os.path.join(folder, "memory")
    drop_in = os.path.join(options.folder, "libduoblas-blas.so")
    openblas = options.openblas or "libopenblas.so.0"
    environment = dict(os.environ, LD_PRELOAD=f"{drop_in}:{openblas}", DUOBLAS_CPU_BLAS=openblas,
                       DUOBLAS_SUMMARY=summary)
    run = run_child("memory", environment, str(options.memory_share))
    if run is None:
        raise SystemExit("memory: could not run")
    n, thin = run["n"], run["thin"]
    print(f"NumPy, {n} x {n} @ {n} x {thin}: {run['bytes'] / 2 ** 30:.1f} GiB, "
          f"{options.memory_share:g} of the memory\n"
          f"  made {run['made']:.3g} s, product {run['seconds']:.4g} s "
          f"({2e-9 * n * n * thin / run['seconds']:.4g} GFLOP/s), checked {run['checked']:.3g} s\n"
          f"  largest error of {LINES} rows and {LINES} columns {run['error']:.3g} u |A||B|: "
          f"{'right' if run['right'] else 'WRONG'}", flush=True)
    if not os.path.exists(summary):
        raise SystemExit("memory: this NumPy has a BLAS of its own, and made no call of DuoBLAS")
    with open(summary) as file:
        print("".join("    " + line for line in file))
    if not run["right"]:
        raise SystemExit(1)
