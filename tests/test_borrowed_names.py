"""Names that other libraries take from inside PyTorch's modules: optimizers, attention layers,
index conversions, properties.
"""

from collections import OrderedDict

import pytest

import pellucid as torch
from pellucid.nn import functional as F


def test_parts_of_complex_tensors_can_be_assigned():
    x = torch.zeros(2, dtype=torch.complex64, requires_grad=True)
    y = x * 1
    part = torch.tensor([2.0, 3.0], requires_grad=True)
    y.imag = part
    y.real = 1.0
    assert y.tolist() == [1 + 2j, 1 + 3j]
    y.imag.sum().backward()
    assert part.grad.tolist() == [1, 1]
    assert x.grad.tolist() == [0, 0]
    with pytest.raises(TypeError, match="can't assign a str"):
        y.real = "a"
    real = torch.zeros(2)
    real.real = torch.ones(2)
    assert real.tolist() == [1, 1]
    with pytest.raises(
        RuntimeError, match="imag is not implemented for tensors with non-complex dtypes"
    ):
        real.imag = 1.0


def test_scripted_functions_raise_as_torchscript_does():
    @torch.jit.script
    def f(x: torch.Tensor, n: int = 1):
        if n == 2:
            raise ValueError("no two")
        assert n < 3, "too many"
        return x

    for n, text in (
        (2, "builtins.ValueError: no two"),
        (4, "RuntimeError: AssertionError: too many"),
    ):
        with pytest.raises(torch.jit.Error, match=text):
            f(torch.ones(1), n)
    with pytest.raises(
        RuntimeError,
        match=r"f\(\) is missing value for argument 'x'. Declaration: f\(Tensor x, int n=1\) -> Tensor",
    ):
        f()
    with pytest.raises(
        RuntimeError, match=r"f\(\) expected at most 2 argument\(s\) but received 3"
    ):
        f(torch.ones(1), 1, 2)
    with pytest.raises(RuntimeError, match="Unknown keyword argument 'z' for operator 'f'"):
        f(torch.ones(1), z=1)


def test_traced_modules_raise_as_torchscript_does():
    class Net(torch.nn.Module):
        def forward(self, x):
            torch._assert(x.shape[-1] == 3, "three columns")
            return x

    net = torch.jit.trace(Net(), torch.ones(2, 3))
    with pytest.raises(torch.jit.Error, match="three columns"):
        net(torch.ones(2, 2))
    with pytest.raises(RuntimeError, match=r"forward\(\) is missing value for argument 'x'"):
        net()


def test_optimizers_written_with_the_helpers_of_pytorchs():
    from pellucid.optim.optimizer import (
        _default_to_fused_or_foreach,
        _get_value,
        _use_grad_for_differentiable,
        _view_as_real,
    )

    class Descent(torch.optim.Optimizer):
        def __init__(self, params, differentiable):
            super().__init__(params, {"lr": torch.tensor(0.5), "differentiable": differentiable})

        @_use_grad_for_differentiable
        def step(self):
            for group in self.param_groups:
                lists = [group["params"], [p.grad for p in group["params"]]]
                for (_, kind), ((params, grads), places) in self._group_tensors_by_device_and_dtype(
                    lists, True
                ).items():
                    assert [group["params"][k].dtype for k in places] == [kind] * len(places)
                    assert _default_to_fused_or_foreach(params, False) == (False, False)
                    for p, g in zip(params, grads, strict=True):
                        p.sub_(g, alpha=_get_value(group["lr"]))
            return torch.is_grad_enabled()

    a, b = torch.ones(2, requires_grad=True), torch.ones(1, dtype=torch.float64, requires_grad=True)
    (a.sum() + b.sum()).backward()
    assert not Descent([a, b], False).step()
    assert a.tolist() == [0.5, 0.5]
    assert b.tolist() == [0.5]
    params, grads = (
        [torch.ones(2, dtype=torch.complex64), torch.ones(2)],
        [torch.ones(2, dtype=torch.complex64), torch.ones(2)],
    )
    _view_as_real(params, grads)
    assert [tuple(x.shape) for x in (*params, *grads)] == [(2, 2), (2,), (2, 2), (2,)]


