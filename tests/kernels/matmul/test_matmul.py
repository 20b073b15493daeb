import os
import subprocess
import sys
import threading

import numpy as np
import pytest

import pellucid as torch
from pellucid.kernels.matmul import call as matmul
from pellucid.llvm import target, threads

RNG = np.random.default_rng(8)
SIZES = [
    (1, 1, 1),
    (4, 16, 33),
    (5, 3, 7),
    (11, 40, 48),  # few rows, whole vectors: B is read where it is
    (14, 20, 32),
    (15, 17, 33),
    (13, 40, 31),
    (29, 100, 64),
    (64, 128, 10),
    (100, 513, 50),
    (7, 1030, 100),
    (28, 300, 272),
    (700, 600, 70),
    # more rows than columns: panels of A, read where they are if rows of steps lie side by side
    (40, 1600, 33),
    (301, 800, 290),  # the same, with more columns than that repays
    (2000, 300, 900),  # B in two blocks
]


def data(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def close(got, a, b, extra=0.0):
    a, b = a.astype(np.float64), b.astype(np.float64)
    bound = np.matmul(np.abs(a), np.abs(b)) * 1e-6 * (1 + np.sqrt(a.shape[-1]) / 10) + 1e-6
    assert got.dtype == np.float32
    assert (np.abs(got - (np.matmul(a, b) + extra)) <= bound).all()


@pytest.mark.parametrize("m, k, n", SIZES)
def test_sizes_and_transposes(m, k, n, thread_count):
    product = matmul.gufuncs()["matmul"]
    for a in (data(m, k), data(k, m).T, data(m, k + 3)[:, 1 : k + 1]):
        for b in (data(k, n), data(n, k).T, data(k, 2 * n)[:, n:]):
            close(product(a, b), a, b)


def test_bias_and_relu(thread_count):
    for m, k, n in SIZES:
        x, w, bias = data(m, k), data(n, k), data(n)
        made = matmul.gufuncs()
        close(made["linear"](x, w.T, bias), x, w.T, bias)
        exact = made["linear"](x, w.T, bias)
        np.testing.assert_array_equal(made["linear_relu"](x, w.T, bias), np.maximum(exact, 0))


def test_batches_broadcast():
    product = matmul.gufuncs()["matmul"]
    cases = [((3, 5, 17), (3, 17, 40)), ((2, 3, 6, 20), (20, 35)), ((4, 1, 9, 16), (1, 2, 16, 36))]
    for shapes in (*cases, ((0, 4, 16), (16, 40))):
        a, b = (data(*s) for s in shapes)
        close(product(a, b), a, b)
    q, k = data(2, 64, 3, 32).swapaxes(1, 2), data(2, 64, 3, 32).swapaxes(1, 2)
    close(product(q, k.swapaxes(-1, -2)), q, k.swapaxes(-1, -2))


def test_entries_choose_and_agree():
    for a, b in (
        (data(40, 30), data(30, 50)),
        (data(2, 3), data(3, 2)),
        (data(30), data(30, 50)),
        (data(40, 30), data(30)),
        (np.broadcast_to(data(30), (40, 30)), data(30, 50)),
        (data(80, 60)[::2, ::2], data(30, 50)),
        (data(40, 30)[::-1], data(30, 50)),
        (data(40, 0), data(0, 50)),
    ):
        close(matmul.multiply(a, b), a, b)
    wide = RNG.standard_normal((40, 40))
    np.testing.assert_array_equal(matmul.multiply(wide, wide), wide @ wide)
    out = np.empty((40, 50), np.float32)
    a, b = data(40, 30), data(30, 50)
    assert matmul.multiply(a, b, out=out) is out
    for other in (
        np.zeros((50, 40), np.float32).T,
        np.zeros((40, 100), np.float32)[:, ::2],
        np.zeros((40, 50)),
    ):
        np.testing.assert_allclose(matmul.multiply(a, b, out=other), out, rtol=1e-4, atol=1e-5)
    with pytest.raises(ValueError):
        matmul.multiply(data(40, 30), data(31, 50))


def test_linear_entry():
    w, bias = data(50, 30), data(50)
    for x in (data(30), data(40, 30), data(2, 20, 30), data(1, 30), data(20, 2, 30).swapaxes(0, 1)):
        for b in (None, bias):
            got = matmul.linear(x, w, b)
            assert got.shape == (*x.shape[:-1], 50)
            close(got, x, w.T, 0.0 if b is None else b)
            np.testing.assert_array_equal(matmul.linear(x, w, b, relu=True), np.maximum(got, 0))


def test_nan_and_infinity_stay_in_place():
    a, b = data(40, 30), data(30, 50)
    a[3, 4], a[5, 6] = np.nan, np.inf
    b[6, :] = 1.0
    got = matmul.multiply(a, b)
    assert (
        np.isnan(got[3]).all()
        and np.isinf(got[5]).all()
        and np.isfinite(np.delete(got, (3, 5), 0)).all()
    )
    bias = data(50)
    bias[7] = np.nan
    assert np.isnan(matmul.linear(data(40, 30), b.T.copy(), bias, relu=True)[:, 7]).all()


def test_results_do_not_depend_on_threads_or_batch(thread_count):
    rng = np.random.default_rng(1)
    a, b = (rng.standard_normal(s).astype(np.float32) for s in ((300, 700), (700, 200)))
    whole = matmul.multiply(a, b)
    np.testing.assert_array_equal(matmul.multiply(np.stack([a, a]), b)[1], whole)
    threads.set_num_threads(3)
    np.testing.assert_array_equal(matmul.multiply(a, b), whole)


def test_python_threads_do_not_share_the_scratch():
    a, b = data(200, 300), data(300, 100)
    want = matmul.multiply(a, b)
    bad = []

    def work():
        for _ in range(20):
            if not np.array_equal(matmul.multiply(a, b), want):
                bad.append(1)

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not bad


NARROW = """
import numpy as np
from pellucid.kernels.matmul import call as matmul
rng = np.random.default_rng(0)
for m, k, n in ((5, 3, 7), (13, 40, 31), (100, 513, 50)):
    a, b = rng.standard_normal((m, k)).astype("f"), rng.standard_normal((n, k)).astype("f").T
    got = matmul.gufuncs()["matmul"](a, b)
    assert np.abs(got - a.astype(float) @ b.astype(float)).max() < 1e-4
"""


@pytest.mark.parametrize("bits", [128, 256])
def test_narrower_vectors(bits):
    if bits > target.host().vector_bits:
        pytest.skip("this processor has no such vectors")
    environment = os.environ | {"PELLUCID_VECTOR_BITS": str(bits)}
    subprocess.run([sys.executable, "-c", NARROW], env=environment, check=True)


def in_fresh_process(program, cache, **environment):
    """The standard output of a process that has compiled nothing yet."""
    environment = os.environ | {"PELLUCID_CACHE_DIR": str(cache)} | environment
    return subprocess.run(
        [sys.executable, "-c", program],
        env=environment,
        check=True,
        capture_output=True,
        text=True,
        timeout=600,
    ).stdout


ONLY = """
import numpy as np
from pellucid.llvm import jit; from pellucid.kernels.matmul import call as matmul
rng = np.random.default_rng(0)
def product(m, k, n):
    a, b = rng.standard_normal((m, k)).astype("f"), rng.standard_normal((k, n)).astype("f")
    assert np.abs(matmul.gufuncs()["matmul"](a, b) - a.astype(float) @ b.astype(float)).max() < 1e-4
    return jit.statistics["compiled"] + jit.statistics["loaded"]
rows, columns = matmul.plain_tile().rows, matmul.plain_tile().columns
print([product(*s) for s in ((2 * rows, 20, columns), (rows, 30, 3 * columns), (2 * rows - 1, 20, columns + 1), (2 * rows, 20, 1))])
"""


def test_a_product_compiles_what_it_needs(tmp_path):
    """The driver and one micro-kernel; the same; another height, and the tail's width for both
    heights; nothing new.
    """
    assert in_fresh_process(ONLY, tmp_path, PELLUCID_NUM_THREADS="1") == "[2, 2, 5, 5]\n"
    # from the disk
    assert in_fresh_process(ONLY, tmp_path, PELLUCID_NUM_THREADS="1") == "[2, 2, 5, 5]\n"


BITS = """
import hashlib
import numpy as np
import pellucid
from pellucid.llvm import jit; from pellucid.kernels.matmul import call as matmul
BEFORE
rng = np.random.default_rng(0)
digest = hashlib.sha256()
for m, k, n in ((5, 3, 7), (14, 20, 64), (13, 600, 31), (300, 700, 300), (77, 300, 290)):
    a, b, bias = (rng.standard_normal(s).astype("f") for s in ((m, k), (k, n), (n,)))
    for name, more in (("matmul", ()), ("linear_relu", (bias,))):
        digest.update(matmul.gufuncs()[name](a, b, *more).tobytes())
print(digest.hexdigest())
"""
ALL_BEFORE = """
for packed, t in ((True, matmul.tile()), (False, matmul.plain_tile())):
    for v in range(t.vectors, 0, -1):
        for r in range(1, t.rows + 1):
            matmul.ready(packed, r, v)
"""
NONE_COMPILES = """
import warnings
warnings.simplefilter("ignore")
real = jit.compile_source
jit.compile_source = lambda build, exports, name: None if " micro." in name else real(build, exports, name)
"""
INTERRUPTED = """
import signal, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # jobs in the background ignore it from the start
real, calls = jit.compile_source, []
def interrupt(build, exports, name):
    if " micro." in name and not calls:
        calls.append(name)
        signal.raise_signal(signal.SIGINT)
    return real(build, exports, name)
jit.compile_source = interrupt
try:
    matmul.gufuncs()["matmul"](np.ones((5, 3), "f"), np.ones((3, 7), "f"))
    time.sleep(60)  # where the handler is called while code is generated, it is heard here
except KeyboardInterrupt:
    pass
assert calls
"""


def test_bits_do_not_depend_on_what_was_compiled(tmp_path):
    """Not on what was there before, nor on the kernel that serves where none can be compiled, nor
    on an interruption.
    """
    first = in_fresh_process(BITS.replace("BEFORE", ""), tmp_path)
    for before in (ALL_BEFORE, NONE_COMPILES, INTERRUPTED):
        assert in_fresh_process(BITS.replace("BEFORE", before), tmp_path) == first
    assert (
        in_fresh_process(BITS.replace("BEFORE", "pellucid.set_num_threads(2)"), tmp_path) == first
    )


TOGETHER = """
import threading
import numpy as np
import pellucid
from pellucid.kernels.matmul import call as matmul
pellucid.set_num_threads(2)
made = matmul.gufuncs()["matmul"]
a, b = np.random.default_rng(0).standard_normal((2, 500, 500)).astype("f")
want, bad = a.astype(float) @ b.astype(float), []
def work(n):
    for m in range(n, 500, 29):
        if np.abs(made(a[:m], b) - want[:m]).max() > 1e-3:
            bad.append(m)
threads = [threading.Thread(target=work, args=(n,)) for n in (1, 2, 3, 5)]
for t in threads: t.start()
for t in threads: t.join()
assert not bad, bad
"""


def test_threads_that_need_the_same_kernels_at_once(tmp_path):
    in_fresh_process(TOGETHER, tmp_path)


def test_a_batch_of_nothing_and_a_product_without_columns():
    made = matmul.gufuncs()["matmul"]
    assert made(data(4, 16), data(16, 0)).shape == (4, 0) and made(
        data(0, 16), data(16, 40)
    ).shape == (0, 40)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_compiled_products_of_matrices_whose_rows_overlap(dtype):
    """BLAS wants rows apart: a sliding window is left to others."""
    x = torch.arange(21 * 40, dtype=dtype).sin().reshape(21, 40)
    window = torch.arange(70, dtype=dtype).cos().as_strided((31, 40), (1, 1))
    compiled = torch.compile(lambda x, w: torch.nn.functional.linear(x, w))
    for _ in range(3):
        assert torch.allclose(compiled(x, window), x @ window.clone().T, atol=1e-4)
