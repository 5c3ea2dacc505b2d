"""python -m duoblas info [--json]
python -m duoblas run [--summary FILE] SCRIPT ARGS... | -m MODULE ARGS... | -c COMMAND ARGS..."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys

from . import info
from ._info import Info
from ._install import drop_in_path


def _print(facts: Info) -> None:
    print(f"DuoBLAS {facts['version']}\n  library        {facts['library']}")
    print(f"  sgemm on CPU   {facts['cpu_sgemm']}, {facts['cpu_threads']} threads")
    if not facts["devices"]:
        print("  GPU            none")
    for number, d in enumerate(facts["devices"]):
        print("  GPU %d          %s, compute capability %d.%d, %.1f of %.1f GB free, CUDA %d.%d"
              % (number, d["name"], *d["capability"], d["memory_free_bytes"] / 1e9,
                 d["memory_bytes"] / 1e9, *d["driver_version"]))
    for name, value in facts["environment"].items():
        print(f"  {name}={value}")


def _run(summary: str, program: list[str]) -> None:
    """This process becomes Python with the drop-in preloaded, and runs the program."""
    library = drop_in_path()
    others = os.environ.get("LD_PRELOAD")
    os.environ["LD_PRELOAD"] = f"{library}:{others}" if others else library
    os.environ["DUOBLAS_SUMMARY"] = summary if summary == "stderr" else os.path.abspath(summary)
    os.environ["DUOBLAS_RUN"] = str(os.getpid())
    options = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]
    os.execv(sys.executable, [sys.executable, *options, *program])


def _split(arguments: list[str]) -> tuple[list[str], list[str]]:
    """Ours, and the program's of `run`, which may begin with -m or -c."""
    end = 1
    if arguments[:1] == ["run"]:
        while end < len(arguments) and arguments[end].startswith("--summary"):
            end += 1 if "=" in arguments[end] else 2
        if arguments[end:end + 1] not in (["-h"], ["--help"]):
            return arguments[:end], arguments[end:]
    return arguments, []


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m duoblas",
                                     description="DuoBLAS on this machine, and under programs.")
    commands = parser.add_subparsers(dest="command", required=True)
    told = commands.add_parser("info", help="what DuoBLAS finds on this machine")
    told.add_argument("--json", action="store_true", help="print it as JSON")
    run = commands.add_parser(
        "run", usage="python -m duoblas run [--summary FILE] SCRIPT | -m MODULE | -c COMMAND "
        "[ARGUMENT...]", help="run a Python program whose BLAS calls are served",
        description="Runs a Python program whose BLAS calls DuoBLAS serves, also those of programs "
        "that it starts. At the end a summary tells how.")
    run.add_argument("--summary", metavar="FILE", default="stderr",
                     help="append the summary to FILE instead of stderr")
    ours, program = _split(sys.argv[1:])
    wanted = parser.parse_args(ours)
    if wanted.command == "run":
        if not program:
            run.error("which program?")
        _run(wanted.summary, program)
    facts = info()
    if wanted.json:
        print(json.dumps(facts, indent=2))
    else:
        _print(facts)


if __name__ == "__main__":
    main()
