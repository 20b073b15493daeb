"""Half complex numbers (`torch.complex32`): values, dtypes, gradients, text and files as PyTorch's."""

import copy
import io
import pickle
import warnings

import pytest

import pellucid

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore")

CALLS = """
a
a + a
-a
a * a
a * 1.5
a * 1j
a + f
2 - a
a * f.half()
a + torch.tensor([1, 2, 3])
a.abs()
a.real
a.imag
a[::2].imag
a.angle()
a.conj()
a.sgn()
a.norm()
a.var()
a.std()
a.any()
a.all()
a.sum()
a.mean()
a.max()
a.sort()
a / 2
a ** 2
a @ a
a.exp()
a > a
a == a
a != f
a.nonzero()
a.isnan()
a.isfinite()
a.isreal()
a.item()
a[0].item()
a.tolist()
a.numpy()
a[a != 0]
a.reshape(3, 1).expand(3, 2)
a.repeat(2)
a.flip(0)
a.masked_fill(torch.tensor([True, False, True]), 1j)
a.index_select(0, torch.tensor([2, 0]))
a.view(torch.float16)
a.view(torch.int32)
a.type()
a.to(torch.complex64)
a.half()
a.to(torch.int64)
a.bool()
f.chalf()
f.half().chalf()
f.bfloat16().chalf()
f.copy_(a)
f.add_(a)
a.clone().copy_(f)
a.clone().fill_(2 - 1j)
torch.cat([a, a.to(torch.complex64)])
torch.stack([a, a])
torch.where(torch.tensor([True, False, True]), a, f)
torch.equal(a, a)
torch.equal(a, a.clone())
torch.allclose(a, a)
torch.outer(a, a)
torch.view_as_real(a)
torch.view_as_real(a[::2])
torch.view_as_complex(torch.arange(6.0).half().view(3, 2))
torch.complex(f.half(), -f.half())
torch.polar(f.half(), f.half())
torch.zeros(2, dtype=torch.chalf)
torch.full((2,), 1 + 1j, dtype=torch.complex32)
torch.eye(2, dtype=torch.chalf)
torch.arange(3, dtype=torch.chalf)
torch.ones_like(a)
torch.randn(7, dtype=torch.chalf)
torch.rand(7, dtype=torch.chalf)
torch.tensor([1 + 1e6j, 1e-8, 1e-5j], dtype=torch.chalf)
torch.result_type(f.half(), 1j)
f.half() * 1j
f.half() + torch.tensor([1j])
torch.nn.functional.conv1d(a.view(1, 1, 3), a[:2].view(1, 1, 2))
torch.nn.functional.conv_transpose1d(a.view(1, 1, 3), a[:2].view(1, 1, 2))
torch.fft.fft(a)
repr(torch.tensor([1.5 + 2.25j, -3e-4j, 1e4], dtype=torch.complex32))
repr(torch.tensor(1.5 + 2.25j, dtype=torch.complex32))
repr(torch.zeros(0, dtype=torch.complex32))
""".strip().splitlines()


def read(value):
    if hasattr(value, "dtype") and hasattr(value, "tolist"):
        shown = repr(value.dtype).replace("pellucid", "torch")
        return shown, tuple(value.shape), value.tolist()
    return repr(value)


def outcome(m, run):
    m.manual_seed(0)
    try:
        return read(run(m))
    except Exception as error:
        return type(error).__name__, str(error)


@pytest.mark.parametrize("call", CALLS)
def test_calls(call):
    def run(m):
        a = m.tensor([1 + 2j, 3 - 1j, 0], dtype=m.complex32)
        return eval(call, {"torch": m, "a": a, "f": m.tensor([1.0, 2.0, 3.0])})

    assert outcome(pellucid, run) == outcome(torch, run)


GRADIENTS = {
    "products": lambda x, m: (x * x * 2).abs(),
    "real parts": lambda x, m: (x * 1j).real,
    "imaginary parts": lambda x, m: (x * x).imag,
    "wider": lambda x, m: (x.to(m.complex64) * 2j).abs(),
    "pairs": lambda x, m: m.view_as_real(x) * 2,
    "one": lambda x, m: x[1].abs(),
    "conjugates": lambda x, m: (x.conj() * x).real,
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients(name):
    def run(m):
        x = m.tensor([1 + 2j, 3 - 1j], dtype=m.complex32, requires_grad=True)
        GRADIENTS[name](x, m).sum().backward()
        return x.grad

    assert outcome(pellucid, run) == outcome(torch, run)


def test_gradients_of_what_was_real():
    def run(m):
        x = m.tensor([1.0, 2.0], requires_grad=True)
        (x.chalf() * 2j).abs().sum().backward()
        return x.grad

    assert outcome(pellucid, run) == outcome(torch, run)


@pytest.mark.parametrize("direction", ["theirs to ours", "ours to theirs", "pickle", "deepcopy"])
def test_files(direction):
    def made(m):
        x = m.tensor([[1 + 2j, 3 - 1j], [0, 5j]], dtype=m.complex32)
        return {"x": x, "turned": x.t(), "parameter": m.nn.Parameter(x[0].clone())}

    first = torch if direction == "theirs to ours" else pellucid
    other = torch if direction == "ours to theirs" else pellucid
    if direction == "pickle":
        loaded = pickle.loads(pickle.dumps(made(pellucid)))
    elif direction == "deepcopy":
        loaded = copy.deepcopy(made(pellucid))
    else:
        file = io.BytesIO()
        first.save(made(first), file)
        file.seek(0)
        loaded = other.load(file)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert {k: read(t) for k, t in loaded.items()} == {
            k: read(t) for k, t in made(torch).items()
        }
        assert loaded["turned"].stride() == (1, 2)
