"""Who multiplies on how many threads: results are NumPy's, and the number of BLAS threads is as
before afterwards.
"""

import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest

from pellucid.kernels.matmul import blas
from pellucid.llvm import threads


@pytest.fixture
def two_threads():
    before = threads.get_num_threads()
    threads.set_num_threads(2)
    yield
    threads.set_num_threads(before)


@pytest.mark.parametrize("shapes", [((2, 3), (3, 4)), ((300, 40), (40, 24)), ((4, 300, 40), (40, 24)), ((300,), (300, 700)),
                                    ((700, 300), (300,)), ((3, 90, 80), (3, 80, 90))])  # fmt: skip
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64])
def test_products_are_numpy_s(two_threads, shapes, dtype):
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(shape).astype(dtype) for shape in shapes)
    wanted = np.matmul(a, b)
    np.testing.assert_allclose(blas.matmul(a, b), wanted, rtol=1e-4, atol=1e-4)
    out = np.empty_like(wanted)
    assert blas.matmul(a, b, out) is out
    np.testing.assert_allclose(out, wanted, rtol=1e-4, atol=1e-4)


SCRIPT = textwrap.dedent("""
    import sys
    import numpy as np
    import pellucid as torch
    from pellucid.kernels.matmul import blas; from pellucid.llvm import threads
    threads.set_num_threads(2)
    library = blas.openblas()
    if library is None:
        print("another library")
        raise SystemExit
    library.put(2)
    noted = []

    def noting(module, name):
        plain = getattr(module, name)
        setattr(module, name, lambda *args, **how: noted.append(library.get()) or plain(*args, **how))

    noting(np, "matmul")
""")
PRODUCTS = """
a = np.ones((300, 40))
blas.matmul(a[:2], a[:2].T)
blas.matmul(a, a.T)
blas.matmul(np.ones((600, 400)), np.ones((400, 600)))
try:
    blas.matmul(a, a)
except ValueError:
    pass
# Each of a stack's products is small, whatever their number.
blas.matmul(np.ones((90, 90, 90)), np.ones((90, 90, 90)))
# The first factor is small, the second is not: so are the gradients of a linear layer's input.
(torch.ones(32, 64) @ torch.ones(64, 512))
blas.matmul(np.ones((90, 90), np.complex64), np.ones(90, np.complex64))
print(noted, library.get())
"""


def run(text, monkeypatch, **environment):
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "PELLUCID_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    if "another" in done.stdout:
        pytest.skip("no OpenBLAS")
    return done.stdout.strip()


@pytest.mark.parametrize("kernels", ["0", "1"])
def test_the_caller_does_middling_products(kernels, monkeypatch):
    assert (
        run(SCRIPT + PRODUCTS, monkeypatch, PELLUCID_KERNELS=kernels) == "[2, 1, 2, 1, 1, 1, 1] 2"
    )


def test_the_caller_factors_small_matrices(monkeypatch):
    """Each function of `linalg`, and SciPy's, sees one thread; large matrices see all."""
    text = """
x = np.eye(60) + 0.01
plain = {name: getattr(np.linalg, name) for name in blas._LINALG}
for name, function in plain.items():
    wrapped = blas.bounded(lambda *a, function=function: noted.append(library.get()) or function(*a))
    wrapped(x, x) if name in ("solve", "lstsq") else wrapped(x)
    wrapped(np.stack([x, x]), np.stack([x, x])) if name == "solve" else None
blas.bounded(lambda x: noted.append(library.get()))(np.empty((600, 600)))
import scipy.linalg
seen = [known.path for known in blas.libraries()]
print(set(noted[:-1]), noted[-1], len(seen) == len(set(seen)), {known.get() for known in blas.libraries()})
"""
    assert run(SCRIPT + text, monkeypatch) == "{1} 2 True {2}"


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, "2 1 2"),
        ({"PELLUCID_NUM_THREADS": "1"}, "1 1 2"),
        ({"OPENBLAS_NUM_THREADS": "1"}, "1 1 1"),
    ],
    ids=["free", "pellucid", "openblas"],
)
def test_the_number_of_threads_bounds_blas(environment, expected, monkeypatch):
    """So does the variable from the first product that is worth it, and a number for BLAS alone
    stays the most it uses.
    """
    text = """
import pellucid as torch
from pellucid.kernels.matmul import blas; from pellucid.llvm import threads
if not any(known.kind == "openblas" for known in blas.libraries()):
    print("another library")
    raise SystemExit
def most():
    import scipy.linalg
    return max(known.get() for known in blas.libraries())
first = min(2, most())
torch.set_num_threads(1)
one = most()
torch.set_num_threads(2)
print(first, one, most())
"""
    if (os.cpu_count() or 1) < 2:
        pytest.skip("one core")
    assert run(text, monkeypatch, **environment) == expected


def test_threads_get_their_number_back_after_an_error(two_threads):
    before = [known.get() for known in blas.libraries()]
    with pytest.raises(np.linalg.LinAlgError):
        blas.linalg.inv(np.zeros((40, 40)))
    assert [known.get() for known in blas.libraries()] == before