def test_optimizers_around_an_optimizer_patch_their_step():
    class Around(torch.optim.Optimizer):
        def __init__(self, inner):
            self._optimizer_step_pre_hooks = OrderedDict()
            self._optimizer_step_post_hooks = OrderedDict()
            self._patch_step_function()
            self.inner = inner

        def step(self):
            self.inner.step()

    p = torch.ones(1, requires_grad=True)
    p.grad = torch.ones(1)
    optimizer, seen = Around(torch.optim.SGD([p], 0.5)), []
    assert optimizer._zero_grad_profile_name == "Optimizer.zero_grad#Around.zero_grad"
    optimizer.register_step_post_hook(lambda *args: seen.append("after"))
    optimizer.step()
    assert (p.item(), seen) == (0.5, ["after"])

    def own(self):
        seen.append("own")

    Around.step = torch.optim.Optimizer.profile_hook_step(own)
    optimizer.step()
    assert seen == ["after", "own", "after"]


def test_parts_of_attention():
    q, k = torch.randn(3, 2, 4), torch.randn(5, 2, 4)
    weight, bias = torch.randn(12, 4), torch.randn(12)
    packed = F._in_projection_packed(q, k, k, weight, bias)
    single = F._in_projection(q, k, k, *weight.chunk(3), *bias.chunk(3))
    assert all(torch.allclose(x, y) for x, y in zip(packed, single, strict=True))
    with pytest.raises(AssertionError, match=r"expecting key weights shape of \(4, 4\)"):
        F._in_projection(q, k, k, weight[:4], weight[4:8, :2], weight[8:])
    assert F._canonical_mask(
        torch.tensor([True, False]), "m", None, "", torch.float32
    ).tolist() == [float("-inf"), 0]
    with pytest.warns(UserWarning, match="Support for mismatched m and n is deprecated"):
        F._canonical_mask(torch.zeros(2), "m", torch.bool, "n", torch.float32)
    assert F._none_or_dtype(None) is None
    assert F._none_or_dtype(q) is torch.float32
    assert F._mha_shape_check(q, k, k, None, None, 2)
    assert [F._Reduction.get_enum(name) for name in ("none", "mean", "sum")] == [0, 1, 2]


def test_rows_and_where_they_begin():
    rows, columns = torch.tensor([0, 0, 2, 3]), torch.tensor([1, 2, 0, 3])
    starts = torch._convert_indices_from_coo_to_csr(rows, 5)
    assert starts.tolist() == [0, 2, 2, 3, 4, 4]
    assert torch._convert_indices_from_coo_to_csr(rows[:0], 2, out_int32=True).dtype is torch.int32
    assert torch._convert_indices_from_csr_to_coo(starts, columns).tolist() == [
        rows.tolist(),
        columns.tolist(),
    ]
    assert torch._convert_indices_from_csr_to_coo(starts, columns, transpose=True).tolist() == [
        columns.tolist(),
        rows.tolist(),
    ]
    with pytest.raises(NotImplementedError, match="not implemented for 'Float'"):
        torch._convert_indices_from_coo_to_csr(torch.ones(2), 3)


def test_a_module_with_other_tensors_in_place_of_its_own():
    from pellucid.nn.utils.stateless import _reparametrize_module

    layer = torch.nn.Linear(2, 1)
    own = layer.weight
    with _reparametrize_module(layer, {"weight": torch.zeros(1, 2)}):
        assert layer(torch.ones(1, 2)).item() == layer.bias.item()
    assert layer.weight is own


def test_a_loader_may_get_another_sampler():
    class Loader(torch.utils.data.DataLoader):
        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            self._DataLoader__initialized = False
            self.batch_sampler = [[1, 0]]
            self._DataLoader__initialized = True

    loader = Loader([1, 2])
    assert [batch.tolist() for batch in loader] == [[2, 1]]
    with pytest.raises(
        ValueError, match="batch_sampler attribute should not be set after Loader is initialized"
    ):
        loader.batch_sampler = None


