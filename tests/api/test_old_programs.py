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


@pytest.mark.filterwarnings("ignore:torch.set_default_tensor_type")
def test_types_of_a_device_are_named_in_conversions():
    x = torch.ones(2)
    for kind in ("torch.cuda.FloatTensor", torch.cuda.FloatTensor, torch.cuda.sparse.FloatTensor):
        with pytest.raises(RuntimeError, match="^Cannot initialize CUDA without ATen_cuda library"):
            x.type(kind)
    for kind in ("torch.cuda.FloatTensor", torch.cuda.FloatTensor):
        with pytest.raises(TypeError, match=r"^type torch\.cuda\.FloatTensor not available"):
            torch.set_default_tensor_type(kind)
    assert x.type("torch.sparse.DoubleTensor").dtype is torch.float64
    for kind, said in (
        (3, "dtype must be a type, str, or dtype object"),
        (float, "invalid type: 'float'"),
        (torch.nn.Parameter, "invalid type: 'Parameter'"),
        ("torch.FooTensor", "invalid type: 'torch.FooTensor'"),
    ):
        with pytest.raises((TypeError, ValueError)) as info:
            x.type(kind)
        assert str(info.value) == said
    for kind, said in (
        ("torch.sparse.FloatTensor", "only dense types are supported as the default type"),
        (torch.LongTensor, "only floating-point types are supported as the default type"),
    ):
        with pytest.raises(TypeError) as info:
            torch.set_default_tensor_type(kind)
        assert str(info.value) == said


def test_what_a_program_asks_of_a_device_that_is_not_there():
    cuda = torch.cuda
    cuda.seed()
    cuda.seed_all()
    with cuda.stream(None), cuda.device(-1), cuda.device_of(torch.ones(1)):
        assert cuda.memory_stats() == {}
    with pytest.warns(FutureWarning, match="has been renamed to `torch.cuda.memory_reserved`"):
        assert cuda.memory_cached() == 0
    with pytest.raises(RuntimeError, match="^PyTorch was compiled without CUDA support"):
        with cuda.device(0):
            pass
    with pytest.raises(AttributeError, match="has no attribute '_cuda_setDevice'"):
        cuda.set_device(0)
    with pytest.raises(ValueError, match="^Expected a cuda device, but got: cpu"):
        cuda.set_device("cpu")
    with pytest.raises(RuntimeError, match="^Tried to instantiate dummy base class Event"):
        cuda.Event()
    with pytest.raises(ValueError, match="invalid literal"):
        cuda.manual_seed("a")
    model = torch.nn.Linear(2, 2)
    with pytest.raises(RuntimeError, match="^device type could not be determined"):
        torch.nn.parallel.data_parallel(model, torch.ones(1, 2), [0])


def test_names_that_a_shape_does_not_have():
    with pytest.raises(AttributeError, match=r"^'torch\.Size' object has no attribute 'foo'"):
        _ = torch.ones(2).size().foo


def test_states_by_position_warn():
    found = {}
    with pytest.warns(FutureWarning, match="^Positional args are being deprecated, use kwargs"):
        torch.nn.Linear(2, 2).state_dict(found, "a.")
    assert list(found) == ["a.weight", "a.bias"]


def test_what_pickle_wrote_is_no_checkpoint():
    def load(protocol):
        return torch.load(io.BytesIO(pickle.dumps({"a": [1, 2]}, protocol)))

    with pytest.raises(RuntimeError, match="^Invalid magic number; corrupt file"):
        load(2)
    with pytest.raises(pickle.UnpicklingError, match="\n\nUnsupported operand 149\n"):
        with pytest.warns(UserWarning, match="^Detected pickle protocol 4 in the checkpoint"):
            load(4)


def test_cross_asks_the_first_operand_for_its_axis():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(RuntimeError, match="dimension 1 must have length 3. Got 3 and 2"):
            torch.cross(torch.ones(2, 3), torch.ones(2, 2))
        assert torch.cross(torch.ones(1, 3), torch.ones(3, 3)).shape == (3, 3)


def test_words_around_optimizers():
    w = torch.ones(1, requires_grad=True)
    with pytest.raises(KeyError, match="This typically happens when:"):
        torch.optim.lr_scheduler.StepLR(torch.optim.SGD([w], 0.1), 1, last_epoch=3)
    with pytest.raises(ValueError, match="^can't optimize a non-leaf Tensor"):
        torch.optim.SparseAdam([w.to_sparse()])
    assert torch.tensor(True).__nonzero__() is True


def test_old_flags_of_losses_warn_once_for_each_loss():
    functional, x = torch.nn.functional, torch.ones(2)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for _ in range(2):
            functional.mse_loss(x, x, size_average=False)
        functional.mse_loss(x, x, size_average=False)
        functional.l1_loss(x, x, size_average=False)
        torch.nn.MSELoss(size_average=False)
        torch.nn.L1Loss(size_average=False)
        torch.nn.L1Loss(reduce=False)
        functional.binary_cross_entropy(x, x, size_average=False)
        functional.soft_margin_loss(x, x, size_average=False)
    first = test_old_flags_of_losses_warn_once_for_each_loss.__code__.co_firstlineno
    assert [w.lineno - first for w in caught] == [5, 7, 8, 10, 11]
    assert {w.filename for w in caught} == {__file__}
    for _ in range(2):
        with pytest.warns(UserWarning, match="please use reduction='sum' instead"):
            functional.mse_loss(x, x, size_average=False)
