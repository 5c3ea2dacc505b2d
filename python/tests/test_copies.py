"""What pickle and copy make of each public class, and pools of processes whose workers raise."""

import copy
import pickle
import subprocess
import sys

import duoblas
import numpy as np
import pytest

X = np.ones(100, np.float32)
OWNERS = {duoblas.Context, duoblas.Event, duoblas.Graph, duoblas.Kept}

WAYS = [copy.copy, copy.deepcopy] + [
    lambda value, protocol=protocol: pickle.loads(pickle.dumps(value, protocol))
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1)]


def values():
    duoblas.ssum(X)
    for error in (duoblas.DuoBLASError, duoblas.ArgumentError, duoblas.OutOfMemoryError,
                  duoblas.DeviceError, duoblas.DeviceLostError,
                  duoblas.WrongResultError):
        yield error(duoblas.Status.ERR_DEVICE, "said")
        yield error(-99)
    yield from duoblas.Status
    yield duoblas.explain()
    yield duoblas.info()
    yield duoblas.report()


def test_every_class_is_tested():
    tested = {type(value) for value in values() if not isinstance(value, dict)}
    classes = {value for value in vars(duoblas).values() if isinstance(value, type)}
    dictionaries = {duoblas.Candidate, duoblas.Crossover, duoblas.Device, duoblas.Explanation,
                    duoblas.Info, duoblas.Report, duoblas.Served}
    views = {duoblas.DeviceArray, duoblas.KeptArray}
    assert classes == tested | dictionaries | OWNERS | views


@pytest.mark.parametrize("way", WAYS)
def test_values(way):
    for value in values():
        again = way(value)
        assert type(again) is type(value) and repr(again) == repr(value)
        if isinstance(value, duoblas.DuoBLASError):
            assert (str(again), again.status, again.detail, again.args) == (
                str(value), value.status, value.detail, value.args)
        else:
            assert again == value


def test_error_keeps_what_was_added():
    error = duoblas.DeviceError(-8, "said")
    error.where = "here"
    assert pickle.loads(pickle.dumps(error)).where == "here"


@pytest.mark.parametrize("way", WAYS)
def test_owners(way):
    """A copy would end what the original uses."""
    with duoblas.Context() as ctx, duoblas.keep(X, X) as kept:
        event = duoblas.Event().record(ctx)
        with duoblas.Graph() as graph:
            pass
        assert {type(owner) for owner in (ctx, event, graph, kept)} == OWNERS
        for owner in (ctx, event, graph, kept):
            with pytest.raises(TypeError, match=f"duoblas.{type(owner).__name__} can be neither"):
                way(owner)
        assert event.query() and duoblas.ssum(X) == 100
        kept.changed()


@pytest.mark.parametrize("way", WAYS)
def test_kept_arrays(way):
    """A copy is NumPy's."""
    with duoblas.keep(X) as kept:
        again = way(kept)
        assert type(again) is np.ndarray and np.array_equal(again, X)
        assert not np.shares_memory(again, X)


PROGRAM = """
import multiprocessing, sys
from concurrent.futures import ProcessPoolExecutor
import duoblas, numpy as np

def work(number):
    x = np.ones(100, np.float32)
    with duoblas.keep(x), duoblas.Context(path="cpu"):
        total = duoblas.ssum(x)
    if number % 2:
        duoblas.Context(device=1000)
    return total

if __name__ == "__main__":
    method = multiprocessing.get_context(sys.argv[1])
    duoblas.ssum(np.ones(100, np.float32))
    with method.Pool(2) as pool:
        try:
            pool.map(work, range(4))
        except duoblas.DeviceError as error:
            print(error.status.name, pool.map(work, [0, 2]) == [100, 100])
    with ProcessPoolExecutor(2, method) as pool:
        for future in [pool.submit(work, number) for number in range(4)]:
            try:
                print(future.result() == 100)
            except duoblas.DeviceError as error:
                print(error.status.name)
"""


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_pools(method, tmp_path):
    """They end, with the worker's error."""
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    done = subprocess.run([sys.executable, str(program), method], capture_output=True, text=True,
                          timeout=100)
    assert done.stdout.split() == ["ERR_DEVICE", "True"] + ["True", "ERR_DEVICE"] * 2, done.stderr
