"""Who multiplies on how many threads: results are NumPy's, and the number of BLAS threads is as before afterwards."""

import subprocess
import sys
import textwrap

import numpy as np
import pytest

from pellucid.codegen import blas, threads


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
    import numpy as np
    from pellucid.codegen import blas, threads
    threads.set_num_threads(2)
    controls = blas._controls()
    if controls is None:
        print("another library")
        raise SystemExit
    get, put = controls
    put(2)
    noted = []
    plain = np.matmul
    np.matmul = lambda *args: noted.append(get()) or plain(*args)
    a = np.ones((300, 40))
    blas.matmul(a[:2], a[:2].T)
    blas.matmul(a, a.T)
    blas.matmul(np.ones((600, 400)), np.ones((400, 600)))
    try:
        blas.matmul(a, a)
    except ValueError:
        pass
    threads.set_num_threads(1)
    blas.matmul(a, a.T)
    print(noted, get())
""")


@pytest.mark.parametrize("explicit", [False, True])
def test_the_caller_does_middling_products(explicit, monkeypatch):
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    if explicit:
        monkeypatch.setenv("OPENBLAS_NUM_THREADS", "2")
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    if "another" in done.stdout:
        pytest.skip("no OpenBLAS")
    assert done.stdout.strip() == ("[2, 2, 2, 2, 2] 2" if explicit else "[2, 1, 2, 1, 2] 2")
