"""The same as victim.c in Python: victim.py SEED PERCENT."""

import ctypes
import sys

import duoblas
import numpy as np

EDGE, TIMES = 300, 20
failing = ctypes.CDLL(None)
a = np.tile((np.arange(EDGE) % 5).astype(np.float32)[:, None], (1, EDGE))
ones = np.ones((EDGE, EDGE), np.float32)
right, total = (EDGE * a).tobytes(), 2.0 * EDGE * EDGE
wrong = missing = 0
failing.failing_arm_at_random(int(sys.argv[2]), int(sys.argv[1]))
for _ in range(TIMES):
    try:
        wrong += duoblas.sgemm(a, ones).tobytes() != right
    except MemoryError:
        missing += 1
    try:
        wrong += duoblas.sasum(a.ravel(order="K")) != total
    except MemoryError:
        missing += 1
failing.failing_disarm()
sys.exit(10 if wrong else 11 if missing else 0)
