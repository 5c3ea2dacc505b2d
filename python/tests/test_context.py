"""Contexts, events, what a call explains, and threads."""

import gc
import threading
import weakref
from html.parser import HTMLParser

import duoblas
import numpy as np
import pytest

from bounds import near, product
X = np.arange(1000, dtype=np.float32)


def test_policy():
    with duoblas.Context(path="cpu", math="float64", threads=1, adapt=False,
                         priority="high") as ctx:
        duoblas.sgemm(X.reshape(50, 20), X.reshape(20, 50))
        told = ctx.explain()
        assert (told["side"], told["algorithm"], told["threads"]) == ("cpu", "sgemm_cpu_float64", 1)
        ctx.set_math("accurate")
        assert duoblas.ssum(X) == 499500
        assert ctx.explain()["algorithm"] == "ssum_cpu_lanes"
    assert ctx.closed
    with pytest.raises(ValueError, match="closed"):
        duoblas.ssum(X, ctx=ctx)
    ctx.close()  # does nothing


@pytest.mark.parametrize("bad", [{"path": "fpga"}, {"math": "fp8"}, {"priority": "low"},
                                 {"threads": -1}, {"path": 1}, {"device": 0, "devices": [0]},
                                 {"devices": list(range(9))}])
def test_bad_policy(bad):
    with pytest.raises(ValueError):
        duoblas.Context(**bad)


def test_no_such_device():
    with pytest.raises(duoblas.DeviceError) as told:
        duoblas.Context(device=1000)
    assert told.value.status is duoblas.Status.ERR_DEVICE
    assert isinstance(told.value, duoblas.DuoBLASError)


def test_which_context_is_used():
    own = duoblas.default_context()
    assert duoblas.default_context() is own
    with duoblas.Context() as outer:
        with duoblas.Context(threads=1) as inner:
            assert duoblas.default_context() is inner
            with outer:  # again
                assert duoblas.default_context() is outer
            assert not outer.closed
        assert duoblas.default_context() is outer
        duoblas.ssum(X)
        assert duoblas.explain() == outer.explain()
        duoblas.sasum(X, ctx=own)
        assert duoblas.explain()["operation"] == "sasum"
        assert outer.explain()["operation"] == "ssum"
    assert duoblas.default_context() is own


def test_explain():
    with duoblas.Context():
        a = np.ones((300, 200), np.float32)
        duoblas.sgemm(a, a.T)
        told = duoblas.explain()
    assert (told["operation"], told["m"], told["n"], told["k"]) == ("sgemm", 300, 300, 200)
    assert told["residence"] == ("pageable",) * 3
    ran = [c for c in told["candidates"] if c["ran"]]
    assert [c["algorithm"] for c in ran] == [told["algorithm"]]
    assert ran[0]["accepts"] and ran[0]["side"] == told["side"]
    assert ran[0]["predicted_seconds"] == pytest.approx(told["predicted_seconds"])
    parts = sum(ran[0][p + "_seconds"] for p in ("transfer", "launch", "compute"))
    assert parts == pytest.approx(told["predicted_seconds"])
    assert told["reason"] and told["seconds"] is None
    assert told["count"] == 1 and ran[0]["route"] in ("cpu", "streamed")


class Table(HTMLParser):
    """The texts of a table's rows, and its tags."""

    def __init__(self, html):
        super().__init__()
        self.rows, self.tags, self.open = [], set(), []
        self.feed(html)
        assert not self.open

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        self.open.append(tag)
        if tag == "tr":
            self.rows.append([dict(attributes).get("style", "")])

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open[-1] in ("td", "th"):
            self.rows[-1].append(data)


def test_explain_in_notebooks():
    with duoblas.Context(path="cpu"):
        a = np.ones((300, 200), np.float32)
        duoblas.sgemm(a, a.T)
        told = duoblas.explain()
    html = told._repr_html_()
    assert "300 x 300 x 200" in html and told["reason"] in html
    head, *rows = Table(html).rows
    assert [row[1] for row in rows] == [c["algorithm"] for c in told["candidates"]]
    for row, candidate in zip(rows, told["candidates"]):
        assert ("bold" in row[0]) == candidate["ran"]
        assert len(row) == (len(head) if candidate["accepts"] else 4)
        if candidate["accepts"]:
            assert float(row[4]) == pytest.approx(candidate["predicted_seconds"] * 1e6, abs=0.06)


