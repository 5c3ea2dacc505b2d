"""threadpoolctl finds the library, and its limits hold for calls."""
import numpy as np
import pytest

import duoblas

threadpoolctl = pytest.importorskip("threadpoolctl", minversion="3.2")


def ours():
    return [pool for pool in threadpoolctl.threadpool_info() if pool["internal_api"] == "duoblas"]


def test_limits():
    import duoblas.threadpool
    assert duoblas.threadpool.Controller.user_api == "blas"
    before = duoblas.default_context().threads
    (found,) = ours()
    assert found["num_threads"] == before
    assert duoblas.__version__.startswith(found["version"])
    a = np.ones((300, 300), np.float32)
    with threadpoolctl.threadpool_limits(1, "blas"):
        assert duoblas.default_context().threads == 1
        duoblas.sgemm(a, a)
        assert ours()[0]["num_threads"] == 1
    assert duoblas.default_context().threads == before
