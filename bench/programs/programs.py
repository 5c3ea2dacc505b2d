#!/usr/bin/env python3
"""Programs that were never compiled for DuoBLAS, on OpenBLAS, NVBLAS and the drop-in.

The benchmarks: products of float32 matrices, 8192 x 8192 and smaller in NumPy, up to 16384 in
SciPy; a search in FAISS; a k-means of scikit-learn. Each benchmark runs in a separate process for
each preloaded library, round after round, so that all meet the same machine. A process gives its
median time in seconds. Prints the median of these, how many times as fast as OpenBLAS that is, and
the largest difference from OpenBLAS's results, relative to the largest result. One more process is
not timed: it tells where DuoBLAS's calls went.

    programs.py LIBRARY_FOLDER [--openblas FILE] [--nvblas FILE] [--rounds N]
                [--memory-share SHARE] [--only JOB,...] [BENCHMARK...]

Four more benchmarks have separate tables and run only if they are named. `jobs`: whole jobs of
PyTorch, NumPy, scikit-learn, FAISS, gensim and implicit, all or those that `--only` names
(programs_jobs.py). `torch`: training steps and products of PyTorch (programs_torch.py). `turns`: a
NumPy that brings its own BLAS, by turns with calls of DuoBLAS (programs_turns.py). `memory`: one
product of NumPy on DuoBLAS with operands that take SHARE of the host's memory (programs_memory.py);
it fails if the result is wrong.

LIBRARY_FOLDER holds libduoblas-blas.so, libduoblas.so and duoblas. `jobs`, `torch` and `turns` run
in any Python with the module from PyPI. The others need a Python with a NumPy that takes its BLAS
from libblas.so.3, like Debian's. Benchmarks are left out if their module is missing, and libraries
if they are missing. NVBLAS passes calls that it does not do on to OpenBLAS.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

import programs_jobs
import programs_memory
import programs_torch
import programs_turns
from programs_child import difference, print_summary, run_child


# ---- Benchmarks: each gives its time and a few numbers of its result ----

def numpy_product(n):
    import numpy as np
    random = np.random.default_rng(1)
    a = random.standard_normal((n, n), dtype=np.float32)
    b = random.standard_normal((n, n), dtype=np.float32)
    return lambda: (a @ b)[:: max(1, n // 64), 0]


def scipy_product(n):
    """By sgemm_: NVBLAS has it, but NumPy's cblas_sgemm does not reach NVBLAS."""
    import numpy as np
    from scipy.linalg.blas import sgemm
    random = np.random.default_rng(1)
    a, b = (np.asfortranarray(random.standard_normal((n, n), dtype=np.float32)) for _ in range(2))
    c = np.zeros((n, n), np.float32, "F")
    return lambda: sgemm(1.0, a, b, 0.0, c, overwrite_c=1)[:: max(1, n // 64), 0]


def faiss_search():
    import faiss
    import numpy as np
    random = np.random.default_rng(1)
    data = random.random((200000, 128), dtype=np.float32)
    queries = random.random((4096, 128), dtype=np.float32)
    index = faiss.IndexFlatL2(128)
    index.add(data)
    return lambda: index.search(queries, 10)[0][:, 0]


def kmeans():
    import numpy as np
    from sklearn.cluster import KMeans
    data = np.random.default_rng(1).random((100000, 64), dtype=np.float32)
    return lambda: np.sort(
        KMeans(64, n_init=1, max_iter=20, random_state=0).fit(data).cluster_centers_[:, 0])


BENCHMARKS = {
    "numpy-8192": (lambda: numpy_product(8192), 3),
    "numpy-2048": (lambda: numpy_product(2048), 9),
    "numpy-64": (lambda: numpy_product(64), 2001),
    **{f"scipy-{n}": (lambda n=n: scipy_product(n), repeats)
       for n, repeats in ((512, 99), (1024, 49), (2048, 25), (4096, 9), (8192, 5), (16384, 3))},
    "faiss": (faiss_search, 3),
    "kmeans": (kmeans, 3),
}

FAMILIES = {"jobs": programs_jobs, "torch": programs_torch, "turns": programs_turns,
            "memory": programs_memory}


def run_benchmark(name):
    prepare, repeats = BENCHMARKS[name]
    call = prepare()
    start = time.perf_counter()
    result = call()
    first = time.perf_counter() - start
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    print(json.dumps({"seconds": statistics.median(times), "first": first,
                      "result": [float(x) for x in result]}))


# ---- Libraries ----

OPENBLAS = "libopenblas.so.0"


def environments(options, folder):
    """Name to preloaded libraries and variables; OpenBLAS first."""
    plain = {name: value for name, value in os.environ.items()
             if name not in ("LD_PRELOAD", "NVBLAS_CONFIG_FILE", "DUOBLAS_SUMMARY")}
    openblas = options.openblas or OPENBLAS
    found = {"OpenBLAS": dict(plain, LD_PRELOAD=openblas)}
    if options.nvblas:
        config = os.path.join(folder, "nvblas.conf")
        with open(config, "w") as file:
            file.write(f"NVBLAS_CPU_BLAS_LIB {openblas}\nNVBLAS_GPU_LIST ALL\n"
                       f"NVBLAS_LOGFILE {folder}/nvblas.log\n")
        found["NVBLAS"] = dict(plain, LD_PRELOAD=f"{options.nvblas}:{openblas}",
                               NVBLAS_CONFIG_FILE=config)
    drop_in = os.path.join(options.folder, "libduoblas-blas.so")
    found["DuoBLAS"] = dict(plain, LD_PRELOAD=f"{drop_in}:{openblas}",
                            DUOBLAS_CPU_BLAS=openblas)
    return found


def print_head(options, openblas):
    """Prints the machine as `duoblas info` sees it. Has it a GPU?"""
    environment = dict(os.environ)
    if openblas:
        environment["DUOBLAS_CPU_BLAS"] = openblas
    info = subprocess.run([os.path.join(options.folder, "duoblas"), "info"], env=environment,
                          capture_output=True, text=True, check=True).stdout
    machine = info.split("\nProfile")[0].split("\n")
    print(f"# {time.strftime('%Y-%m-%d')}")
    print("".join(f"# {line}\n" for line in machine if line), flush=True)
    return "\nGPU\n  none" not in info


def run_benchmarks(options, names, folder):
    """Runs the benchmarks of BENCHMARKS on every library."""
    libraries = environments(options, folder)
    print(f"{'program':12} {'library':9} {'median s':>10} {'first s':>10} {'times':>7}  difference")
    for name in names:
        runs = {library: [] for library in libraries}
        for _ in range(options.rounds):
            for library, environment in libraries.items():
                run = run_child(name, environment)
                if run is not None:
                    runs[library].append(run)
        if not runs["OpenBLAS"]:
            print(f"{name:12} could not run")
            continue
        base = statistics.median(run["seconds"] for run in runs["OpenBLAS"])
        for library, done in runs.items():
            if not done:
                print(f"{name:12} {library:9} could not run")
                continue
            seconds = statistics.median(run["seconds"] for run in done)
            first = statistics.median(run["first"] for run in done)
            print(f"{name:12} {library:9} {seconds:10.4g} {first:10.4g} {base / seconds:7.3f}  "
                  f"{difference(done[-1]['result'], runs['OpenBLAS'][-1]['result']):.1e}",
                  flush=True)
        print_summary(name, libraries["DuoBLAS"], folder)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("folder")
    parser.add_argument("--openblas", help=f"default: {OPENBLAS}; torch, turns: what DuoBLAS finds")
    parser.add_argument("--nvblas")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--memory-share", type=float, default=0.8,
                        help="memory: of the host's memory, for A, B and C (default 0.8)")
    parser.add_argument("--only", metavar="JOB,...", help=f"jobs: {', '.join(programs_jobs.JOBS)}",
                        type=lambda names: names.split(","))
    parser.add_argument("benchmarks", nargs="*", default=list(BENCHMARKS), metavar="BENCHMARK",
                        help=", ".join([*BENCHMARKS, *FAMILIES]))
    options = parser.parse_intermixed_args()
    if not 0.0 < options.memory_share < 1.0:
        parser.error(f"--memory-share is not between 0 and 1: {options.memory_share:g}")
    unknown = [name for name in options.benchmarks
               if name not in BENCHMARKS and name not in FAMILIES]
    if unknown:
        parser.error(f"no such benchmark: {' '.join(unknown)}")
    unknown = [name for name in options.only or [] if name not in programs_jobs.JOBS]
    if unknown:
        parser.error(f"no such job: {', '.join(unknown)}")
    options.folder = os.path.abspath(options.folder)
    chosen = [name for name in options.benchmarks if name in BENCHMARKS]
    on_openblas = chosen or "memory" in options.benchmarks
    with tempfile.TemporaryDirectory() as folder:
        options.gpu = print_head(options, options.openblas or (OPENBLAS if on_openblas else None))
        if chosen:
            run_benchmarks(options, chosen, folder)
        for name in options.benchmarks:
            if name in FAMILIES:
                FAMILIES[name].report(options, folder)


if __name__ == "__main__":
    if len(sys.argv) > 2 and sys.argv[1] == "--benchmark":
        name, more = sys.argv[2], sys.argv[3:]
        if name in FAMILIES:
            print(json.dumps(FAMILIES[name].measure(*more)))
        else:
            run_benchmark(name)
    else:
        main()