def test_transformers_parts():
    from pellucid.nn.modules import transformer

    assert transformer._get_activation_fn("gelu")(torch.zeros(1)).item() == 0
    with pytest.raises(RuntimeError, match="activation should be relu/gelu, not tanh"):
        transformer._get_activation_fn("tanh")
    clones = transformer._get_clones(torch.nn.Linear(1, 1), 2)
    assert clones[0].weight is not clones[1].weight
    mask = transformer._generate_square_subsequent_mask(2)
    assert mask.tolist() == [[0, float("-inf")], [0, 0]]
    assert transformer._detect_is_causal_mask(mask, None, 2)
    assert transformer._get_seq_len(torch.ones(3, 2, 4), True) == 2
    torch.nn.init._no_grad_fill_(layer := torch.nn.Parameter(torch.zeros(2)), 3.0)
    assert layer.tolist() == [3, 3]


def test_operators_that_a_program_declared_before_torchvision_get_their_kernels():
    import subprocess
    import sys

    program = (
        "import pellucid as torch\n"
        "torch.library.define('torchvision::nms', '(Tensor dets, Tensor scores, float iou_threshold) -> Tensor')\n"
        "torch.ops.load_library('torchvision/_C.so')\n"
        "print(torch.ops.torchvision.nms(torch.tensor([[0.0, 0, 1, 1], [0, 0, 1, 1]]), torch.tensor([0.1, 0.9]), 0.5).tolist())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.stdout == "[1]\n", done.stderr


def test_the_test_case_that_libraries_derive_from():
    from pellucid.testing._internal.common_utils import TestCase

    class Case(TestCase):
        pass

    case = Case()
    case.assertEqual([torch.ones(2), 1.0], [torch.ones(2) + 1e-8, 1.0 + 1e-9])
    case.assertEqual({"a": None}["a"], None)
    case.assertEqual("a", "a")
    case.assertEqual(torch.ones(1), torch.ones(1, dtype=torch.float64), exact_dtype=False)
    case.assertNotEqual(torch.ones(1), torch.zeros(1))
    for x, y in (
        (torch.ones(1), torch.zeros(1)),
        (1, 2),
        ("a", "b"),
        (torch.ones(1), torch.ones(1, dtype=torch.float64)),
    ):
        with pytest.raises(AssertionError):
            case.assertEqual(x, y)


def test_functions_ask_types_that_take_over_in_all_places():
    asked = []

    class Mine(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            asked.append(func.__name__)
            return super().__torch_function__(func, types, args, kwargs or {})

    mine, plain = torch.ones(2).as_subclass(Mine), torch.ones(2)
    asked.clear()
    torch.add(plain, mine)
    torch.add(plain, other=mine)
    torch.stack([plain, mine])
    torch.cat(tensors=(plain, mine))
    assert asked == ["add", "add", "stack", "cat"]
    assert type(torch.add(plain, plain)) is torch.Tensor

    class Log(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            asked.append(f"mode {func.__name__}")
            return func(*args, **(kwargs or {}))

    asked.clear()
    with Log():
        torch.exp(plain)
        torch.zeros(2, dtype=torch.float64)
    torch.exp(plain)
    assert asked == ["mode exp", "mode zeros"]


def test_samplers_and_datasets_are_found_beside_the_loader_that_uses_them():
    from pellucid.distributions import transforms
    from pellucid.utils.data import dataloader

    data = torch.utils.data
    for (
        name
    ) in "BatchSampler Dataset IterableDataset RandomSampler Sampler SequentialSampler".split():
        assert getattr(dataloader, name) is getattr(data, name)
    x = torch.tensor([-200.0, 0.0, 200.0])
    clipped = transforms._clipped_sigmoid(x)
    assert torch.equal(clipped, torch.distributions.SigmoidTransform()(x))
    assert 0 < clipped[0] and clipped[2] < 1
