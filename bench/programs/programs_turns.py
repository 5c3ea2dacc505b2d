"""A NumPy with its own BLAS takes turns with DuoBLAS in one process.

NumPy from PyPI brings an OpenBLAS with its own threads. They stay awake for a while after a
product, and so do ours. Times products of NumPy and calls of libduoblas.so through ctypes, on plain
arrays: first each by itself, then by turns. Prints the times, and how many calls took a millisecond
more than the median of the same call by itself. The goal is none.
"""
import ctypes
import os
import statistics
import time

from programs_child import run_child

ROUNDS = 1000
SLOW = 1e-3  # seconds above the median of the call by itself
ASLEEP = 0.3  # seconds; after them idle threads of any library sleep
WARM = 20

NUMPY = (512, 1000)
PRODUCT, LENGTH = 384, 1 << 20


# ---- In a separate process ----

def our_calls(library, numpy):
    """Names to calls, which are checked once against NumPy."""
    duo = ctypes.CDLL(library)
    size, scalar, floats = ctypes.c_int64, ctypes.c_float, ctypes.POINTER(ctypes.c_float)
    context, word = ctypes.c_void_p, ctypes.c_int
    duo.duo_sgemm.argtypes = [context, word, word, word, size, size, size,
                              scalar, floats, size, floats, size, scalar, floats, size]
    duo.duo_sasum.argtypes = [context, size, floats, size, floats]
    duo.duo_sdot.argtypes = [context, size, floats, size, floats, size, floats]
    random = numpy.random.default_rng(1)
    n = PRODUCT
    a, b = (random.standard_normal((n, n), dtype=numpy.float32) for _ in range(2))
    x, y = (random.standard_normal(LENGTH, dtype=numpy.float32) for _ in range(2))
    c, results = numpy.empty((n, n), numpy.float32), numpy.empty(2, numpy.float32)
    at = {name: array.ctypes.data_as(floats)
          for name, array in (("a", a), ("b", b), ("c", c), ("x", x), ("y", y),
                              ("sum", results), ("dot", results[1:]))}
    row_major, plain = 101, 111
    calls = {
        f"sgemm {n}": lambda: duo.duo_sgemm(None, row_major, plain, plain, n, n, n, 1.0, at["a"], n,
                                            at["b"], n, 0.0, at["c"], n),
        f"sasum {LENGTH}": lambda: duo.duo_sasum(None, LENGTH, at["x"], 1, at["sum"]),
        f"sdot {LENGTH}": lambda: duo.duo_sdot(None, LENGTH, at["x"], 1, at["y"], 1, at["dot"]),
    }
    if any(call() != 0 for call in calls.values()):
        raise SystemExit("a call of DuoBLAS failed")
    wide = numpy.float64
    scale = numpy.abs(x.astype(wide)).sum()
    good = (numpy.allclose(c, a.astype(wide) @ b.astype(wide), atol=1e-3),
            abs(results[0] - scale) < 1e-6 * scale,
            abs(results[1] - x.astype(wide) @ y.astype(wide)) < 1e-6 * scale)
    if not all(good):
        raise SystemExit("a result of DuoBLAS is wrong")
    return calls


def numpy_calls(numpy):
    random = numpy.random.default_rng(2)
    calls = {}
    for n in NUMPY:
        a, b = (random.standard_normal((n, n), dtype=numpy.float32) for _ in range(2))
        calls[f"NumPy {n}"] = lambda a=a, b=b, c=numpy.empty((n, n), numpy.float32): a.dot(b, out=c)
    return calls


def timed(calls, order, rounds):
    """The times of each call; order gives the calls of a round."""
    times = {name: [] for name in calls}
    time.sleep(ASLEEP)
    for turn in range(-WARM, rounds):
        for name in order(turn):
            start = time.perf_counter()
            calls[name]()
            if turn >= 0:
                times[name].append(time.perf_counter() - start)
    return times


def measure(library):
    import numpy
    products, ours = numpy_calls(numpy), our_calls(library, numpy)
    sizes = list(products)

    def by_turns(turn):  # NumPy's product before each of ours; in the next round the other one
        for i, name in enumerate(ours):
            yield sizes[(turn + i) % len(sizes)]
            yield name
    alone = timed(products, lambda turn: sizes, ROUNDS)
    for name in ours:
        alone.update(timed({name: ours[name]}, lambda turn, name=name: [name], ROUNDS))
    blas = numpy.show_config(mode="dicts")["Build Dependencies"]["blas"]
    return {"numpy": f"{numpy.__version__}, {blas.get('name')} {blas.get('version')}",
            "alone": alone, "turns": timed({**products, **ours}, by_turns, ROUNDS)}


# ---- The table ----

def cells(times, usual):
    p99 = sorted(times)[len(times) - 1 - len(times) // 100]
    slow = sum(t > usual + SLOW for t in times)
    return (f" {1e3 * statistics.median(times):9.4g} {1e3 * p99:9.4g} {1e3 * max(times):9.4g} "
            f"{slow:5d} of {len(times):<5d}")


def report(options, _folder):
    environment = dict(os.environ)
    environment.setdefault("DUOBLAS_PATH", "cpu")
    if options.openblas:
        environment["DUOBLAS_CPU_BLAS"] = options.openblas
    for _ in range(options.rounds):
        run = run_child("turns", environment, os.path.join(options.folder, "libduoblas.so"))
        if run is None:
            print("turns: could not run")
            return
        print(f"NumPy {run['numpy']}; DUOBLAS_PATH={environment['DUOBLAS_PATH']}; ms, and calls "
              f"slower than the median alone + {1e3 * SLOW:g} ms")
        head = f" {'median':>9} {'p99':>9} {'most':>9} {'slow':>5} {'':8}"
        print(f"{'':14}  {'alone':>9} {'':37}  {'by turns':>9}\n{'':14} {head} {head}")
        for name, times in run["turns"].items():
            usual = statistics.median(run["alone"][name])
            print(f"{name:14} {cells(run['alone'][name], usual)} {cells(times, usual)}", flush=True)