def test_all_text_is_escaped():
    with duoblas.Context(path="cpu"):
        duoblas.sgemm_batched(np.ones((7, 20, 20), np.float32), np.ones((20, 20), np.float32))
        told = duoblas.explain()
    bad = "<script>&'\""
    told["operation"] = told["reason"] = told["note"] = bad
    for candidate in told["candidates"]:
        candidate["algorithm"] = candidate["side"] = candidate["route"] = bad
    found = Table(told._repr_html_())
    assert found.tags == {"p", "table", "tr", "th", "td"}
    assert all(row[1] == bad for row in found.rows[1:])


def test_explain_batch():
    with duoblas.Context(path="cpu"):
        duoblas.sgemm_batched(np.ones((7, 20, 20), np.float32), np.ones((20, 20), np.float32))
        told = duoblas.explain()
    ran, = (c for c in told["candidates"] if c["ran"])
    assert told["count"] == 7 and ran["route"] in ("team", "one-by-one")
    assert ran["predicted_seconds"] == pytest.approx(told["predicted_seconds"])
    parts = sum(ran[p + "_seconds"] for p in ("transfer", "launch", "compute"))
    assert parts == pytest.approx(told["predicted_seconds"])


def test_threads(rng):
    """Each thread has its own context; one that is shared is used by turns."""
    a, b = rng.standard_normal((64, 48), np.float32), rng.standard_normal((48, 80), np.float32)
    right, bound = product(a, b)
    good, used = [], []

    def work(ctx):
        used.append(duoblas.default_context())
        good.append(all(near(duoblas.sgemm(a, b, ctx=ctx), right, bound) for _ in range(50)))

    with duoblas.Context() as shared:
        threads = [threading.Thread(target=work, args=(c,)) for c in (None, None, shared, shared)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    assert good == [True] * 4
    assert len(set(map(id, used))) == 4


def test_asynchronous(rng):
    x = rng.standard_normal(100000, np.float32)
    right = duoblas.ssum(x)
    with duoblas.Context(asynchronous=True) as ctx:
        results = [duoblas.ssum(x) for _ in range(300)]
        gc.collect()
        ctx.synchronize()
        assert all(type(r) is np.ndarray and r == right for r in results)
        last = duoblas.ssum(x)
        ctx.set_asynchronous(False)
        assert last == right and type(duoblas.ssum(x)) is np.float32


def test_awaited_results_live(rng):
    """The library writes to them when they come."""
    x = rng.standard_normal(1000, np.float32)
    with duoblas.Context(asynchronous=True) as ctx:
        result = weakref.ref(duoblas.ssum(x))
        gc.collect()
        assert result() is not None
        ctx.synchronize()
        gc.collect()
        assert result() is None


def test_events(rng):
    x = rng.standard_normal(100000, np.float32)
    event = duoblas.Event()
    assert event.query()
    with duoblas.Context(asynchronous=True) as first, duoblas.Context() as second:
        result = duoblas.ssum(x, ctx=first)
        event.record(first)
        event.wait(second)
        event.synchronize()
        assert event.query() and result == duoblas.ssum(x, ctx=second)


def test_errors():
    error = duoblas.OutOfMemoryError(duoblas.Status.ERR_MEMORY, "said")
    assert isinstance(error, MemoryError) and isinstance(error, duoblas.DuoBLASError)
    assert str(error) == "out of memory (said)"
    assert isinstance(duoblas.ArgumentError(-2), ValueError)
    assert isinstance(duoblas.DeviceLostError(-9), duoblas.DeviceError)
    assert duoblas.DuoBLASError(-99).status == -99


def test_info():
    facts = duoblas.info()
    assert facts["version"] == duoblas.__version__.partition("rc")[0]
    assert facts["cpu_sgemm"].startswith("sgemm_cpu_")
    assert len(facts["devices"]) == duoblas.device_count()


def test_verify(rng):
    a = rng.random((30, 40), dtype=np.float32)
    with duoblas.Context(path="cpu", verify=1.0) as ctx:
        c = duoblas.sgemm(a, a.T, ctx=ctx)
        assert "verify=1.0" in repr(ctx)
        assert np.allclose(c, a @ a.T, rtol=1e-5)
        assert duoblas.ssum(a[0], ctx=ctx) == pytest.approx(a[0].sum(), rel=1e-5)
        ctx.set_verify(0, seed=3)
        for rate in (-0.5, 1.5, float("nan")):
            with pytest.raises(duoblas.ArgumentError):
                ctx.set_verify(rate)
    assert issubclass(duoblas.WrongResultError, duoblas.DuoBLASError)
