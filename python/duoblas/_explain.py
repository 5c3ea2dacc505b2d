"""The choices of calls, and why, as dictionaries, which notebooks show as a table."""

from __future__ import annotations

import ctypes
from typing import Any, Optional, TypedDict, cast

from ._errors import check
from ._library import RESIDENCES, SIDES, Decision, library

__all__ = ["Candidate", "Explanation", "explained", "last_decision"]


class Candidate(TypedDict):
    """One algorithm that might have run."""

    algorithm: str
    side: str  # "cpu", "gpu"
    accepts: bool  # False: it cannot do this call
    route: str  # how it carries the call out (docs/inside/dispatch.md); "" where it does not accept
    ran: bool
    threads: int  # 0 on the GPU
    predicted_seconds: float  # infinite where it does not accept
    transfer_seconds: float  # these three add up to them
    launch_seconds: float
    compute_seconds: float


class Explanation(TypedDict):
    """A call: duo_decision of duoblas.h."""

    operation: str
    m: int
    n: int
    k: int
    count: int  # products of a batch; otherwise 1
    residence: tuple[str, str, str]  # of a, b, c; or x, y, result
    side: str  # where it ran
    algorithm: Optional[str]  # None: there was nothing to do
    threads: int
    predicted_seconds: float
    profile_seconds: float
    seconds: Optional[float]  # None: not measured
    reason: str  # why this algorithm
    note: str  # what went differently, or ""
    candidates: list[Candidate]


def _candidates(d: Decision) -> list[Candidate]:
    return [
        Candidate(algorithm=c.algorithm.decode(), side=SIDES[c.side], accepts=bool(c.accepts),
                  route=r.decode(), ran=i == d.ran, threads=c.threads,
                  predicted_seconds=c.predicted_seconds, transfer_seconds=p.transfer_seconds,
                  launch_seconds=p.launch_seconds, compute_seconds=p.compute_seconds)
        for i, (c, p, r) in enumerate(zip(d.candidate[:d.candidates], d.parts, d.route))
    ]


def last_decision(handle: Optional[int]) -> Decision:
    """The decision of the context's last call."""
    d = Decision(size=ctypes.sizeof(Decision))
    check(library.duo_explain_last(handle, ctypes.byref(d)), handle)
    return d


# ---- In notebooks ----

_TIMES = ("predicted", "transfer", "launch", "compute")


def _escape(text: str) -> str:
    import html  # only here: `import duoblas` does not wait for it
    return html.escape(text)


def _row(kind: str, cells: list[str], style: str = "") -> str:
    return f"<tr{style}>" + "".join(f"<{kind}>{_escape(c)}</{kind}>" for c in cells) + "</tr>"


def _candidate_row(c: Candidate) -> str:
    if not c["accepts"]:
        return _row("td", [c["algorithm"], c["side"], "cannot do it"], ' style="opacity: 0.5"')
    values = cast("dict[str, float]", c)
    times = [f"{values[name + '_seconds'] * 1e6:.1f}" for name in _TIMES]
    style = ' style="font-weight: bold"' if c["ran"] else ""
    return _row("td", [c["algorithm"], c["side"], c["route"], *times], style)


class _Shown(dict[str, Any]):
    """An Explanation that a notebook shows as a table of its candidates: the one that ran is bold,
    and those that cannot do the call are grey."""

    def _repr_html_(self) -> str:
        told = cast(Explanation, self)
        is_product = told["operation"] == "sgemm"
        sizes = f"{told['m']} x {told['n']} x {told['k']}" if is_product else f"{told['n']}"
        batch = f", {told['count']} times" if told["count"] != 1 else ""
        words = [f"{told['operation']} {sizes}{batch}: {told['reason']}", told["note"]]
        head = _row("th", ["algorithm", "side", "route", *[name + ", us" for name in _TIMES]])
        return ("".join(f"<p>{_escape(text)}</p>" for text in words if text) + "<table>" + head
                + "".join(map(_candidate_row, told["candidates"])) + "</table>")


def explained(d: Optional[Decision]) -> Explanation:
    """A decision as a dictionary."""
    if d is None or d.operation is None:
        raise LookupError("there was no call yet")
    first, second, third = (RESIDENCES[r] for r in d.residence)
    return cast(Explanation, _Shown(
        operation=d.operation.decode(), m=d.m, n=d.n, k=d.k, count=d.count,
        residence=(first, second, third),
        side=SIDES[d.side], algorithm=d.algorithm.decode() if d.algorithm else None,
        threads=d.threads, predicted_seconds=d.predicted_seconds,
        profile_seconds=d.profile_seconds, seconds=d.seconds if d.seconds >= 0 else None,
        reason=d.reason.decode(), note=d.note.decode(), candidates=_candidates(d)))
