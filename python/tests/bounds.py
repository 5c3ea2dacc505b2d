"""Errors that duoblas.h allows, by float64."""

import numpy as np

U = 2.0**-24


def product(a, b, alpha=1.0, beta=0.0, c=None, by=np.matmul):
    """alpha a b + beta c in float64, and the largest error of each element. by: NumPy's function.
    """
    a, b = np.asarray(a, float), np.asarray(b, float)
    k = a.shape[-1] if a.ndim > 0 else 1
    right = alpha * by(a, b)
    bound = (k + 3) * U * abs(alpha) * by(abs(a), abs(b))
    if beta != 0:
        c = np.asarray(c, float)
        right = right + beta * c
        bound = bound + (2 + k // 64) * U * abs(beta * c)  # a CPU's BLAS adds by blocks of k
    return right, bound


def near(got, right, bound):
    """False for a NaN."""
    return bool(np.all(abs(np.asarray(got, float) - right) <= bound))
