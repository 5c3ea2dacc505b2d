"""Whatever is given, an error is DuoBLAS's own, a TypeError, a ValueError or a MemoryError.

100 random calls of each function; with DUOBLAS_TEST_LONG=1 2000."""

import datetime
import decimal
import os

import duoblas
import numpy as np
import pytest

pytest.importorskip("hypothesis")
from hypothesis import given, settings, strategies as st

A = np.ones((4, 4), np.float32)
OBJECTS = [A, A[0], A[:, ::2], A[::-1], A[:0], A.T, A.astype(float), A.astype(">f4"), np.array("x"),
           A.view(np.recarray), np.ma.array(A), np.float32(1), np.array(1, np.float32),
           np.array([None, 1]),
           np.frombuffer(bytes(65), np.uint8)[1:].view(np.float32).reshape(4, 4), memoryview(b"7"),
           np.broadcast_to(np.float32(1), (2**60,)), np.zeros((1,) * 5, np.float32), int, object(),
           decimal.Decimal(2), datetime.date(2000, 1, 1), bytearray(b"7"), range(4), slice(3), ...,
           NotImplemented, "auto", "cpu", lambda: 0]
VALUES = (st.sampled_from(OBJECTS) | st.none() | st.booleans() | st.integers() | st.floats()
          | st.sampled_from([2**31, 2**63, 2**64, 10**400, -10**400]) | st.complex_numbers()
          | st.text() | st.binary() | st.lists(st.integers()) | st.lists(st.sampled_from(OBJECTS)))
ARRAYS = st.just(A) | VALUES
PRODUCT = {"a": ARRAYS, "b": ARRAYS, "c": VALUES, "alpha": VALUES, "beta": VALUES, "out": VALUES,
           "ctx": VALUES}
MEMORY = {"shape": VALUES, "dtype": VALUES, "order": VALUES, "ctx": VALUES}
SUM = {"x": st.just(A[0]) | VALUES, "out": VALUES, "ctx": VALUES}
CALLS = {
    duoblas.sgemm: PRODUCT, duoblas.sgemm_batched: PRODUCT, duoblas.sgemm_grouped: PRODUCT,
    duoblas.ssum: SUM, duoblas.sasum: SUM, duoblas.sdot: {**SUM, "y": st.just(A[0]) | VALUES},
    duoblas.empty_pinned: MEMORY, duoblas.pin: {"a": ARRAYS, "ctx": VALUES},
    duoblas.keep: {"ctx": VALUES}, duoblas.explain: {"ctx": VALUES},
    duoblas.Context: {name: VALUES for name in (
        "path", "math", "threads", "device", "devices", "stream", "adapt", "priority", "remember",
        "opening")},
}
NEEDED = ("a", "b", "x", "y", "shape")
FEW = settings(deadline=None, database=None, derandomize=True,
               max_examples=2000 if os.environ.get("DUOBLAS_TEST_LONG") else 100)


@pytest.mark.parametrize("function", CALLS, ids=lambda function: function.__name__)
def test_errors(function):
    told = CALLS[function]
    needed = {name: values for name, values in told.items() if name in NEEDED}
    optional = {name: values for name, values in told.items() if name not in NEEDED}

    @FEW
    @given(st.fixed_dictionaries(needed, optional=optional))
    def run(arguments):
        A[...] = 1
        duoblas.ssum(A[0])  # there is a call to explain
        try:
            function(**arguments)
        except (TypeError, ValueError, MemoryError, duoblas.DuoBLASError):
            pass

    run()


@pytest.mark.parametrize("keep", [duoblas.keep, duoblas.prepare])
def test_errors_of_keep(keep):
    @FEW
    @given(st.lists(ARRAYS, max_size=3))
    def run(arrays):
        try:
            keep(*arrays).release()
        except (TypeError, ValueError, MemoryError, duoblas.DuoBLASError):
            pass

    run()
