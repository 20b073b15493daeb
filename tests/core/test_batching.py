"""Every public function gives under `vmap` what it gives sample by sample, or refuses; it never
gives something else.
"""

import warnings

import numpy as np
import pytest

import pellucid as torch
import pellucid.func
import pellucid.nn.functional
from pellucid.core.public import FUNCTIONS, METHODS

TABLES = {**FUNCTIONS, "Tensor": METHODS}
# results with undefined values
UNDEFINED = {"empty_like", "new", "new_empty", "new_empty_strided", "resize_", "resize_as_"}
OTHERS = {
    "manual_seed",
    "seed",
    "set_num_threads",
    "set_num_interop_threads",
    "__init__",
    "__setstate__",
    "__reduce_ex__",
    "__repr__",
    "__str__",
    "__format__",
    "__deepcopy__",
}
rng = np.random.default_rng(0)


def tensors(value):
    return isinstance(value, torch.Tensor) or (
        isinstance(value, tuple) and value and all(isinstance(v, torch.Tensor) for v in value)
    )


def stacked(rows):
    return (
        tuple(map(stacked, zip(*rows, strict=True)))
        if isinstance(rows[0], tuple)
        else torch.stack(rows)
    )


def compare(wanted, got):
    if isinstance(wanted, tuple):
        assert len(wanted) == len(got)
        for a, b in zip(wanted, got, strict=True):
            compare(a, b)
        return
    assert wanted.shape == got.shape
    assert wanted.dtype is got.dtype
    assert wanted.layout is got.layout
    wanted, got = wanted.to_dense(), got.to_dense()
    np.testing.assert_allclose(got.tolist(), wanted.tolist(), rtol=1e-5, atol=1e-8)


def check(function, arguments, dims):
    """Compare where the function takes samples; what it refuses under vmap must be an error, not
    another value.
    """
    samples = [
        [x[k] if d == 0 else x for x, d in zip(arguments, dims, strict=True)] for k in range(3)
    ]
    try:
        rows = [function(*[x.clone() for x in sample]) for sample in samples]
        wanted = stacked(rows) if tensors(rows[0]) else None
    except Exception:  # not a function of such arguments
        return False
    if wanted is None:
        return False
    try:
        got = torch.func.vmap(lambda *xs: function(*[x.clone() for x in xs]), in_dims=dims)(
            *arguments
        )
    except Exception:
        return False
    compare(wanted, got)
    return True


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("space", TABLES)
def test_functions_of_one_tensor(space):
    x = torch.tensor(rng.random((3, 4, 4)) * 0.8 + 0.1)
    compared = 0
    for name, function in list(TABLES[space].items()):
        if (
            name in UNDEFINED | OTHERS
            or name.startswith("set_")
            or isinstance(function, type)
            or not callable(function)
        ):
            continue
        compared += check(function, (x,), (0,))
        compared += check(lambda a, f=function: f(a, 0), (x,), (0,))
    assert compared or space in ("signal.windows",)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("space", ["torch", "nn.functional", "linalg"])
@pytest.mark.parametrize("dims", [(0, 0), (0, None), (None, 0)])
def test_functions_of_two_tensors(space, dims):
    pairs = [
        (rng.random((3, 4, 4)) + 0.1, rng.random((3, 4)) + 0.1),
        (rng.random((3, 4, 4)), rng.integers(0, 4, (3, 2))),
    ]
    compared = 0
    for name, function in list(TABLES[space].items()):
        if (
            name in UNDEFINED | OTHERS
            or name.startswith("set_")
            or isinstance(function, type)
            or not callable(function)
        ):
            continue
        for p, q in pairs:
            x, y = torch.tensor(p), torch.tensor(q)
            compared += check(
                function, (x if dims[0] == 0 else x[0], y if dims[1] == 0 else y[0]), dims
            )
    assert compared > 5


def test_gradients_of_samples():
    w = torch.tensor(rng.standard_normal((2, 1, 3, 3)))
    x = torch.tensor(rng.standard_normal((5, 1, 1, 6, 6)))

    def loss(weight, image):
        return (
            torch.nn.functional.max_pool2d(torch.nn.functional.conv2d(image, weight).relu(), 2)
            .square()
            .sum()
        )

    got = torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0))(w, x)
    for k in range(5):
        compare(torch.func.grad(loss)(w, x[k]), got[k])


@pytest.mark.parametrize("dtype", [torch.int32, torch.bool])
def test_sums_of_single_numbers_have_the_dtype_of_sums(dtype):
    x = torch.tensor([1, 0, 1], dtype=dtype)
    for function in (torch.sum, torch.prod, lambda a: a.sum(0)):
        got = torch.func.vmap(function)(x)
        assert got.dtype is torch.int64
        assert got.tolist() == [1, 0, 1]


