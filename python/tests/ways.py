"""The two ways of a call: by the compiled module, and the long one."""

import duoblas
import numpy as np
import pytest

from duoblas import _operations, _products, _quick

needs_module = pytest.mark.skipif(isinstance(_quick.quick, _quick._LongWay),
                                  reason="there is no compiled module beside the library")


def take(monkeypatch, way):
    """Calls go this way."""
    for module in (_operations, _products):
        monkeypatch.setattr(module, "quick", way)


@pytest.fixture
def taken(monkeypatch):
    """The number of calls that went the quick way."""
    class Counted:
        number = 0

        def __getattr__(self, name):
            function = getattr(_quick.quick, name)

            def call(*arguments):
                done = function(*arguments)
                Counted.number += done is not None
                return done
            return call

    duoblas.ssum(np.ones(1, np.float32))  # this thread's last call was in its own context
    take(monkeypatch, Counted())
    return lambda: Counted.number


def both(call):
    """The outcomes of a call by the quick way and by the long one."""
    found = []
    duoblas.ssum(np.ones(1, np.float32))
    for way in (_quick.quick, _quick._LongWay()):
        with pytest.MonkeyPatch.context() as patch:
            take(patch, way)
            try:
                found.append(call())
            except Exception as problem:
                found.append((type(problem), str(problem)))
    return found
