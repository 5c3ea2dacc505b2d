"""The crossover of this machine, by the program `duoblas`.

What only this needs is imported when it is called: `import duoblas` does not wait for it.
"""

from __future__ import annotations

import io
import json
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Optional

from ._arguments import choice, integer
from ._library import library_path

__all__ = ["Crossover", "crossover"]

_OPERATIONS = {"sgemm": 0, "sasum": 1, "ssum": 2, "sdot": 3}
_LINES = {"host": "CPU", "pageable": "GPU, arrays plain", "resident": "GPU, arrays on the GPU"}


class Crossover(dict[str, Any]):
    """The facts of a run, as docs/reference/crossover.md lists them under JSON. Its str() is the
    verdict; a notebook shows it as a picture."""

    def __str__(self) -> str:
        return "\n".join(self["verdict"])

    def figure(self) -> Any:
        """The times by size as a matplotlib.figure.Figure; None: matplotlib is not installed."""
        try:
            from matplotlib.figure import Figure  # type: ignore[import-not-found,unused-ignore]
        except ImportError:
            return None
        operations = list(dict.fromkeys(case["operation"] for case in self["cases"]))
        figure = Figure(figsize=(5 * len(operations), 4), layout="constrained")
        for axes, operation in zip(figure.subplots(1, len(operations), squeeze=False)[0],
                                   operations):
            self._draw(axes, operation)
        figure.suptitle(str(self), fontsize="small")
        return figure

    def _draw(self, axes: Any, operation: str) -> None:
        cases = [case for case in self["cases"] if case["operation"] == operation]
        cases = [case for case in cases if case["family"] == cases[0]["family"]]
        for residence, label in _LINES.items():
            points = [(case["n"], min(times)) for case in cases
                      if (times := [f["seconds_median"] for f in case["figures"]
                                    if f["residence"] == residence and f["seconds_median"]])]
            if points:
                axes.plot(*zip(*points), ".-", label=label)
        axes.set(xscale="log", yscale="log", xlabel="n", ylabel="seconds", title=operation)
        axes.legend(fontsize="small")

    def _repr_png_(self) -> Optional[bytes]:
        figure = self.figure()
        if figure is None:
            return None
        file = io.BytesIO()
        figure.savefig(file, format="png")
        return file.getvalue()


def _program() -> str:
    """The one that DUOBLAS_TOOL names, that belongs to the library, or that a shell would find."""
    import shutil
    places = []
    if "/" in library_path:
        folder = Path(library_path).resolve().parent
        places = [folder / "duoblas", folder.parent / "bin" / "duoblas"]
    for place in (os.environ.get("DUOBLAS_TOOL"), *places, "duoblas"):
        found = shutil.which(place) if place else None
        if found:
            return found
    raise FileNotFoundError("the program `duoblas`, which measures the crossover, is not found: "
                            "wheels do not have it. Install DuoBLAS itself, or name the program in "
                            "DUOBLAS_TOOL")


def _texts(descriptor: int) -> Iterator[str]:
    """What the program writes there, until its end."""
    while True:
        try:
            text = os.read(descriptor, 4096)
        except OSError:  # the end of a terminal
            return
        if not text:
            return
        yield text.decode(errors="replace")


def _bar(progress: bool) -> Any:
    """tqdm's, or None."""
    if not progress:
        return None
    try:
        from tqdm.auto import tqdm  # type: ignore[import-untyped,import-not-found,unused-ignore]
    except ImportError:
        return None
    return tqdm(total=100, desc="crossover", unit="%")


def _ends(terminal: bool) -> tuple[int, int]:
    """Of a terminal, or of a pipe: where it is not asked for, and where there is none, as in some
    containers."""
    import pty
    try:
        return pty.openpty() if terminal else os.pipe()
    except OSError:
        return os.pipe()


def _run(command: list[str], bar: Any) -> None:
    """Runs the program. It tells how far it is only to a terminal."""
    import subprocess
    ours = its = -1
    told = ""
    try:
        ours, its = _ends(bar is not None)
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=its) as process:
            os.close(its)
            its = -1
            try:
                for text in _texts(ours):
                    told = (told + text)[-4000:]
                    parts = re.findall(r"(\d+) %", text)
                    if bar is not None and parts:
                        bar.update(int(parts[-1]) - bar.n)
            except BaseException:
                process.terminate()
                raise
        if process.returncode != 0:
            raise RuntimeError(f"duoblas crossover ended with status {process.returncode}: "
                               + told.strip().rpartition("\n")[2].strip())
        if bar is not None:
            bar.update(100 - bar.n)
    finally:
        for descriptor in (ours, its):
            if descriptor >= 0:
                os.close(descriptor)
        if bar is not None:
            bar.close()


def crossover(quick: bool = True, *, operations: Optional[Sequence[str]] = None,
              max_seconds: Optional[int] = None, save: bool = False, ignore_noise: bool = False,
              progress: bool = True) -> Crossover:
    """Measures from what size on this GPU is faster: `duoblas crossover`, in half a minute. Returns
    the facts; their str() is the verdict.

    quick         False: all sizes and shapes, in up to five minutes.
    operations    only these: "sgemm", "sasum", "ssum", "sdot".
    max_seconds   what does not fit into them is predicted.
    save          write the profile by which the library chooses from then on.
    ignore_noise  give a verdict, and save, on a noisy machine, too.
    progress      a bar by tqdm, if that is installed. Otherwise nothing is printed.

    The program comes with DuoBLAS itself. FileNotFoundError: it is not there. RuntimeError: it
    failed.   Since 1.0
    """
    import tempfile
    command = [_program(), "crossover", "--no-files"]
    command += ["--quick"] * bool(quick) + ["--ignore-noise"] * bool(ignore_noise)
    command += ["--no-profile"] * (not save)
    if operations is not None:
        for name in operations:
            choice(_OPERATIONS, name, "an operation")
        command.append("--operations=" + ",".join(operations))
    if max_seconds is not None:
        command.append(f"--max-seconds={integer(max_seconds, 'max_seconds')}")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "crossover.json")
        _run([*command, f"--json={file}"], _bar(progress))
        return Crossover(json.loads(file.read_text()))
