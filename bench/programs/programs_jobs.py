"""Whole jobs of unmodified programs, from the start of the process to its end.

The jobs are in programs_jobs_torch.py and programs_jobs_packages.py. Each is a process of its own.
Columns: without DuoBLAS; with the drop-in, free to choose (`auto`: factors that come again are
remembered by their bytes), watching pages (`pages`), sending factors each time (`sent`), on the GPU
alone (`gpu`); and PyTorch's own GPU device (`cuda`), as the limit. Columns take turns, round after
round. A cell has the least of all rounds: `wall` is the time of the process, `job` is without the
imports, which take seconds and differ from run to run. One more process of `auto` is not timed: it
tells where the calls went.
"""
import importlib
import os
import statistics
import sys
import time

import programs_jobs_packages
import programs_jobs_torch
from programs_child import difference, print_summary, run_child

JOBS = {**programs_jobs_torch.JOBS, **programs_jobs_packages.JOBS}


# ---- In a separate process ----

def measure(name, device):
    modules, job = JOBS[name]
    try:
        for module in modules:
            importlib.import_module(module)
    except ImportError as error:
        return {"missing": str(error).split("\n")[0]}
    packages = {module.split(".")[0] for module in ["numpy", *modules]}
    versions = {package: sys.modules[package].__version__
                for package in packages if package in sys.modules}
    begin = time.perf_counter()
    result = job(device)
    return {"job": time.perf_counter() - begin, "result": result, "versions": versions}


# ---- The table ----

def columns(options):
    """Name to environment and device; without DuoBLAS first."""
    plain = {name: value for name, value in os.environ.items()
             if name != "LD_PRELOAD" and not name.startswith("DUOBLAS_")}
    ours = dict(plain, LD_PRELOAD=os.path.join(options.folder, "libduoblas-blas.so"))
    found = {"without": (plain, "cpu"), "auto": (ours, "cpu")}
    if options.gpu:
        found.update(pages=(dict(ours, DUOBLAS_REMEMBER="pages"), "cpu"),
                     sent=(dict(ours, DUOBLAS_REMEMBER="0"), "cpu"),
                     gpu=(dict(ours, DUOBLAS_PATH="gpu"), "cpu"),
                     cuda=(plain, "cuda"))
    return found


def run_rounds(name, libraries, rounds):
    """For each column its runs, round after round; or why there are none."""
    runs = {}
    failed = set() if name in programs_jobs_torch.JOBS else {"cuda"}
    for _ in range(rounds):
        for column, (environment, device) in libraries.items():
            if column in failed:
                continue
            begin = time.perf_counter()
            run = run_child("jobs", environment, name, device)
            wall = time.perf_counter() - begin
            if run is None:
                failed.add(column)
            elif "missing" in run:
                return None, run["missing"]
            else:
                runs.setdefault(column, []).append(dict(run, wall=wall))
            if column == "cuda":
                failed.add(column)
    if "without" in runs and "auto" in runs:
        return runs, None
    return None, "its process failed"


def print_lines(name, libraries, runs):
    """Prints two lines and gives their ratios."""
    expected = runs["without"][0]["result"]
    worst = max(difference(run["result"], expected) for done in runs.values() for run in done)
    ratios = {}
    for kind, end in (("wall", ""), ("job", f"  {worst:.1e}")):
        least = {column: min(run[kind] for run in done) for column, done in runs.items()}
        ratios[kind] = least["without"] / least["auto"]
        cells = "".join(f" {least[column]:8.2f}" if column in least else f" {'-':>8}"
                        for column in libraries)
        print(f"{name if kind == 'wall' else '':12} {kind:4}{cells} {ratios[kind]:8.2f}{end}",
              flush=True)
    return ratios


def report(options, folder):
    libraries = columns(options)
    print("whole jobs, s, least of all rounds; without / auto; largest difference")
    print(f"{'':17}" + "".join(f" {name:>8}" for name in libraries) + "    ratio", flush=True)
    ratios, versions = [], {}
    for name in options.only or JOBS:
        runs, reason = run_rounds(name, libraries, options.rounds)
        if reason:
            print(f"{name:12} could not run: {reason}", flush=True)
            continue
        ratios.append(print_lines(name, libraries, runs))
        versions.update(runs["without"][0]["versions"])
        print_summary("jobs", libraries["auto"][0], folder, name, "cpu")
    if ratios:
        for kind in ("wall", "job"):
            mean = statistics.geometric_mean(ratio[kind] for ratio in ratios)
            print(f"geometric mean of the ratios, {kind}: {mean:.2f}")
        print(", ".join(f"{package} {versions[package]}" for package in sorted(versions)))
