"""Arguments under all names that PyTorch knows, and calls that it refuses, where Python itself
reads the arguments.
"""

import pytest

import pellucid as torch
from pellucid import errors
from pellucid.api import attach
from pellucid.api.exchange import done_by
from pellucid.api.messages.signatures import slots
from pellucid.api.overriding import own
from pellucid.core.public import FUNCTIONS
from pellucid.ops._overloads import SHORT, WRAPPERS, listed, overloads

x = torch.arange(6.0).reshape(2, 3)


@pytest.mark.parametrize(
    ("call", "same"),
    [
        (lambda: x.unsqueeze(axis=0), lambda: x.unsqueeze(0)),
        (lambda: x.chunk(2, axis=1)[0], lambda: x.chunk(2, 1)[0]),
        (lambda: torch.chunk(x=x, chunks=2, axis=1)[0], lambda: x.chunk(2, 1)[0]),
        (lambda: x.select(axis=1, index=0), lambda: x.select(1, 0)),
        (lambda: x.gather(axis=1, index=torch.zeros(2, 1, dtype=torch.int64)), lambda: x[:, :1]),
        (lambda: torch.acos_(input=torch.zeros(2)), lambda: torch.zeros(2).acos()),
        (lambda: torch.linalg.matrix_power(input=x[:, :2], n=2), lambda: x[:, :2] @ x[:, :2]),
        (lambda: torch.linalg.matrix_norm(x=x), lambda: torch.linalg.matrix_norm(x)),
        (lambda: torch.fft.fftshift(x=x, axis=0), lambda: torch.fft.fftshift(x, 0)),
        (lambda: torch.cosine_similarity(x, x, axis=1), lambda: torch.cosine_similarity(x, x, 1)),
    ],
)
def test_other_names(call, same):
    assert torch.equal(call(), same())


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (
            lambda: torch.special.erf(x, no=1),
            "special_erf() got an unexpected keyword argument 'no'",
        ),
        (lambda: torch.linalg.inv(x, no=1), "linalg_inv() got an unexpected keyword argument 'no'"),
        (
            lambda: torch.add(x),
            "add() received an invalid combination of arguments - got (Tensor), but expected (Tensor input, Tensor",
        ),
        (lambda: torch.add(x, x, 2.0, 3, 4), "add() received an invalid combination of arguments"),
        (lambda: torch.unsqueeze(x), 'unsqueeze() missing 1 required positional arguments: "dim"'),
        (
            lambda: torch.unsqueeze(x, 0, dim=1),
            "unsqueeze() got multiple values for argument 'dim'",
        ),
        (lambda: x.chunk(), 'chunk() missing 1 required positional arguments: "chunks"'),
        (
            lambda: torch.bitwise_and(x, x, no=1),
            (
                "bitwise_and() received an invalid combination of arguments - got (Tensor, Tensor, no=int), but expected one of:\n"
                " * (Tensor input, Tensor other, *, Tensor out = None)\n * (Number self, Tensor other)\n"
                " * (Tensor input, Number other, *, Tensor out = None)\n"
            ),
        ),
    ],
)
def test_refused(call, text):
    with pytest.raises(TypeError) as caught:
        call()
    assert str(caught.value).startswith(text)


def test_an_error_of_what_is_called_is_its_own():
    class Odd:
        def __index__(self):
            return int("many")

    with pytest.raises((TypeError, ValueError)):
        torch.unsqueeze(x, dim=Odd())


def test_the_lists_hold_what_needs_other_names():
    for path in listed():
        found = overloads(path)
        space, _, name = path.rpartition(".")
        dims = any(
            s.name in ("dim", "keepdim") for signature in found.signatures for s in slots(signature)
        )
        if space == "torch" and name in FUNCTIONS["torch"] and (len(found.every) > 1 or dims):
            function = done_by(own(FUNCTIONS["torch"][name]))
            while function.__code__ not in (*WRAPPERS, *SHORT) and hasattr(function, "__wrapped__"):
                function = function.__wrapped__  # what chooses between kinds of tensors
            assert function.__code__ in (*WRAPPERS, *SHORT), name
        if space == "Tensor" and name in attach.METHODS and dims and found.inner is None:
            try:
                attach.METHODS[name](torch.ones(3, 3), axis=0)
            except Exception as error:
                assert "unexpected keyword argument 'axis'" not in str(error), name


