"""What scripts see of PyTorch beside values: texts, attributes, warnings, and what the graph shows."""

import datetime
import fractions
import warnings

import numpy as np
import pytest

import pellucid as torch
from pellucid import errors
from pellucid.errors import type_name


@pytest.fixture
def once(monkeypatch):
    """Warnings that are given once per process are given anew, and nobody has asked for checks."""
    monkeypatch.setattr(errors, "WARNED", set())
    monkeypatch.setattr(torch.sparse.check_sparse_tensor_invariants, "_enabled", None)


def texts(function):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        function()
    return [str(w.message) for w in caught]


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (np.float32(1), "numpy.float32"),
        (np.ones(2), "numpy.ndarray"),
        (datetime.date(2020, 1, 1), "datetime.date"),
        (fractions.Fraction(1), "Fraction"),
        (torch.float32, "torch.dtype"),
        (torch.Size([1]), "torch.Size"),
        (torch.Generator(), "torch._C.Generator"),
        (torch.nn.Linear(1, 1), "Linear"),
        (None, "NoneType"),
    ],
)
def test_types_written_in_c_are_called_by_their_full_names(value, name):
    assert type_name(value) == name
    with pytest.raises(TypeError, match=f"must be Tensor, not {name}($|\n)"):
        torch.abs(value)


@pytest.mark.parametrize("name", ["shape", "dtype", "grad_fn", "T", "is_leaf", "_version", "ndim"])
def test_attributes_that_cannot_be_set(name):
    x = torch.ones(2, 2)
    text = f"attribute '{name}' of 'torch._C.TensorBase' objects is not writable"
    with pytest.raises(AttributeError, match=text):
        setattr(x, name, 1)
    with pytest.raises(AttributeError, match=text):
        delattr(x, name)


def test_requires_grad_takes_a_bool():
    x = torch.ones(2)
    for value in (1, None, "yes"):
        with pytest.raises(RuntimeError, match="requires_grad must be a bool"):
            x.requires_grad = value
    with pytest.raises(TypeError, match=r"argument 'enabled' \(position 1\) must be bool, not int"):
        torch.set_grad_enabled(1)
    shown = "torch.autograd.grad_mode.set_grad_enabled(mode=True)"
    assert repr(torch.set_grad_enabled(True)) == shown


def test_what_stands_for_an_index():
    x = torch.arange(6.0).reshape(2, 3)
    for index in (np.bool_(True), np.float64(1)):
        with pytest.raises(IndexError, match=r"\(got numpy\.(bool|float64)\)"):
            x[index]
    assert x[np.array([1, 0], np.int16)][:, 0].tolist() == [3, 0]
    assert x[np.array([1.0, 0.0])][:, 0].tolist() == [3, 0]
    with pytest.raises(TypeError, match="can't assign a numpy.float32 to a torch.FloatTensor"):
        x[0] = np.float32(5)
    x[0] = np.int64(5)
    assert x[0].tolist() == [5, 5, 5]


def test_arrays_with_negative_strides_are_refused():
    a = np.arange(4.0)[::-1]
    for make in (torch.tensor, torch.Tensor, torch.from_numpy, torch.as_tensor, torch.DoubleTensor):
        with pytest.raises(ValueError, match="At least one stride in the given numpy array"):
            make(a)
    with pytest.raises(ValueError, match="At least one stride"):
        torch.ones(4)[a.astype(int)[::-1]]


def test_arange_and_windows():
    for kind in (torch.bool, torch.complex64):
        with pytest.raises(NotImplementedError, match='"arange_cpu" not implemented for'):
            torch.arange(2, dtype=kind)
    with pytest.raises(RuntimeError, match="value cannot be converted to type double"):
        torch.arange(1j)
    hann = torch.hann_window(4, dtype=torch.half)  # each step is rounded to half
    assert [round(v, 4) for v in hann.tolist()] == [0.0, 0.4998, 1.0, 0.5005]


def test_hooks_of_gradients_that_nothing_reached():
    seen = []
    y = torch.ones(3, requires_grad=True) * 2
    first, second, _ = torch.unbind(y)
    first.register_hook(lambda g: seen.append(g.item()))
    second.register_hook(lambda g: seen.append(g))
    first.grad_fn.register_hook(lambda gi, go: seen.append([g is None for g in go]))
    first.backward()
    assert seen == [1.0, None, [False, True, True]]

    x = torch.ones(2, requires_grad=True)
    x.register_hook(lambda g: g.double())
    with pytest.raises(RuntimeError, match="changed the type of value .was torch.FloatTensor got"):
        x.sum().backward()


def test_graphs_of_numbers_before_tensors():
    x = torch.ones(2, requires_grad=True)
    for y, name, edges in (
        (2 * x, "MulBackward0", [True, False]),
        (2 + x, "AddBackward0", [True, False]),
        (2 - x, "RsubBackward1", [True]),
    ):
        node = y.grad_fn
        assert node.name() == name
        assert [edge[0] is not None for edge in node.next_functions] == edges


def test_warnings_of_prototypes_come_once(once):
    def sparse():
        i, v = torch.tensor([[0], [0]]), torch.tensor([1.0])
        torch.sparse_coo_tensor(i, v, (1, 1))
        torch.sparse_coo_tensor(i, v, (1, 1)).to_sparse_csr()

    assert [t.split(".")[0] for t in texts(sparse)] == [
        "Sparse invariant checks are implicitly disabled",
        "Sparse CSR tensor support is in beta state",
    ]
    assert texts(sparse) == []
    nested = texts(lambda: torch.nested.nested_tensor([torch.ones(1)]))
    assert nested[0].startswith("The PyTorch API of nested tensors is in prototype stage")
    assert texts(lambda: torch.tensor(1).T)[0].startswith("Tensor.T is deprecated on 0-D tensors")


def test_anomaly_mode_shows_the_stack_of_the_forward_call():
    x = torch.tensor([-1.0], requires_grad=True)

    def failing():
        with torch.autograd.set_detect_anomaly(True):
            y = torch.sqrt(x)
            with pytest.raises(RuntimeError, match="returned nan values in its 0th output"):
                y.backward()

    (text,) = texts(failing)
    start = "Error detected in SqrtBackward0. Traceback of forward call that caused the error:\n"
    assert text.startswith(start) and "y = torch.sqrt(x)" in text
    z = torch.sqrt(x)

    def without():
        with torch.autograd.set_detect_anomaly(True), pytest.raises(RuntimeError):
            z.backward()

    assert texts(without)[0].endswith(
        "Enable detect anomaly during forward pass for more information."
    )


def test_hooks_of_modules_are_shown_as_dictionaries():
    module = torch.nn.ReLU()
    assert repr(module._forward_hooks) == "OrderedDict()"


def test_gradcheck_shows_jacobians_in_the_dtype_of_the_input():
    x = torch.ones(1, requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(RuntimeError, match=r"numerical:tensor\(\[\[1\.9670\]\]\)\n"):
            torch.autograd.gradcheck(lambda x: x**2, (x,))
