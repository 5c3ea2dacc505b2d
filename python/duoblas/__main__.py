"""python -m duoblas info [--json]"""

from __future__ import annotations

import argparse
import json

from . import info
from ._info import Info


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


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m duoblas",
                                     description="What DuoBLAS finds on this machine.")
    parser.add_argument("command", choices=["info"])
    parser.add_argument("--json", action="store_true", help="print it as JSON")
    wanted = parser.parse_args()
    facts = info()
    if wanted.json:
        print(json.dumps(facts, indent=2))
    else:
        _print(facts)


if __name__ == "__main__":
    main()
