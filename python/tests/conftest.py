"""What the tests share. They test the library that DUOBLAS_LIBRARY names: as it is shipped, or on
the simulated device (tests/CMakeLists.txt), which the fixture `sim` controls."""

import ctypes
import os
import sys
import types
from importlib.machinery import PathFinder
from pathlib import Path

import numpy as np
import pytest

# Without DUOBLAS_LIBRARY the package that is installed is tested. `python -m pytest` in python/
# would find the sources first, which have no library.
_SOURCE = Path(__file__).resolve().parents[1]
_elsewhere = [folder for folder in sys.path if Path(folder).resolve() != _SOURCE]
if "DUOBLAS_LIBRARY" not in os.environ and PathFinder.find_spec("duoblas", _elsewhere):
    sys.path[:] = _elsewhere

from duoblas._library import library


def pytest_report_header():
    import duoblas
    from duoblas._library import library_path
    return f"duoblas {duoblas.__version__}: {library_path}, GPUs: {duoblas.device_count()}"


@pytest.fixture
def rng():
    return np.random.default_rng(20)


@pytest.fixture(scope="session")
def header():
    """The text of duoblas.h."""
    path = Path(__file__).resolve().parents[2] / "include" / "duoblas.h"
    if not path.exists():
        pytest.skip("the header is not beside the tests")
    return path


# ---- The simulated device ----

class Sim:
    """tests/sim/sim.h"""

    def __init__(self):
        for name in ("foreign_malloc", "foreign_free", "read", "write", "set_delay", "hold",
                     "violations", "uploaded_bytes", "downloaded_bytes"):
            setattr(self, name, getattr(library, "sim_" + name))
        self.hold.argtypes = [ctypes.c_bool]
        self.foreign_malloc.argtypes = [ctypes.c_int, ctypes.c_size_t]
        self.foreign_malloc.restype = ctypes.c_void_p
        self.foreign_free.argtypes = [ctypes.c_void_p]
        self.read.argtypes = self.write.argtypes = [ctypes.c_void_p, ctypes.c_void_p,
                                                    ctypes.c_size_t]
        self.uploaded_bytes.restype = self.downloaded_bytes.restype = ctypes.c_uint64


@pytest.fixture
def sim():
    if not hasattr(library, "sim_foreign_malloc"):
        pytest.skip("not on the simulated device")
    device = Sim()
    before = device.violations()
    yield device
    device.hold(False)
    device.set_delay(0)
    assert device.violations() == before


class _Memory:
    """Device memory that the library does not know, as from cudaMalloc."""

    def __init__(self, sim, array):
        self.sim = sim
        self.like = np.array(array)  # a copy in C order, for its shape and strides
        self.address = sim.foreign_malloc(0, max(1, self.like.nbytes))
        sim.write(self.address, self.like.ctypes.data, self.like.nbytes)

    def __del__(self):
        self.sim.foreign_free(self.address)


class DeviceArray:
    """An array in the simulated device's memory, by the CUDA array interface."""

    mask = None

    def __init__(self, sim, array):
        self.memory = _Memory(sim, array)
        self.view = self.memory.like
        self.read_only = False

    def __getitem__(self, index):
        other = type(self).__new__(type(self))
        other.memory, other.view, other.read_only = self.memory, self.view[index], self.read_only
        return other

    @property
    def address(self):
        own = self.memory.like.__array_interface__["data"][0]
        return self.memory.address + self.view.__array_interface__["data"][0] - own

    def get(self):
        """What the memory holds now. All work on it has to be done."""
        memory = self.memory
        memory.sim.read(memory.like.ctypes.data, memory.address, memory.like.nbytes)
        return self.view.copy()

    @property
    def __cuda_array_interface__(self):
        return {"version": 3, "shape": self.view.shape, "strides": self.view.strides,
                "typestr": self.view.dtype.str, "data": (self.address, self.read_only),
                "mask": self.mask, "stream": None}


# ---- The same by DLPack ----

class _Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device", ctypes.c_int32 * 2), ("ndim", ctypes.c_int32),
                ("dtype", ctypes.c_uint8 * 4), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


class _Old(ctypes.Structure):
    """DLManagedTensor"""

    _fields_ = [("tensor", _Tensor), ("manager", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


class _New(ctypes.Structure):
    """DLManagedTensorVersioned"""

    _fields_ = [("version", ctypes.c_uint32 * 2), ("manager", ctypes.c_void_p),
                ("deleter", ctypes.c_void_p), ("flags", ctypes.c_uint64), ("tensor", _Tensor)]


_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
_new_capsule.restype = ctypes.py_object
_pointer_of = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi))
_living = {}


@ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
def _end_old(capsule):
    del _living[_pointer_of(capsule, b"dltensor")]


@ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
def _end_new(capsule):
    del _living[_pointer_of(capsule, b"dltensor_versioned")]


class DLPackArray(DeviceArray):
    """An array in the simulated device's memory, by DLPack. Remembers the streams it was given."""

    streams: list = []
    kind = 2

    def __dlpack_device__(self):
        return self.kind, 0

    def _fill(self, tensor):
        """Returns what has to live as long as the tensor."""
        view = self.view
        dims = ctypes.c_int64 * max(1, view.ndim)
        shape, strides = dims(*view.shape), dims(*(s // view.itemsize for s in view.strides))
        tensor.data, tensor.byte_offset = self.address - 8, 8
        tensor.device[:], tensor.ndim = (self.kind, 0), view.ndim
        tensor.dtype[:] = 2, 8 * view.itemsize, 1, 0
        tensor.shape = ctypes.cast(shape, ctypes.POINTER(ctypes.c_int64))
        if not view.flags.c_contiguous:  # else they may be missing
            tensor.strides = ctypes.cast(strides, ctypes.POINTER(ctypes.c_int64))
        return self.memory, shape, strides

    def _capsule(self, managed, name, end):
        _living[ctypes.addressof(managed)] = managed, self._fill(managed.tensor)
        return _new_capsule(ctypes.addressof(managed), name, ctypes.cast(end, ctypes.c_void_p))

    def __dlpack__(self, *, stream=None):
        self.streams.append(stream)
        return self._capsule(_Old(), b"dltensor", _end_old)


class NewDLPackArray(DLPackArray):
    """The same by DLPack 1.0."""

    def __dlpack__(self, *, stream=None, max_version=None):
        assert max_version >= (1, 0)
        self.streams.append(stream)
        managed = _New(version=(1, 0), flags=int(self.read_only))
        return self._capsule(managed, b"dltensor_versioned", _end_new)


# ---- The same by DLPack's exchange in C ----

class _Exchange(ctypes.Structure):
    """DLPackExchangeAPI"""

    _fields_ = [("version", ctypes.c_uint32 * 2), ("previous", ctypes.c_void_p),
                *((name, ctypes.c_void_p) for name in ("allocate", "managed_of", "array_of",
                                                       "tensor_of", "stream_of"))]


@ctypes.CFUNCTYPE(None, ctypes.c_void_p)
def _end_managed(managed):
    del _living[managed]


@ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(ctypes.c_void_p))
def _managed_of(array, to):
    if array.fails:
        return -1
    managed = _New(version=array.version, flags=array.flags | array.read_only)
    managed.deleter = ctypes.cast(_end_managed, ctypes.c_void_p)
    _living[ctypes.addressof(managed)] = managed, array._fill(managed.tensor)
    to[0] = ctypes.addressof(managed)
    return 0


@ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int32, ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p))
def _stream_of(kind, device, to):
    assert (kind, device) == (2, 0)
    to[0] = ExchangeArray.stream
    return 0


_exchange = _Exchange(version=(1, 3), **{name: ctypes.cast(function, ctypes.c_void_p) for
                                         name, function in (("managed_of", _managed_of),
                                                            ("stream_of", _stream_of))})


def exchange_capsule(table=_exchange):
    """What a type with the exchange has as its attribute."""
    return _new_capsule(ctypes.addressof(table), b"dlpack_exchange_api", None)


class ExchangeArray(NewDLPackArray):
    """An array of a library with the exchange, which works in one stream."""

    __dlpack_c_exchange_api__ = exchange_capsule()
    stream = 7
    version, flags, fails = (1, 3), 0, False


class HostArray(ExchangeArray):
    """The same in host memory."""

    kind = 1

    def __init__(self, array):
        self.view = np.asarray(array)
        self.memory = types.SimpleNamespace(like=self.view, address=self.view.ctypes.data)
        self.read_only = False

    def __array__(self, dtype=None, copy=None):
        view = self.view.view()
        view.flags.writeable = not self.read_only
        return view

    def get(self):
        return self.view


@pytest.fixture
def capsules():
    """How many of them are alive."""
    return lambda: len(_living)


@pytest.fixture(params=[DeviceArray, DLPackArray, NewDLPackArray])
def on_device(request, sim):
    """A function that puts an array on the simulated device."""
    return lambda array: request.param(sim, np.asarray(array, np.float32))