def test_nothing_is_left_behind():
    with pytest.raises(RuntimeError):
        torch.func.vmap(lambda a: a.sum().item())(torch.ones(3, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert torch.rand(2).shape == (2,)
    from pellucid.core import modes
    from pellucid.core.streams import generator as random
    from pellucid.core.transforms import batching

    assert batching.levels.stack == []
    assert random.draw_guards == []
    assert modes.state.slow == 0


def test_gradients_of_samples_of_a_module():
    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2))
    parameters = dict(module.named_parameters())
    x, y = torch.randn(5, 3), torch.tensor([0, 1, 0, 1, 1])

    def loss(p, a, b):
        out = torch.func.functional_call(module, p, (a.unsqueeze(0),))
        return torch.nn.functional.cross_entropy(out, b.unsqueeze(0))

    got = torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0, 0))(parameters, x, y)
    torch.nn.functional.cross_entropy(module(x), y).backward()
    for name, parameter in module.named_parameters():
        np.testing.assert_allclose(
            got[name].mean(0).tolist(), parameter.grad.tolist(), rtol=1e-5, atol=1e-7
        )
        assert parameter is parameters[name]


def test_an_ensemble_of_modules():
    models = [torch.nn.Linear(3, 2) for _ in range(4)]
    x = torch.ones(5, 3)
    parameters, buffers = torch.func.stack_module_state(models)
    call = torch.func.functional_call
    got = torch.func.vmap(lambda p, b: call(models[0], (p, b), (x,)))(parameters, buffers)
    np.testing.assert_allclose(
        got.tolist(), torch.stack([m(x) for m in models]).tolist(), rtol=1e-6
    )
    assert got.requires_grad


def test_a_batch_of_seeds_runs_backward():
    x = torch.tensor([1.0, 2.0, 3.0])
    made = torch.autograd.functional.jacobian(lambda v: v * v.sum(), x, vectorize=True)
    assert made.tolist() == torch.autograd.functional.jacobian(lambda v: v * v.sum(), x).tolist()


def test_data_is_refused_under_vmap():
    def read(x):
        return x.data * 2

    def write(x):
        x.data = torch.zeros(2)
        return x

    for function, said in (
        (read, "accessing `data` under vmap transform is not allowed"),
        (write, "mutating directly with `.data` under vmap transform is not allowed."),
    ):
        with pytest.raises(RuntimeError, match=said):
            torch.func.vmap(function)(torch.ones(3, 2))


@pytest.mark.parametrize("samples", [0, 1, 3])
def test_a_mean_of_all_elements_of_each_sample(samples):
    x = torch.arange(samples * 4.0).reshape(samples, 2, 2)
    assert torch.vmap(lambda s: s.mean())(x).tolist() == x.mean((1, 2)).tolist()
    losses = torch.vmap(lambda s: torch.nn.functional.mse_loss(s, s + 2))(x)
    assert losses.tolist() == [4.0] * samples


def test_each_sample_moves_running_statistics_of_its_own():
    for make, shape in (
        (lambda: torch.nn.BatchNorm1d(3), (4, 5, 3)),
        (lambda: torch.nn.InstanceNorm1d(3, track_running_stats=True), (4, 2, 3, 5)),
    ):
        x, models = torch.randn(shape), [make() for _ in range(4)]
        params, buffers = torch.func.stack_module_state(models)

        def run(p, b, sample):
            try:  # what is caught and raised again does not start again
                return torch.func.functional_call(models[0], (p, b), (sample,))
            except Exception as error:
                raise ValueError("inside") from error

        made = torch.vmap(run)(params, buffers, x)
        for k, model in enumerate(models):
            torch.testing.assert_close(made[k], model(x[k]))
            for name, value in model.named_buffers():
                torch.testing.assert_close(buffers[name][k], value)


def test_no_samples_of_images_and_of_matrices_that_need_an_inverse():
    F = torch.nn.functional
    images = torch.zeros(0, 1, 2, 6, 6)
    for function, shape in (
        (lambda x: F.conv2d(x, torch.ones(5, 2, 3, 3)), (5, 4, 4)),
        (lambda x: F.avg_pool2d(x, 2), (2, 3, 3)),
        (lambda x: F.adaptive_avg_pool2d(x, 2), (2, 2, 2)),
    ):
        assert torch.vmap(function)(images).shape == (0, 0, *shape)
    square = torch.zeros(0, 4, 4)
    for function in (torch.linalg.inv, torch.linalg.cholesky, torch.linalg.solve):
        given = (square,) * (2 if function is torch.linalg.solve else 1)
        assert torch.vmap(function)(*given).shape == (0, 4, 4)
