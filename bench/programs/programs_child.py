"""Shared by the benchmarks: each runs in a separate process, which prints its figures."""
import json
import os
import subprocess
import sys

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs.py")


def run_child(name, environment, *more):
    """The benchmark's figures, or None if the process failed."""
    child = subprocess.run([sys.executable, SCRIPT, "--benchmark", name, *more], env=environment,
                           capture_output=True, text=True)
    if child.returncode != 0:
        sys.stderr.write(child.stderr[-2000:])
        return None
    return json.loads(child.stdout.splitlines()[-1])


def print_summary(name, environment, folder, *more):
    """Prints where DuoBLAS's calls went, by one more process, which is not timed."""
    summary = os.path.join(folder, name)
    run_child(name, dict(environment, DUOBLAS_SUMMARY=summary), *more)
    if os.path.exists(summary):
        with open(summary) as file:
            print("".join("    " + line for line in file))
        os.remove(summary)


def difference(result, expected):
    largest = max(abs(x) for x in expected)
    return max(abs(x - y) for x, y in zip(result, expected)) / largest
