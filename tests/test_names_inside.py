"""Names from inside PyTorch that libraries ask while backward runs, for products of 8-bit floats, or
to read pickles.
"""

import gc
import io
import pickle

import pytest

import pellucid as torch
from pellucid.nn import functional as F


def test_hooks_ask_for_the_node_and_the_pass_they_run_in():
    seen = []

    def ask(*_):
        seen.append(
            (
                torch._C._current_graph_task_id(),
                type(torch._C._current_autograd_node()).__name__,
            )
        )

    assert torch._C._current_graph_task_id() == -1 and torch._C._current_autograd_node() is None
    w = torch.ones(2, requires_grad=True)
    w.register_hook(ask)
    w.register_post_accumulate_grad_hook(ask)
    y = w * 2
    y.register_hook(ask)
    y.grad_fn.register_prehook(ask)
    y.sum().backward()
    first = seen[0][0]
    assert seen == [(first, name) for name in ["MulBackward0"] * 2 + ["AccumulateGrad"] * 2]
    seen.clear()

    def unpack(t):
        ask()
        return t

    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            ask()
            return g * 2

    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, unpack):
        Twice.apply(w.exp()).sum().backward()
    assert [name for _, name in seen[:2]] == ["TwiceBackward", "ExpBackward0"]
    assert {number for number, _ in seen} == {seen[0][0]} and seen[0][0] > first
    assert torch._C._current_graph_task_id() == -1 and torch._C._current_autograd_node() is None


def test_how_many_are_on_a_memory():
    x = torch.ones(3)
    s = x.untyped_storage()
    one = torch._C._storage_Use_Count(s._cdata)
    y = x[1:]
    z = x.view(3)
    assert torch._C._storage_Use_Count(s._cdata) == one + 2
    del y, z
    gc.collect()
    assert torch._C._storage_Use_Count(s._cdata) == one


def test_scaled_products():
    kinds = F.ScalingType
    assert repr(kinds.RowWise) == "<_ScalingType.RowWise: 1>" and int(kinds.BlockWise128x128) == 5
    assert F.SwizzleType.__members__["NO_SWIZZLE"] is F.SwizzleType.NO_SWIZZLE
    a = torch.randn(4, 8).to(torch.float8_e4m3fn)
    b = torch.randn(6, 8).to(torch.float8_e4m3fn).t()
    rows, columns = torch.rand(4, 1), torch.rand(1, 6)
    exact = (a.float() @ b.float()) * rows * columns
    made = F.scaled_mm(a, b, rows, kinds.RowWise, columns, kinds.RowWise, output_dtype=torch.float)
    torch.testing.assert_close(made, exact)
    bias = torch.ones(6, dtype=torch.bfloat16)
    made = F.scaled_mm(a, b, [rows], [kinds.RowWise], [columns], [kinds.RowWise], bias=bias)
    assert made.dtype == torch.bfloat16
    torch.testing.assert_close(made.float(), exact + 1, atol=0.05, rtol=0.02)
    one = torch.tensor(2.0)
    made = F.scaled_mm(a, b, one, kinds.TensorWise, one, kinds.TensorWise, output_dtype=None)
    assert made.dtype == torch.float8_e4m3fn
    for args in (
        (a.float(), b, one, kinds.TensorWise, one, kinds.TensorWise),
        (a, b, rows, kinds.BlockWise1x16, columns, kinds.BlockWise1x16),
        (a, b, rows, kinds.TensorWise, columns, kinds.TensorWise),
        (a, b, one.double(), kinds.TensorWise, one, kinds.TensorWise),
    ):
        with pytest.raises(ValueError, match="Invalid scaling configuration"):
            F.scaled_mm(*args)


def test_the_unpickler_of_weights():
    from pellucid import _weights_only_unpickler as w

    data = pickle.dumps({"a": [1, 2.5], "b": print}, protocol=2)
    assert w.get_globals_in_pkl(io.BytesIO(data)) == {"__builtin__.print"}
    with pytest.raises(pickle.UnpicklingError, match="Unsupported global: GLOBAL print"):
        w.load(io.BytesIO(data))
    assert w.load(io.BytesIO(pickle.dumps([1, "x"], protocol=2))) == [1, "x"]
    assert w._get_allowed_globals()["torch.Tensor"] is torch.Tensor
    with w._safe_globals([test_scaled_products]):
        assert test_scaled_products in w._get_user_allowed_globals().values()


def test_classes_that_no_tensor_here_is_of():
    from pellucid._inductor.exc import CppCompileError, InductorError
    from pellucid.cuda import sparse

    assert not isinstance(torch.eye(2).to_sparse(), sparse.FloatTensor)
    with pytest.raises(TypeError, match="type torch.cuda.sparse.DoubleTensor not available"):
        sparse.DoubleTensor(2)
    assert issubclass(CppCompileError, RuntimeError) and issubclass(InductorError, RuntimeError)
    with pytest.raises(RuntimeError, match="_xpu_isCurrentStreamCapturing"):
        torch.xpu.is_current_stream_capturing()