def test_methods_with_numbers_first_are_told_as_methods():
    y = torch.ones(2, 2)
    errors.WARNED.clear()
    with pytest.warns(
        UserWarning,
        match=r"This overload of addbmm_ is deprecated:\n\taddbmm_\(Number beta, Tensor batch1, Tensor batch2\)",
    ):
        y.addbmm_(2, torch.ones(1, 2, 2), torch.ones(1, 2, 2))
    assert y.sum() == 16


def test_words_of_functions_that_pytorch_has_in_python():
    for call, kind, text in (
        (
            lambda: torch.nn.functional.glu("a"),
            AttributeError,
            "'str' object has no attribute 'dim'",
        ),
        (
            lambda: torch.meshgrid("a", indexing="ij"),
            TypeError,
            "expected Tensor as element 0 in argument 0, but got str",
        ),
        (
            lambda: torch.nn.functional.softmin("a", 0),
            TypeError,
            "bad operand type for unary -: 'str'",
        ),
        (
            lambda: torch.nn.functional.cross_entropy("a", x),
            TypeError,
            "cross_entropy_loss(): argument 'input' (position 1) must be Tensor, not str",
        ),
        (
            lambda: torch.Tensor.cauchy_("a"),
            TypeError,
            "descriptor 'cauchy_' for 'torch._C.TensorBase' objects doesn't apply to a 'str' object",
        ),
        (lambda: x.float(1), TypeError, "float() takes 0 positional arguments but 1 was given"),
        (
            lambda: x.kthvalue("a"),
            TypeError,
            "kthvalue(): argument 'k' (position 1) must be int, not str",
        ),
    ):
        with pytest.raises(kind) as caught:
            call()
        assert str(caught.value) == text


def test_keywords_are_listed_in_the_order_of_a_hash_table():
    # Orders that PyTorch 2.13 gives.
    with pytest.raises(
        TypeError, match=r"got \(Tensor, no_such=int, keepdim=bool, correction=float\)"
    ):
        torch.std_mean(x, correction=0.5, keepdim=True, no_such=1)


def test_out_of_functions_that_pytorch_gives_one():
    eye = torch.eye(4)
    for call in (
        lambda out: torch.linalg.householder_product(eye, torch.ones(4), out=out),
        lambda out: torch.orgqr(eye, torch.ones(4), out=out),
        lambda out: torch.linalg.tensorinv(eye.reshape(2, 2, 4), out=out),
        lambda out: torch.nn.functional.avg_pool3d(torch.ones(1, 1, 2, 2, 2), 2, out=out),
    ):
        out = torch.empty(0)
        assert call(out) is out and out.numel()


def test_methods_of_modules_take_the_words_of_pytorch():
    first, second = torch.nn.Linear(1, 1), torch.nn.ReLU()
    for layers in (torch.nn.Sequential(first, first), torch.nn.ModuleList([first, first])):
        layers.__setitem__(idx=1, module=second)
        assert layers.__getitem__(idx=1) is second
        layers.__delitem__(idx=0)
        assert len(layers) == 1
    values = torch.nn.ParameterList([torch.ones(1)])
    values.__setitem__(idx=0, param=torch.zeros(2))
    assert values.__getitem__(idx=0).tolist() == [0, 0]
    layer = torch.nn.ConvTranspose1d(1, 1, 3, stride=2)
    sizes = {"stride": [2], "padding": [0], "kernel_size": [3], "num_spatial_dims": 1}
    assert layer._output_padding(torch.ones(1, 1, 4), [10], **sizes, dilation=[1]) == [1]
    assert layer._output_padding(torch.ones(1, 1, 4), output_size=[10], **sizes) == [1]
    for norm in (torch.nn.BatchNorm1d(2, affine=False), torch.nn.InstanceNorm1d(2)):
        missing, errors = [], []
        norm._load_from_state_dict(
            state_dict={},
            prefix="",
            local_metadata={},
            strict=True,
            missing_keys=missing,
            unexpected_keys=[],
            error_msgs=errors,
        )
        expected = ["running_mean", "running_var"] if norm.track_running_stats else []
        assert (missing, errors) == (expected, [])
    assert torch.autograd.function.once_differentiable(fn=len).__name__ == "len"
