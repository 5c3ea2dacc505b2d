"""The largest eigenvalue of a matrix, which stays on the GPU from product to product."""

import duoblas
import numpy as np

n = 400
rng = np.random.default_rng(2)
q = np.linalg.qr(rng.standard_normal((n, n)))[0]
values = np.append(np.linspace(1, 8, n - 1), 10)  # its eigenvalues
a = ((q * values) @ q.T).astype(np.float32)
x = np.ones((n, 1), np.float32)
y = np.empty_like(x)
with duoblas.keep(a) as kept, duoblas.keep(x, y) as (kx, ky):
    for _ in range(100):
        duoblas.sgemm(kept, kx, out=ky)
        kx[...] = ky / np.linalg.norm(ky)  # NumPy reads ky, so it comes home; kx is sent again
print("largest eigenvalue: %.2f" % np.linalg.norm(y))
