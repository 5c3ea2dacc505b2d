"""PyTorch with tensors on the CPU, unmodified: without DuoBLAS, and with the drop-in preloaded.

Training steps of a network with three layers and several hidden widths, and products of two square
matrices. Each column is a separate process; all run round after round. A cell has the median and
the 90th percentile of all calls. In every line DuoBLAS, free to choose, should be as fast as the
faster of PyTorch's own library and the GPU.
"""
import os
import statistics
import time

from programs_child import difference, print_summary, run_child

# Seconds for each line of a process, and the least number of calls.
SECONDS, CALLS = 2.0, 5


# ---- In a separate process ----

def training_step(width):
    import torch
    torch.manual_seed(1)
    layers = torch.nn.Sequential(
        torch.nn.Linear(784, width), torch.nn.ReLU(),
        torch.nn.Linear(width, width), torch.nn.ReLU(), torch.nn.Linear(width, 10))
    descent = torch.optim.SGD(layers.parameters(), lr=0.01)
    images, labels = torch.rand(1024, 784), torch.randint(10, (1024,))

    def step():
        descent.zero_grad()
        loss = torch.nn.functional.cross_entropy(layers(images), labels)
        loss.backward()
        descent.step()
        return [loss.item()]
    return step


def product(n):
    import torch
    torch.manual_seed(1)
    a, b = torch.randn(n, n), torch.randn(n, n)
    return lambda: (a @ b)[:: n // 64, 0].tolist()


LINES = {
    "step 2048": lambda: training_step(2048),
    "step 1024": lambda: training_step(1024),
    "step 205": lambda: training_step(205),
    "a @ b 256": lambda: product(256),
    "a @ b 1024": lambda: product(1024),
    "a @ b 4096": lambda: product(4096),
    "a @ b 8192": lambda: product(8192),
}


def times_of(call, seconds):
    """Times of all calls after a warm-up, and the first call's result."""
    begin = time.perf_counter()
    result = call()
    while time.perf_counter() - begin < 0.2 * seconds:
        call()
    times, begin = [], time.perf_counter()
    while len(times) < CALLS or time.perf_counter() - begin < seconds:
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
        if seconds == 0:
            break
    return {"times": times, "result": result}


def measure(seconds=SECONDS):
    import torch
    lines = {name: times_of(prepare(), float(seconds)) for name, prepare in LINES.items()}
    return {"torch": torch.__version__, "threads": torch.get_num_threads(), "lines": lines}


# ---- The table ----

def columns(options):
    """Name to environment; without DuoBLAS first."""
    plain = {name: value for name, value in os.environ.items()
             if name not in ("LD_PRELOAD", "DUOBLAS_PATH", "DUOBLAS_SUMMARY")}
    ours = dict(plain, LD_PRELOAD=os.path.join(options.folder, "libduoblas-blas.so"))
    if options.openblas:
        ours["DUOBLAS_CPU_BLAS"] = options.openblas
    paths = ["auto", "gpu", "cpu"] if options.gpu else ["auto", "cpu"]
    return {"without": plain, **{path: dict(ours, DUOBLAS_PATH=path) for path in paths}}


def p90(times):
    return sorted(times)[len(times) - 1 - len(times) // 10]


def print_line(name, runs):
    """runs: for each column, the results of its processes."""
    times = {column: [t for run in done for t in run["lines"][name]["times"]]
             for column, done in runs.items()}
    cells, ratios = "", ""
    for column in runs:
        cells += f" {1e3 * statistics.median(times[column]):9.4g} {1e3 * p90(times[column]):9.4g} "
    for quantile in (statistics.median, p90):
        better = min(quantile(times[column]) for column in ("without", "gpu") if column in times)
        ratios += f" {quantile(times['auto']) / better:7.3f}"
    expected = runs["without"][0]["lines"][name]["result"]
    worst = max(difference(run["lines"][name]["result"], expected)
                for done in runs.values() for run in done)
    print(f"{name:12}{cells}{ratios}  {worst:.1e}", flush=True)


def report(options, folder):
    libraries = columns(options)
    runs = {column: [] for column in libraries}
    for _ in range(options.rounds):
        for column, environment in libraries.items():
            run = run_child("torch", environment)
            if run is None:
                print(f"torch {column}: could not run")
                return
            runs[column].append(run)
    first = runs["without"][0]
    better = " and ".join(column for column in ("without", "gpu") if column in runs)
    print(f"PyTorch {first['torch']}, {first['threads']} threads, tensors on the CPU; ms, and "
          f"auto / the better of {better}")
    print(f"{'':12}" + "".join(f" {column:>19} " for column in runs) +
          f" {'auto / better':>15}  largest")
    print(f"{'':12}" + "".join(f" {'median':>9} {'p90':>9} " for column in runs) +
          f" {'median':>7} {'p90':>7}  difference")
    for name in LINES:
        print_line(name, runs)
    print_summary("torch", libraries["auto"], folder, "0")
