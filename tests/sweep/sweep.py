"""Everything fails once (sweep.h) while Python calls the library that DUOBLAS_LIBRARY names.

    LD_PRELOAD=libfailing.so DUOBLAS_LIBRARY=... python3 sweep.py [--long] [-seed N]

Each point has a process of its own, which loads the library. Calls count that the library makes,
and others that are no part of the interpreter: NumPy, ctypes. A call has the right result, or
raises MemoryError, or what the library's status says.
"""

import ctypes
import gc
import os
import random
import signal
import sys
import threading

import numpy as np

failing = ctypes.CDLL(None)
KINDS = ["memory", "map", "thread", "open", "dlopen"]
SIM_KINDS = 19
SIM_STATUSES = [-7, -8, -9]  # DUO_ERR_MEMORY, DUO_ERR_DEVICE, DUO_ERR_LOST
MOST_ASKED = 12  # the machine's speed decides how often a call asks whether the device is idle
SIM_IDLE = 15
GIVING_BACK = 4, 6, 9  # SIM_RELEASE, SIM_UNPIN, SIM_CLOSE
RUNS, MOST_RUNS, PATIENCE = 3, 15, 30
RIGHT, WRONG, LEAKED, NOT_REACHED = 0, 10, 11, 12

# Small integers, so that all results are exact.
A = (np.arange(90 * 70).reshape(90, 70) % 7 - 3).astype(np.float32)
B = (np.arange(70 * 80).reshape(70, 80) % 5 - 2).astype(np.float32)
AB = (A.astype(np.int64) @ B.astype(np.int64)).astype(np.float32)
X = (np.arange(5000) % 9 - 4).astype(np.float32)
SUM, ASUM, DOT = X.sum(), np.abs(X).sum(), (X * X).sum()


def equal(got, want):
    """By bytes: NumPy's own comparisons are False where there is no memory."""
    if np.asarray(got, np.float32).tobytes() != np.asarray(want, np.float32).tobytes():
        raise AssertionError("a result is wrong")


# ---- Scenarios: they get the package ----

def operations(duo):
    equal(duo.sgemm(A, B), AB)
    equal(duo.ssum(X), SUM)
    equal(duo.sasum(X), ASUM)
    equal(duo.sdot(X, X), DOT)


def like_numpy(duo):
    equal(duo.matmul(A, B), AB)
    equal(duo.dot(A, B), AB)
    equal(duo.vdot(X, X), DOT)
    equal(duo.sum(X), SUM)
    equal(duo.abs_sum(X), ASUM)


def batches(duo):
    equal(duo.sgemm_batched(np.stack([A, A]), np.stack([B, B])), np.stack([AB, AB]))
    for got in duo.sgemm_grouped([A, A.T], [B, A]):
        equal(got, AB if got.shape == AB.shape else A.T @ A)


def contexts(duo):
    lines = []
    with duo.Context(math="ieee", threads=2) as ctx:
        ctx.warm_up()
        ctx.set_decide(lambda explanation: None)
        equal(duo.sgemm(A, B), AB)
        lines.append(ctx.explain()["reason"])
        ctx.synchronize()
        ctx.trim()
        ctx.set_asynchronous(True)
        total = duo.ssum(X)
        ctx.synchronize()
        equal(total, SUM)
    duo.device_count()
    duo.info()


def keeping(duo):
    a, c = A.copy(), np.zeros_like(AB)
    with duo.keep(a, B, c) as kept:
        equal(duo.ssum(a[0]), A[0].sum())
        duo.sgemm(a, B, c)
        kept.fetch()
        equal(c, AB)
    with duo.prepare(a):
        equal(duo.sgemm(a, B), AB)


def memory(duo):
    there = duo.device_empty(X.shape)
    duo.copy(there, X)
    equal(duo.ssum(there), SUM)
    pinned = duo.pin(X)
    equal(duo.sasum(pinned), ASUM)
    zeros = duo.zeros_pinned((3, 4))
    equal(duo.sum(zeros), 0)


def events(duo):
    with duo.Context() as other:
        event = duo.Event()
        equal(duo.ssum(X), SUM)
        event.record()
        event.wait(other)
        event.query()
        event.synchronize()


def graphs(duo):
    c = np.zeros_like(AB)
    with duo.Context(), duo.Graph() as graph:
        duo.sgemm(A, B, c)
        total = duo.ssum(X)
    for _ in range(2):
        c[:] = 0
        graph.launch()
        equal(c, AB)
        equal(total, SUM)
    graph.close()


def threads(duo):
    """Each thread has a default context of its own."""
    wrong = []

    def work():
        try:
            operations(duo)
        except AssertionError as problem:
            wrong.append(problem)
        except Exception as problem:
            if not excused(duo, problem):
                wrong.append(problem)

    made = [threading.Thread(target=work) for _ in range(2)]
    for thread in made:
        thread.start()
    for thread in made:
        thread.join()
    if wrong:
        raise AssertionError(wrong[0])


SCENARIOS = [operations, like_numpy, batches, contexts, keeping, memory, events, graphs, threads]


# ---- A point ----

