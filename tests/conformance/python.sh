# python.sh - NumPy's, SciPy's and scikit-learn's installed tests, where these reach our routines.
# Tests of PyPI's newest wheels, too: these bring BLAS libraries of their own. FAISS and PyTorch
# install no tests: they do a small task.

python=$root/usr/bin/python3 # the one that Debian's packages are for
[[ -z $root ]] || python=$root/usr/bin/python3.11
packages_numpy=(python3-numpy python3-pytest python3-hypothesis libblas3)
packages_scipy=(python3-scipy "${packages_numpy[@]}")
packages_sklearn=(python3-sklearn "${packages_scipy[@]}")
packages_faiss=(python3-faiss "${packages_numpy[@]}")
packages_torch=(python3-torch "${packages_numpy[@]}")
packages_numpy_pypi=(python3-venv)
packages_scipy_pypi=(python3-venv)
packages_sklearn_pypi=(python3-venv)

imports() { # MODULE...
    local module
    for module; do
        "${baseline[@]}" "$python" -c "import $module" 2>/dev/null ||
            skip "there is no $module for $python"
    done
}
run_pytest() { # MODULE... [-k WHICH]
    local summary
    client "$python" -m pytest -q -p no:cacheprovider --pyargs "$@" >out || true
    summary=$(tail -n 1 out)
    [[ $summary =~ ^[0-9]+\ passed && ! $summary =~ \ (failed|error) ]] ||
        fail "${summary:-no summary}"
    note "$summary"
}

# huge_vectordot needs 9 GB.
suite_numpy() {
    imports numpy pytest hypothesis
    run_pytest numpy.core.tests.test_{multiarray,einsum,ufunc} numpy.linalg.tests.test_linalg \
        -k '(dot or matmul or inner or einsum or linalg) and not huge_vectordot'
}
suite_scipy() {
    imports scipy pytest
    run_pytest scipy.linalg.tests.test_{blas,fblas,cython_blas}
}
suite_sklearn() {
    imports sklearn pytest
    run_pytest sklearn.neural_network.tests.test_mlp sklearn.cluster.tests.test_k_means \
        sklearn.decomposition.tests.test_pca
}

# Sets python to one that has the newest of these packages from PyPI.
pypi() { # PACKAGE...
    local folder=$store/pypi
    [[ -x $folder/bin/pip ]] || "$python" -m venv "$folder" || skip "there is no venv for $python"
    "$folder/bin/pip" install -q --upgrade --only-binary :all: pytest hypothesis "$@" ||
        skip "PyPI does not give $*"
    python=$folder/bin/python3
    "$python" -m pip list
}
suite_numpy_pypi() {
    pypi numpy
    run_pytest numpy._core.tests.test_{multiarray,einsum,ufunc} numpy.linalg.tests.test_linalg \
        -k '(dot or matmul or inner or einsum or linalg) and not huge_vectordot'
}
suite_scipy_pypi() {
    pypi numpy scipy
    run_pytest scipy.linalg.tests.test_{blas,fblas,cython_blas,lapack} \
        scipy.sparse.linalg._eigen.{tests.test_svds,arpack.tests.test_arpack}
}
suite_sklearn_pypi() {
    pypi numpy scipy scikit-learn
    suite_sklearn
}

run_python() { # the program, on stdin, prints True
    client "$python" - >out
    [[ $(tail -n 1 out) == True ]] || fail "$(tail -n 1 out)"
}
suite_faiss() {
    imports faiss numpy
    run_python <<'END'
import numpy as np, faiss
x = np.random.default_rng(1).random((2000, 32), dtype=np.float32)
index = faiss.IndexFlatL2(32)
index.add(x)
found = index.search(x[:100], 4)[1]
squares = ((x[:100, None].astype(float) - x[None]) ** 2).sum(2)
print((found == squares.argsort(1)[:, :4]).all())
END
    note "the nearest 4 of 2000, for 100"
}
suite_torch() {
    imports torch
    run_python <<'END'
import torch
torch.manual_seed(1)
a, b = torch.rand(200, 300), torch.rand(300, 100)
right = a.double() @ b.double()
net = torch.nn.Sequential(torch.nn.Linear(300, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1))
net(a).sum().backward()
grad = net[0].weight.grad.clone()
net.double().zero_grad()
net(a.double()).sum().backward()
print(bool(((a @ b - right).abs() < 1e-4 * right).all())
      and abs(torch.dot(a[0], a[1]).item() - torch.dot(a[0].double(), a[1].double()).item()) < 1e-3
      and torch.allclose(grad.double(), net[0].weight.grad, rtol=1e-4, atol=1e-4))
END
    note "a product, a dot, and a network's gradient"
}
