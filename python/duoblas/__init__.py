"""DuoBLAS: sgemm, sasum, ssum and sdot that run where they finish first, on the CPU or a GPU.

    import duoblas, numpy as np
    a = np.random.rand(1000, 500).astype(np.float32)
    b = np.random.rand(500, 800).astype(np.float32)
    c = duoblas.sgemm(a, b)
    print(duoblas.explain()["reason"])

NumPy arrays in and out; CuPy's, PyTorch's and others are used on their device without a copy.
matmul, dot, vdot, sum and abs_sum have NumPy's rules, and leave to NumPy what is not float32.
"""

from ._context import Context, default_context, explain
from ._crossover import Crossover, crossover
from ._device import DeviceArray
from ._elsewhere import Report, report
from ._errors import (ArgumentError, DeviceError, DeviceLostError, DuoBLASError, OutOfMemoryError,
                      Status, WrongResultError)
from ._event import Event
from ._explain import Candidate, Explanation
from ._graph import Graph
from ._info import Device, Info, device_count, info
from ._install import Served, install, installed, uninstall
from ._keep import Kept, keep, prepare
from ._kept_array import KeptArray
from ._memory import copy, device_empty
from ._operations import sasum, sdot, sgemm, sgemm_batched, sgemm_grouped, ssum
from ._pinned import empty_pinned, pin, zeros_pinned
from ._products import dot, matmul, vdot
from ._sums import abs_sum, sum
from ._version import version as __version__

__all__ = ["ArgumentError", "Candidate", "Context", "Crossover", "Device", "DeviceArray",
           "DeviceError", "DeviceLostError", "DuoBLASError", "Event", "Explanation", "Graph",
           "Info", "Kept", "KeptArray", "OutOfMemoryError", "Report", "Served", "Status",
           "WrongResultError", "__version__", "abs_sum", "copy", "crossover", "default_context",
           "device_count", "device_empty", "dot", "empty_pinned", "explain", "info", "install",
           "installed", "keep", "matmul", "pin", "prepare", "report", "sasum", "sdot", "sgemm",
           "sgemm_batched", "sgemm_grouped", "ssum", "sum", "uninstall", "vdot", "zeros_pinned"]
