"""What programs of old meet: names and forms that PyTorch still answers to, and its words where it
does not.
"""

import io
import pickle
import re
import warnings

import pytest

import pellucid as torch


def test_hardtanh_takes_its_old_names():
    with pytest.warns(FutureWarning, match="`min_value` is deprecated and renamed to `min_val`"):
        layer = torch.nn.Hardtanh(min_value=-2, max_val=3)
    assert (layer.min_val, layer.max_val) == (-2, 3)


@pytest.mark.parametrize(
    ("name", "end"),
    [
        ("symeig", "L, V = torch.linalg.eigh(A, UPLO='U' if upper else 'L')"),
        ("eig", "L_complex, V_complex = torch.linalg.eig(A)"),
        ("solve", "X = torch.linalg.solve(A, B)"),
        ("lstsq", "X = torch.linalg.lstsq(A, B).solution"),
    ],
)
def test_removed_functions_say_what_to_write(name, end):
    with pytest.raises(RuntimeError) as info:
        getattr(torch, name)(torch.eye(2), torch.eye(2))
    assert str(info.value).endswith(end)


def test_functions_of_old_style_are_refused():
    class Old(torch.autograd.Function):
        def forward(self, x):
            return x

    with pytest.raises(RuntimeError, match=r"^Legacy autograd function with non-static forward"):
        with pytest.warns(DeprecationWarning, match="should not be instantiated"):
            old = Old()
        old(torch.ones(1))


def test_tensor_types_of_a_device_are_refused_as_types():
    with pytest.raises(
        TypeError, match=r"^type torch\.cuda\.FloatTensor not available\. Torch not"
    ):
        torch.cuda.FloatTensor(2)


def test_volatile_warns_that_it_is_gone():
    with pytest.warns(UserWarning, match="volatile was removed") as caught:
        assert torch.ones(1).volatile is False
    assert caught[0].filename == __file__


def test_softmax_without_dim_warns_at_the_line_of_the_program():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        torch.nn.functional.softmax(torch.ones(2, 2))
    assert [w.filename for w in caught] == [__file__]


def test_sparse_gradients_by_frequency_are_refused_backward():
    layer = torch.nn.Embedding(5, 3, scale_grad_by_freq=True, sparse=True)
    y = layer(torch.tensor([1, 1]))
    with pytest.raises(RuntimeError, match="scale_grad_by_freq not supported with sparse"):
        y.sum().backward()


def test_schedulers_without_get_lr_say_nothing_more():
    o = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=0.1)
    with pytest.raises(NotImplementedError) as info:
        torch.optim.lr_scheduler.ReduceLROnPlateau(o).get_lr()
    assert str(info.value) == ""


def test_refusals_of_load_end_as_pytorchs():
    with pytest.raises(pickle.UnpicklingError) as info:
        torch.load(io.BytesIO(b"import x\n"))
    text = str(info.value)
    assert "WeightsUnpickler error: \n\nUnsupported operand 105\n\nCheck the documentation" in text
    file = io.BytesIO()
    torch.save(range(3), file)
    file.seek(0)
    with pytest.raises(pickle.UnpicklingError, match="GLOBAL range was not an allowed global"):
        torch.load(file)


def test_the_context_of_a_function_is_shown_with_its_module():
    class Exp(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.exp()

        @staticmethod
        def backward(ctx, g):
            return g

    y = Exp.apply(torch.ones(1, requires_grad=True))
    assert repr(y.grad_fn).startswith("<torch.autograd.function.ExpBackward object at 0x")


def test_what_was_removed_says_so():
    x = torch.ones(2)
    with pytest.raises(RuntimeError, match=r"^reinforce\(\) was removed.\nUse torch.distributions"):
        x.reinforce(1.0)
    with pytest.warns(UserWarning, match="volatile was removed and now has no effect"):
        x.volatile = True
    with pytest.raises(RuntimeError, match="was renamed in `torch.linalg.matrix_rank"):
        torch.matrix_rank(torch.eye(2))


def test_old_names_answer_with_a_warning():
    with pytest.warns(FutureWarning, match="`cummulative_sizes` attribute is renamed"):
        assert torch.utils.data.ConcatDataset([[1, 2], [3]]).cummulative_sizes == [2, 3]
    with pytest.warns(UserWarning, match=r"'has_cuda' is deprecated, please use 'torch.backends"):
        assert torch.has_cuda is False
    with pytest.warns(DeprecationWarning, match="should not be instantiated"):
        torch.autograd.Function()
    x = torch.ones(1, requires_grad=True)
    with pytest.warns(FutureWarning, match="please use torch.autograd.backward"):
        torch.autograd.grad(x * 2, x, only_inputs=False)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda i, v: torch.sparse.FloatTensor(i, v), "SparseTensor(indices, values, *, device=)"),
        (lambda i, v: torch.sparse.FloatTensor(2, 3), "torch.sparse_coo_tensor(shape, dtype=, "),
        (lambda i, v: torch.sparse.FloatTensor(), "torch.sparse_coo_tensor((0,), dtype=)."),
        (lambda i, v: torch.FloatStorage([1.0]), "TypedStorage is deprecated"),
    ],
)
def test_old_constructors_warn(make, text):
    torch.set_warn_always(True)
    try:
        with pytest.warns(UserWarning, match=re.escape(text)):
            make(torch.tensor([[0, 1]]), torch.ones(2))
    finally:
        torch.set_warn_always(False)


def test_a_label_without_a_batch_has_batch_size_zero():
    with pytest.raises(ValueError, match=r"batch_size \(1\) to match target batch_size \(0\)"):
        torch.nn.functional.cross_entropy(torch.ones(1, 3), torch.tensor(0))
