"""Programs that replace methods of tensors (counters, tracers) see what PyTorch shows them: an
operation that is C++ there calls none of them.

All methods are replaced by functions that raise.
"""

import contextlib
import importlib.util
import itertools
import os
import pickle
from pathlib import Path

import pytest

import pellucid

torch = pytest.importorskip("torch")
_spec = importlib.util.spec_from_file_location("graphs", Path(__file__).parent / "test_graphs.py")
_graphs = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_graphs)
converted, counterpart, full_name = _graphs.converted, _graphs.counterpart, _graphs.full_name
op_db = _graphs.op_db

SAMPLES = 3  # of an operation
LEFT = set(
    "__class__ __new__ __init__ __init_subclass__ __del__ __getattribute__ __setattr__ __delattr__ __hash__ __eq__ "
    "__torch_function__ __torch_dispatch__ __dir__ __sizeof__ __format__ __repr__ __str__ __subclasshook__ "
    "__reduce__ __reduce_ex__ __getstate__ __setstate__".split()
)


def methods(m):
    """The names of Tensor's methods."""
    found = {}
    for kind in reversed(m.Tensor.__mro__[:-1]):
        found |= vars(kind)
    return [
        name
        for name, value in found.items()
        if name not in LEFT
        and callable(value)
        and not isinstance(value, (type, staticmethod, classmethod))
    ]


class Seen(Exception):
    """A method was called."""


def raising(name):
    def method(*args, **kwargs):
        raise Seen(name)

    return method


@contextlib.contextmanager
def replaced(m):
    """All methods raise; `m.Tensor` is as before afterwards."""
    before = vars(m.Tensor)
    before = {name: before.get(name) for name in methods(m)}
    try:
        for name in before:
            setattr(m.Tensor, name, raising(name))
        yield
    finally:
        for name, value in before.items():
            if value is None:
                delattr(m.Tensor, name)
            else:
                setattr(m.Tensor, name, value)


def seen(m, calls):
    """For each call, the method that it called, or None."""
    names = []
    with replaced(m):
        for call in calls:
            m.manual_seed(0)
            try:
                call()
            except Seen as error:
                names.append(str(error))
            except Exception:  # another error: not of a method
                names.append(None)
            else:
                names.append(None)
    return names


def seen_on_pytorch(calls):
    """As `seen`, in a process of its own: the slots of PyTorch's class stay changed where a method
    is put back, and `torch.tensor` of a list of tensors then takes these for sequences.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            torch.set_num_threads(1)
            with os.fdopen(writing, "wb") as file:
                pickle.dump(seen(torch, calls), file)
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as file:
        names = file.read()
    os.waitpid(child, 0)
    return pickle.loads(names)


def assert_no_more_is_seen(ours, theirs):
    assert [name for name, there in zip(ours, theirs, strict=True) if there is None and name] == []


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("op", op_db, ids=full_name)
def test_operations(op):
    kinds = op.supported_dtypes("cpu")
    choice = (torch.float32, torch.float64, torch.complex64, torch.int64, torch.bool)
    kind = next((k for k in choice if k in kinds), None)
    try:
        function = counterpart(op)
        wants = op.supports_autograd and kind.is_floating_point
        samples = [
            (s, converted((s.input, *s.args), []), converted(s.kwargs, []))
            for s in itertools.islice(op.sample_inputs("cpu", kind, requires_grad=wants), SAMPLES)
        ]
    except Exception as error:
        pytest.skip(f"{type(error).__name__}: {error}")
    theirs = seen_on_pytorch(
        [lambda s=s: op.op(s.input, *s.args, **s.kwargs) for s, _, _ in samples]
    )
    ours = seen(pellucid, [lambda a=a, k=k: function(*a, **k) for _, a, k in samples])
    assert_no_more_is_seen(ours, theirs)


LAYERS = [
    ("BatchNorm1d(4)", (6, 4)),
    ("BatchNorm2d(3).eval()", (2, 3, 4, 4)),
    ("InstanceNorm2d(3, affine=True)", (2, 3, 4, 4)),
    ("GroupNorm(2, 4)", (2, 4, 5)),
    ("LayerNorm(4)", (2, 4)),
    ("RMSNorm(4)", (2, 4)),
    ("Linear(4, 3)", (2, 4)),
    ("Bilinear(4, 4, 3)", (2, 4), (2, 4)),
    ("Embedding(5, 3)", None),
    ("Conv1d(3, 2, 2, padding='same')", (2, 3, 5)),
    ("Conv2d(3, 2, 2, padding_mode='circular', padding=1)", (2, 3, 5, 5)),
    ("ConvTranspose2d(3, 2, 2)", (2, 3, 5, 5)),
    ("MaxPool2d(2)", (2, 3, 4, 4)),
    ("AvgPool1d(2)", (2, 3, 4)),
    ("LPPool1d(2, 2)", (2, 3, 4)),
    ("AdaptiveAvgPool1d(2)", (2, 3, 4)),
    ("LSTM(4, 3)", (5, 2, 4)),
    ("GRU(4, 3, bidirectional=True)", (5, 2, 4)),
    ("RNNCell(4, 3)", (2, 4)),
    ("LSTMCell(4, 3)", (2, 4)),
    ("Dropout(0.5)", (2, 4)),
    ("Dropout2d(0.5)", (2, 3, 4, 4)),
    ("AlphaDropout(0.5)", (2, 4)),
    ("GELU('tanh')", (2, 4)),
    ("Softmax(1)", (2, 4)),
    ("GLU()", (2, 4)),
    ("PReLU()", (2, 4)),
    ("MSELoss()", (2, 4), (2, 4)),
    ("L1Loss(reduction='sum')", (2, 4), (2, 4)),
    ("SmoothL1Loss()", (2, 4), (2, 4)),
    ("KLDivLoss(reduction='batchmean')", (2, 4), (2, 4)),
    ("TripletMarginLoss()", (2, 4), (2, 4), (2, 4)),
    ("CosineEmbeddingLoss()", (2, 4), (2, 4), (2,)),
    ("CosineSimilarity()", (2, 4), (2, 4)),
    ("PairwiseDistance()", (2, 4), (2, 4)),
    ("PixelShuffle(2)", (2, 4, 3, 3)),
    ("Flatten()", (2, 4, 3)),
    ("Unfold(2)", (2, 3, 4, 4)),
    ("ReflectionPad1d(1)", (2, 3, 4)),
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("layer", "shapes"), [(layer, shapes) for layer, *shapes in LAYERS])
def test_layers(layer, shapes):
    names = []
    for m in (pellucid, torch):
        m.manual_seed(0)
        made = eval(f"m.nn.{layer}", {"m": m})
        inputs = [m.tensor([1, 2]) if s is None else m.rand(s, requires_grad=True) for s in shapes]
        calls = [lambda made=made, inputs=inputs: made(*inputs)]
        names.append(seen_on_pytorch(calls) if m is torch else seen(m, calls))
    assert_no_more_is_seen(*names)
