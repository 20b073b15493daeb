"""What happens where no code can be generated, and where it stops being possible."""

import os
import subprocess
import sys

import numpy as np
import pytest

from pellucid.kernels.pointwise import activations
from pellucid.llvm import jit, threads

WITHOUT = """
import sys
sys.modules["llvmlite"] = None
import numpy as np
from pellucid.kernels.pointwise import activations; from pellucid.kernels.rows import attention; from pellucid.kernels.rows import channel_norm; from pellucid.kernels.indexing import embedding; from pellucid.kernels.matmul import call as matmul; from pellucid.kernels.rows import norm; from pellucid.kernels.updates import optim; from pellucid.kernels.pointwise import reduce; from pellucid.kernels.rows import softmax; from pellucid.llvm import target; from pellucid.llvm import threads
assert not target.available() and threads.team() == 0
x, i = np.ones((40, 50), np.float32), np.zeros(40, np.int64)
q = np.ones((1, 1, 4, 4), np.float32)
assert activations.gelu is None and activations.add is None
assert softmax.softmax(x) is None and softmax.cross_entropy(x, i) is None
assert norm.layer_norm(x, (50,)) is None and channel_norm.batch_norm(x) is None and channel_norm.group_norm(x, 5) is None
assert reduce.sum(x) is None and reduce.mean(x, 0) is None and reduce.var(x, 1) is None and reduce.amax(x) is None
assert attention.attention(q, q, q) is None
rule = optim.UpdateRule(lambda m, n, param, grad: {"param": param - grad}, (), ())
assert optim.apply(rule, [[x], [x]], False, ()) is False and (x == 1).all()
assert embedding.gather_rows(x, i) is None and embedding.scatter_add_rows(x, i, 3) is None
np.testing.assert_array_equal(matmul.multiply(x, x.T), x @ x.T)
np.testing.assert_array_equal(matmul.linear(x, x, x[:, 0].copy(), relu=True), x @ x.T + 1)
"""


def test_without_llvmlite_everything_says_so_and_products_are_numpys():
    assert subprocess.run([sys.executable, "-c", WITHOUT]).returncode == 0


def test_a_kernel_that_does_not_compile_is_refused(monkeypatch):
    from pellucid.kernels.rows import softmax

    broken = jit.NativeLibrary(
        "broken", lambda name: "define void @softmax() {\n  nonsense\n}\n", {"softmax": "paaiii"}
    )
    monkeypatch.setitem(softmax._LIBRARIES, np.dtype(np.float32), broken)
    with pytest.warns(RuntimeWarning, match="kernel broken.softmax could not be compiled"):
        assert softmax.softmax(np.ones((2, 3), np.float32)) is None
    assert softmax.softmax(np.ones((2, 3), np.float32)) is None


def test_ufuncs_follow_the_number_of_threads():
    x = np.linspace(-3, 3, 200_003, dtype=np.float32)
    want = activations.silu(x)
    before = threads.get_num_threads()
    try:
        for count in (3, 1, 2):
            threads.set_num_threads(count)
            np.testing.assert_array_equal(activations.silu(x), want)
            assert threads._cell.value == (0 if count == 1 else threads._team.address)
    finally:
        threads.set_num_threads(before)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:This process")
def test_ufuncs_work_in_a_forked_child():
    before = threads.get_num_threads()
    threads.set_num_threads(2)
    x = np.linspace(-3, 3, 200_003, dtype=np.float32)
    want = activations.silu(x)
    child = os.fork()
    if child == 0:
        os._exit(0 if (activations.silu(x) == want).all() else 1)
    assert os.waitpid(child, 0)[1] == 0
    threads.set_num_threads(before)
