"""Arguments that no signature takes, in the words of PyTorch's parser of arguments."""

import numpy as np
import pytest

import pellucid as torch

x = torch.ones(2)
CALLS = {
    "a wrong type": (
        lambda: torch.cumsum(x, "a"),
        "cumsum(): argument 'dim' (position 2) must be int, not str",
    ),
    "one is missing": (
        lambda: torch.cumsum(x),
        'cumsum() missing 1 required positional arguments: "dim"',
    ),
    "a whole number": (
        lambda: torch.chunk(x, "a"),
        "chunk(): argument 'chunks' (position 2) must be int, not str",
    ),
    "no tensor": (
        lambda: torch.isclose(x, 1),
        "isclose(): argument 'other' (position 2) must be Tensor, not int",
    ),
    "NumPy's dtypes": (
        lambda: torch.asarray([1], dtype=np.dtype("int64")),
        "asarray(): argument 'dtype' must be torch.dtype, not numpy.dtypes.Int64DType",
    ),
    "the first is wrong": (
        lambda: torch.add("a", 1, alpha=2),
        "add(): argument 'input' (position 1) must be Tensor, not str",
    ),
    "all signatures": (
        lambda: torch.bitwise_and(1, 2),
        (
            "bitwise_and() received an invalid combination of arguments - got (int, int), but expected one of:\n"
            " * (Tensor input, Tensor other, *, Tensor out = None)\n * (Number self, Tensor other)\n"
            "      didn't match because some of the arguments have invalid types: (!int!, !int!)\n"
            " * (Tensor input, Number other, *, Tensor out = None)\n"
        ),
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_the_sentence(name):
    call, text = CALLS[name]
    with pytest.raises(TypeError) as caught:
        call()
    assert str(caught.value) == text


def test_an_error_of_an_object_of_the_user_stays_as_it_is():
    class Odd:
        def __index__(self):
            raise TypeError("mine")

    with pytest.raises(TypeError, match="^mine$"):
        torch.chunk(x, Odd())


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (
            lambda: torch.movedim(torch.ones(2, 2), (0, -2), (0, 1)),
            "movedim: repeated dim in `source` ([0, -2])",
        ),
        (
            lambda: torch.nn.functional.conv1d(
                torch.ones(1, 2, 4).double(), torch.ones(2, 2, 2), torch.ones(2)
            ),
            "Input type (double) and bias type (float) should be the same",
        ),
        (
            lambda: torch.nn.functional.conv1d(torch.ones(1, 2, 4).double(), torch.ones(2, 2, 2)),
            "expected scalar type Double but found Float",
        ),
        (
            lambda: torch.nn.functional.conv1d(torch.ones(2, 2, 4), torch.ones(2, 2, 2).bfloat16()),
            (
                "Input type (torch.FloatTensor) and weight type (CPUBFloat16Type) should be the same or input should be a MKLDNN tensor and "
                "weight is a dense tensor"
            ),
        ),
        (
            lambda: torch.nn.functional.softshrink(x, -0.5),
            "lambda must be in range [0, 3.40282e+38] for input dtype Float, but found -0.5",
        ),
        (
            lambda: torch.linspace(torch.ones(1), torch.ones(1), 3),
            "linspace only supports 0-dimensional start and end tensors, but got start with 1 dimension(s) and end with 1 dimension(s).",
        ),
        (
            lambda: torch.gradient(torch.ones(3, 3), spacing=(1.0,), dim=(0, 1)),
            (
                "torch.gradient expected spacing to be unspecified, a scalar or it's spacing and dim arguments to have the same length, but "
                "got a spacing argument of length 1 and a dim argument of length 2."
            ),
        ),
    ],
)
def test_texts_of_refused_values(call, text):
    with pytest.raises(RuntimeError) as caught:
        call()
    assert str(caught.value) == text


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (
            lambda: ~torch.zeros(2),
            TypeError,
            "~ (operator.invert) is only implemented on integer and Boolean-type tensors",
        ),
        (
            lambda: torch.zeros(2).requires_grad_("a"),
            TypeError,
            "requires_grad_(): argument 'requires_grad' (position 1) must be bool, not str",
        ),
        (lambda: torch.zeros(2).type("a"), ValueError, "invalid type: 'a'"),
        (
            lambda: torch.autograd.functional.hessian(
                lambda a: a.detach().sum(), torch.ones(2), strict=True
            ),
            RuntimeError,
            (
                "Output 0 of the user-provided function does not require gradients. The outputs must be computed in a differentiable manner "
                "from the input when running in strict mode."
            ),
        ),
    ],
)
def test_classes_of_refusals(call, kind, text):
    with pytest.raises(kind) as caught:
        call()
    assert type(caught.value) is kind and str(caught.value) == text


def test_each_line_that_indexes_with_bytes_is_warned_about():
    import warnings

    mask = torch.tensor([1, 0], dtype=torch.uint8)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        x[mask]
        x[mask]
    assert len(caught) == 2 and all(w.filename == __file__ for w in caught)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (
            lambda x: torch.select_copy(x, True, 0),
            "select_copy(): argument 'dim' (position 2) must",
        ),
        (
            lambda x: x.narrow_copy(0, True, 1),
            "narrow_copy(): argument 'start' (position 2) must b",
        ),
        (lambda x: x.clone().swapaxes_(True, 0), "swapaxes_(): argument 'axis0' (position 1) must"),
        (
            lambda x: x.clone().renorm_(2, 0.5, 1),
            "renorm_(): argument 'dim' (position 2) must be i",
        ),
    ],
)
def test_functions_without_annotations_are_held_to_the_signatures(call, text):
    with pytest.raises(TypeError) as caught:
        call(torch.ones(2, 3))
    assert str(caught.value).startswith(text)