def excused(duo, problem):
    return isinstance(problem, (MemoryError, duo.DeviceError, duo.DeviceLostError))


def library():
    import duoblas
    from duoblas._library import library as opened
    return duoblas, opened if hasattr(opened, "sim_fail") else None


def calls_of(kind, sim):
    if kind < len(KINDS):
        return failing.failing_count(kind)
    return sim.sim_count((kind - len(KINDS)) // 3) if sim else 0


def run(scenario, duo, sim, kind, later, nth):
    """Has the nth call come?"""
    before = calls_of(kind, sim) if kind >= len(KINDS) else 0
    of_system = kind < len(KINDS)
    failing.failing_arm(kind if of_system else 0, nth if of_system else 0, later)
    if not of_system:
        number, status = divmod(kind - len(KINDS), 3)
        sim.sim_fail(number, nth, SIM_STATUSES[status], -1 if later else 1)
    try:
        scenario(duo)
    except Exception as problem:
        failing.failing_disarm()
        if not excused(duo, problem):
            raise
        del problem
    finally:
        failing.failing_disarm()
        reached = calls_of(kind, sim) - before >= nth
        if not of_system:
            sim.sim_fail((kind - len(KINDS)) // 3, 0, 0, 0)
    gc.collect()
    scenario(duo)
    gc.collect()
    return reached


def alive(kind, sim):
    number = (kind - len(KINDS)) // 3
    counts = sim and (kind < len(KINDS) or number not in GIVING_BACK)
    return failing.failing_alive() + (sim.sim_leaks() if counts else 0)


def try_point(scenario, kind, later, nth):
    duo, sim = library()
    reached, grows, before, i = False, True, None, 0
    # What is kept for later calls may grow in some runs; a leak grows in each.
    while i < RUNS or (grows and i < MOST_RUNS):
        reached |= run(scenario, duo, sim, kind, later, nth)
        now = alive(kind, sim)
        grows = grows and (before is None or now > before)
        before, i = now, i + 1
    if grows:
        return LEAKED
    if sim and sim.sim_violations() > 0:
        return WRONG
    return RIGHT if reached else NOT_REACHED


def count(scenario, pipe):
    """How many calls of each kind the first run makes."""
    duo, sim = library()
    kinds = len(KINDS) + (3 * SIM_KINDS if sim else 0)
    before = [calls_of(kind, sim) if kind >= len(KINDS) else 0 for kind in range(kinds)]
    failing.failing_arm(0, 0, 0)
    scenario(duo)
    failing.failing_disarm()
    made = [calls_of(kind, sim) - before[kind] for kind in range(kinds)]
    os.write(pipe, " ".join(map(str, made)).encode())
    return RIGHT


def in_child(body, *arguments):
    """The status of a process that does it."""
    child = os.fork()
    if child == 0:
        signal.alarm(PATIENCE)
        status = WRONG
        try:
            status = body(*arguments)
        except BaseException as problem:
            failing.failing_disarm()
            sys.stderr.write(f"{type(problem).__name__}: {problem}\n")
        sys.stderr.flush()
        os._exit(status)
    return os.waitpid(child, 0)[1]


# ---- All points ----

def points_of(scenario):
    to_read, to_write = os.pipe()
    status = in_child(count, scenario, to_write)
    os.close(to_write)
    made = [int(n) for n in os.read(to_read, 65536).split()]
    os.close(to_read)
    if status != 0:
        sys.exit(f"{scenario.__name__}: status {status:x} where nothing fails")
    if len(made) > len(KINDS):
        for kind in range(len(KINDS) + 3 * SIM_IDLE, len(KINDS) + 3 * SIM_IDLE + 3):
            made[kind] = min(made[kind], MOST_ASKED)
    return [(kind, later, nth) for kind, calls in enumerate(made) for nth in range(1, calls + 1)
            for later in (0, 1)]


def main():
    most = None if "--long" in sys.argv else 5
    rng = random.Random(sys.argv[sys.argv.index("-seed") + 1] if "-seed" in sys.argv else 1)
    sums = dict(points=0, wrong=0, dead=0, hung=0, leaked=0)
    for scenario in SCENARIOS:
        points = points_of(scenario)
        for point in points if most is None else rng.sample(points, min(most, len(points))):
            status = in_child(try_point, scenario, *point)
            what = ("hung" if status == signal.SIGALRM else
                    {RIGHT: None, NOT_REACHED: None, WRONG: "wrong", LEAKED: "leaked"}
                    .get(os.waitstatus_to_exitcode(status), "dead"))
            sums["points"] += os.waitstatus_to_exitcode(status) != NOT_REACHED
            if what is not None:
                sums[what] += 1
                kind, later, nth = point
                print(f"{what.upper()} (status {status:x}): {scenario.__name__}, kind {kind}, "
                      f"{'later' if later else 'once'} {nth}", file=sys.stderr)
    print("{points} points of failure: {wrong} wrong, {dead} dead, {hung} hung, {leaked} leaked"
          .format(**sums))
    return sum(sums.values()) > sums["points"] or sums["points"] == 0


if __name__ == "__main__":
    sys.exit(main())