def test_names_reach_functions_that_autocast_stands_before():
    x = torch.eye(2)
    assert torch.equal(torch.linalg.cholesky(input=x), torch.linalg.cholesky(x=x))
    assert torch.conv1d(x=torch.ones(1, 1, 3), weight=torch.ones(1, 1, 2)).tolist() == [
        [[2.0, 2.0]]
    ]


def test_calls_that_pytorch_refuses_are_refused_before_they_run():
    F = torch.nn.functional
    square = torch.eye(3)
    for call, text in (
        (
            lambda: torch.abs_(self=square),
            'abs_() missing 1 required positional arguments: "input"',
        ),
        (
            lambda: square.any(True),
            (
                "any() received an invalid combination of arguments - got (bool), but expected one of:\n * ()\n"
                "      didn't match because some of the arguments have invalid types: (!bool!)\n"
                " * (tuple of ints dim = None, bool keepdim = False)\n * (int dim, bool keepdim = False)\n"
            ),
        ),
        (lambda: square.acos(1), "TensorBase.acos() takes no arguments (1 given)"),
        (lambda: square.acos(no=1), "TensorBase.acos() takes no keyword arguments"),
        (lambda: square.acos(*(1,)), "Tensor.acos() takes no arguments (1 given)"),
        (lambda: square.flip([0], "text"), "flip() takes 1 positional argument but 2 were given"),
        (lambda: torch.add(a=1, b=1), 'add() missing 1 required positional arguments: "other"'),
        (
            lambda: torch.det("a"),
            "det(): argument 'input' (position 1) must be Tensor, not str",
        ),
        (
            lambda: F.layer_norm(square, 3),
            "layer_norm(): argument 'normalized_shape' (position 2) must be tuple of ints, not int",
        ),
        (
            lambda: F.embedding(torch.tensor([0]), "a"),
            "embedding(): argument 'weight' (position 1) must be Tensor, not str",
        ),
        (lambda: F.celu(), "celu() missing 1 required positional argument: 'input'"),
    ):
        with pytest.raises(TypeError) as caught:
            call()
        assert str(caught.value) == text
    with pytest.raises(AttributeError) as early:
        F.softmax("a", 1)
    assert str(early.value) == "'str' object has no attribute 'softmax'"


def test_numbers_of_numpy_and_tensors_stand_for_numbers():
    import numpy as np

    square = torch.eye(3)
    assert torch.equal(torch.linalg.matrix_power(square, torch.tensor(2)), square)
    assert torch.equal(torch.hann_window(torch.tensor(4)), torch.hann_window(4))
    assert torch.equal(torch.lerp(x, x + 1, np.float32(0.5)), x + 0.5)
    assert torch.equal(torch.lerp(x, x + 1, torch.tensor(0.5, dtype=torch.float64)), x + 0.5)
    assert torch.equal(torch.tensor_split(x, np.int64(2))[0], x[:1])
    assert torch.histogram(x).hist.sum() == 2
    y = torch.arange(4.0)
    assert torch.equal(torch.slice_inverse(y[:2], y, 0, 0, 2), y)


def test_a_call_of_known_classes_is_not_read_again(monkeypatch):
    from pellucid import errors

    torch.chunk(x, 2)
    torch.cat([x, x], dim=0)
    monkeypatch.setattr(errors, "refuse", None)  # what reads signatures
    assert torch.chunk(x, 1)[0].shape == (2,)
    with pytest.raises(TypeError, match="element 1 in argument 0"):
        monkeypatch.undo()
        torch.cat([x, 3])


DOUBLE = torch.zeros(0, dtype=torch.float64)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (
            lambda: torch.dot(x, x, out=DOUBLE),
            "result dtype Double does not match input dtype Float",
        ),
        (
            lambda: torch.isin(x, x, out=DOUBLE),
            "Expected out tensor to have dtype bool, but got double instead",
        ),
        (
            lambda: torch.quantile(x, 0.5, out=DOUBLE),
            "quantile() out tensor must be same dtype as the input tensor",
        ),
        (
            lambda: torch.linalg.norm(x, out=DOUBLE),
            "linalg.norm expected out tensor dtype Float but got: Double",
        ),
        (
            lambda: torch.histc(x, out=DOUBLE),
            (
                "torch.histogram: input tensor and hist tensor should have the same dtype, but got input float and hist double"
            ),
        ),
    ],
)
def test_out_of_another_dtype(call, text):
    with pytest.raises(RuntimeError) as caught:
        call()
    assert str(caught.value) == text


def test_functions_that_may_return_indices_go_by_their_inner_name():
    for name in ("max_pool2d", "adaptive_max_pool2d", "fractional_max_pool2d"):
        with pytest.raises(TypeError) as caught:
            getattr(torch.nn.functional, name)(torch.ones(1, 4, 4), 2, no_such=1)
        assert str(caught.value) == f"_{name}() got an unexpected keyword argument 'no_such'"


def test_generators_are_of_the_inner_module():
    with pytest.raises(TypeError, match=r"generator=torch\._C\.Generator"):
        torch.rand([0.5], generator=torch.Generator())


def test_threshold_takes_out_in_torch_alone():
    out = torch.zeros(2)
    assert torch.threshold(x, 2.0, 5.0, out=out) is out and out.tolist() == [5.0, 5.0]
    with pytest.raises(TypeError, match="unexpected keyword argument 'out'"):
        torch.nn.functional.threshold(x, 2.0, 5.0, out=out)
