"""`.pt` files of every module, optimizer and kind of tensor, from PyTorch to here and back."""

import collections
import enum
import io

import pytest

import pellucid
from pellucid import serialization

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore")

OLD = [False, True]
MODULES = {
    "Linear": (3, 2),
    "Bilinear": (2, 3, 4),
    "Conv1d": (2, 4, 3),
    "Conv2d": (2, 4, 3),
    "Conv3d": (2, 4, 3),
    "ConvTranspose1d": (2, 4, 3),
    "ConvTranspose2d": (2, 4, 3),
    "ConvTranspose3d": (2, 4, 3),
    "BatchNorm1d": (3,),
    "BatchNorm2d": (3,),
    "BatchNorm3d": (3,),
    "SyncBatchNorm": (3,),
    "LayerNorm": (3,),
    "GroupNorm": (2, 4),
    "InstanceNorm2d": (3, 1e-5, 0.1, True, True),
    "RMSNorm": (3,),
    "Embedding": (5, 3),
    "EmbeddingBag": (5, 3),
    "RNN": (3, 4, 2),
    "LSTM": (3, 4, 2),
    "GRU": (3, 4),
    "RNNCell": (3, 4),
    "LSTMCell": (3, 4),
    "GRUCell": (3, 4),
    "MultiheadAttention": (4, 2),
    "TransformerEncoderLayer": (4, 2, 8),
    "TransformerDecoderLayer": (4, 2, 8),
    "Transformer": (4, 2, 1, 1, 8),
    "PReLU": (3,),
    "CrossEntropyLoss": (),
    "NLLLoss": (),
    "AdaptiveLogSoftmaxWithLoss": (4, 10, [3, 6]),
}


def dump(library, obj, old=False, **options):
    file = io.BytesIO()
    save = library.save if library is torch else serialization.save
    save(obj, file, _use_new_zipfile_serialization=not old, **options)
    file.seek(0)
    return file


def read(library, file, **options):
    return (library.load if library is torch else serialization.load)(file, **options)


def same(a, b):
    """Equal structure, values, strides and dtypes, whatever the library."""
    assert type(a).__name__ == type(b).__name__
    if hasattr(a, "detach"):
        assert (tuple(a.shape), a.stride(), a.storage_offset(), str(a.dtype), a.requires_grad) == (
            tuple(b.shape), b.stride(), b.storage_offset(), str(b.dtype), b.requires_grad,
        )  # fmt: skip
        assert repr(a.detach().tolist()) == repr(b.detach().tolist())
    elif isinstance(a, dict):
        assert list(a) == list(b)
        for key in a:
            same(a[key], b[key])
    elif isinstance(a, (list, tuple)) and not type(a).__name__ == "Size":
        assert len(a) == len(b)
        for x, y in zip(a, b, strict=True):
            same(x, y)
    else:
        assert repr(a) == repr(b)


def there_and_back(obj, old, **options):
    """An object of PyTorch's, read here, written here, and read by PyTorch again."""
    here = read(pellucid, dump(torch, obj, old), **options)
    same(obj, here)
    back = read(torch, dump(pellucid, here, old), **options)
    same(obj, back)
    return here, back


@pytest.mark.parametrize("old", OLD, ids=["zip", "old"])
@pytest.mark.parametrize("name", MODULES)
def test_state_dicts(name, old):
    torch.manual_seed(0)
    theirs, ours = (
        getattr(torch.nn, name)(*MODULES[name]),
        getattr(pellucid.nn, name)(*MODULES[name]),
    )
    here, back = there_and_back(theirs.state_dict(), old)
    ours.load_state_dict(here)
    same(theirs.state_dict(), ours.state_dict())
    theirs.load_state_dict(back)
    theirs.load_state_dict(read(torch, dump(pellucid, ours.state_dict(), old)))
    if hasattr(here, "_metadata"):
        assert back._metadata == theirs.state_dict()._metadata


OPTIMIZERS = {
    "SGD": {"momentum": 0.9, "nesterov": True},
    "Adam": {"amsgrad": True},
    "AdamW": {},
    "Adamax": {},
    "NAdam": {},
    "RAdam": {},
    "Adagrad": {},
    "Adadelta": {},
    "RMSprop": {"momentum": 0.5, "centered": True},
    "Rprop": {},
    "ASGD": {},
    "LBFGS": {},
    "Adafactor": {},
    "Muon": {},
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizer_states_continue_on_the_other_side(name):
    """Two steps there, the state moved here, and two more on both sides give the same parameters;
    and the reverse.
    """

    def start(m):
        weight = m.nn.Parameter(m.arange(6.0).reshape(2, 3) / 7)
        params = [weight] if name == "Muon" else [weight, m.nn.Parameter(m.ones(3))]
        return params, getattr(m.optim, name)(params, lr=0.05, **OPTIMIZERS[name])

    def step(params, optimizer):
        def closure():
            optimizer.zero_grad()
            loss = sum(((p - 0.3) ** 2).sum() for p in params)
            loss.backward()
            return loss

        optimizer.step(closure)

    for first, second in ((torch, pellucid), (pellucid, torch)):
        a, opt_a = start(first)
        b, opt_b = start(second)
        for _ in range(2):
            step(a, opt_a)
        found = read(second, dump(first, {"p": [p.detach() for p in a], "o": opt_a.state_dict()}))
        for p, q in zip(b, found["p"], strict=True):
            p.data.copy_(q)
        opt_b.load_state_dict(found["o"])
        for _ in range(2):
            step(a, opt_a)
            step(b, opt_b)
        for p, q in zip(a, b, strict=True):
            assert (
                p.tolist() == pytest.approx(q.tolist())
                if p.ndim == 1
                else sum(p.tolist(), []) == pytest.approx(sum(q.tolist(), []))
            )


def structures(m):
    t = m.arange(24.0).reshape(2, 3, 4)
    return {
        "nested": {"a": [(1, {"b": t[0]}), None], 3: {1.5: "x", (1, 2): b"y", True: 2**80}},
        "ordered": collections.OrderedDict(
            [("z", t), ("a", t.t() if t.ndim == 2 else t.transpose(0, 2))]
        ),
        "default": collections.defaultdict(list, {"k": [1]}),
        "counter": collections.Counter("aab"),
        "set": {1, 2},
        "bytes": bytearray(b"ab"),
        "complex": 1 - 2j,
        "inf": [float("inf"), float("nan"), -0.0],
        "size": t.shape,
        "dtype": m.bfloat16,
        "device": m.device("cpu"),
        "layout": [m.strided, m.sparse_coo],
        "slice": [1],
        "empty": [{}, [], (), ""],
    }


def tensors(m):
    t = m.arange(24.0).reshape(4, 6)
    kinds = [
        "float64",
        "float32",
        "float16",
        "bfloat16",
        "int64",
        "int32",
        "int16",
        "int8",
        "uint8",
        "bool",
        "complex64",
        "complex128",
    ]
    made = {kind: m.arange(4).to(getattr(m, kind)) for kind in kinds}
    made |= {
        kind: m.arange(4).to(getattr(m, kind))
        for kind in ("uint16", "uint32", "uint64", "float8_e4m3fn", "float8_e5m2")
    }
    made |= {
        "view": t[1:3, ::2],
        "turned": t.t(),
        "row": t[2],
        "expanded": m.ones(1, 3).expand(4, 3),
        "strided": m.as_strided(t, (3, 2), (5, 3), 2),
        "wide": m.ones(2, 3, 4, 5).to(memory_format=m.channels_last),
        "none": m.empty(0, 3),
        "zero": m.tensor(3.5),
        "leaf": m.ones(2, requires_grad=True),
        "parameter": m.nn.Parameter(m.ones(2), requires_grad=False),
        "whole": t,
        "conj": m.tensor([1 + 2j]).conj(),
        "neg": m.tensor([1 + 2j]).imag,
    }
    return made


OLD_FORMAT_HAS_NOT = {"uint16", "uint32", "uint64", "float8_e4m3fn", "float8_e5m2"}


@pytest.mark.parametrize("old", OLD, ids=["zip", "old"])
@pytest.mark.parametrize("key", tensors(torch))
def test_tensors(key, old):
    if old and key in OLD_FORMAT_HAS_NOT:
        file = dump(torch, tensors(torch)[key], True)
        with pytest.raises(AttributeError):  # PyTorch writes what it cannot read
            torch.load(file)
        file.seek(0)
        same(tensors(torch)[key], serialization.load(file))
        with pytest.raises(RuntimeError, match="the legacy format has no storage for"):
            dump(pellucid, tensors(pellucid)[key], True)
        return
    for first, second in ((torch, pellucid), (pellucid, torch)):
        source = tensors(first)[key]
        if key == "conj":
            source = source.resolve_conj() if first is torch else source
        if key == "neg":
            source = source.resolve_neg().clone()
        same(source, read(second, dump(first, source, old)))


@pytest.mark.parametrize("old", OLD, ids=["zip", "old"])
@pytest.mark.parametrize("key", structures(torch))
def test_structures(key, old):
    unsafe = key in ("set", "default")  # neither library allows them by default
    for first, second in ((torch, pellucid), (pellucid, torch)):
        got = read(second, dump(first, structures(first)[key], old), weights_only=not unsafe)
        same(structures(second)[key], got)


def test_shared_memory_stays_shared():
    for first, second in ((torch, pellucid), (pellucid, torch)):
        base = first.arange(10.0)
        got = read(
            second,
            dump(first, [base, base[2:5], base.view(2, 5), base[::3], first.nn.Parameter(base)]),
        )
        got[0][2] = 100
        assert [got[1][0].item(), got[2][0, 2].item(), got[4][2].item()] == [100, 100, 100]
        same = [first.ones(2)] * 2
        got = read(second, dump(first, same))
        assert got[0] is got[1]


@pytest.mark.parametrize(
    "where",
    ["cpu", "meta", None, {"cuda:0": "cpu"}, lambda storage, location: storage],
    ids=["cpu", "meta", "none", "table", "function"],
)
def test_map_location(where):
    source = torch.arange(4.0)
    theirs, ours = (
        torch.load(dump(torch, source), map_location=where),
        serialization.load(dump(torch, source), map_location=where),
    )
    assert (str(theirs.device), tuple(theirs.shape)) == (str(ours.device), tuple(ours.shape))
    if where != "meta":
        assert ours.tolist() == theirs.tolist()


def test_files_of_a_gpu_need_map_location():
    data = dump(torch, {"x": torch.arange(4.0)}).getvalue().replace(b"cpu", b"gpu")
    data = data.replace(b"gpu", b"cpu")
    import zipfile

    out = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(data)) as old,
        zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as new,
    ):
        for info in old.infolist():
            content = old.read(info)
            if info.filename.endswith("data.pkl"):
                content = content.replace(b"X\x03\x00\x00\x00cpu", b"X\x06\x00\x00\x00cuda:0")
            new.writestr(info.filename, content)
    messages = []
    for load in (torch.load, serialization.load):
        out.seek(0)
        with pytest.raises(RuntimeError) as caught:
            load(out)
        messages.append(str(caught.value))
        out.seek(0)
        assert load(out, map_location="cpu")["x"].tolist() == [0, 1, 2, 3]
    assert messages[0] == messages[1]


@pytest.mark.parametrize("writer", [torch, pellucid], ids=["theirs", "ours"])
def test_mapped_memory(writer, tmp_path):
    path = str(tmp_path / "big.pt")
    source = writer.arange(300_000.0)
    (torch.save if writer is torch else serialization.save)(
        {"x": source, "part": source[5:9]}, path
    )
    for load in (torch.load, serialization.load):
        got = load(path, mmap=True)
        assert (got["x"][-1].item(), got["part"].tolist()) == (299_999.0, [5, 6, 7, 8])
        got["x"][0] = -1  # a private copy of the page
        assert load(path)["x"][0].item() == 0


class Colour(enum.Enum):
    RED = 1


class Thing:
    def __init__(self, x):
        self.x = x

    def __eq__(self, other):
        return self.x == other.x


@pytest.mark.parametrize("old", OLD, ids=["zip", "old"])
def test_what_weights_only_allows(old):
    for obj in (Thing(3), Colour.RED):
        file = dump(torch, obj, old)
        for load in (torch.load, serialization.load):
            file.seek(0)
            with pytest.raises(Exception, match="Weights only load failed"):
                load(file)
            file.seek(0)
            assert load(file, weights_only=False) == obj
    things = [Thing]
    with torch.serialization.safe_globals(things), serialization.safe_globals(things):
        for load in (torch.load, serialization.load):
            file = dump(pellucid, Thing(4), old)
            assert load(file) == Thing(4)


class Evil:
    def __reduce__(self):
        return (exec, ("raise SystemExit('ran')",))


def test_no_code_of_the_file_runs():
    for old in OLD:
        file = dump(torch, [Evil()], old)
        with pytest.raises(Exception, match="Weights only load failed"):
            serialization.load(file)


def test_whole_modules_need_the_same_library():
    """A pickled module names its class, so it is refused by default on both sides."""
    file = dump(torch, torch.nn.Linear(2, 1))
    with pytest.raises(Exception, match="Weights only load failed"):
        serialization.load(file)
    file = dump(pellucid, pellucid.nn.Linear(2, 1))
    with pytest.raises(Exception, match="Weights only load failed"):
        torch.load(file)


def test_parameters_keep_their_attributes():
    for first, second in ((torch, pellucid), (pellucid, torch)):
        p = first.nn.Parameter(first.arange(3.0))
        p.note = {"from": "here"}
        got = read(second, dump(first, p))
        assert (type(got), got.is_leaf, got.requires_grad) == (second.nn.Parameter, True, True)
        assert (got.note, got.tolist()) == ({"from": "here"}, [0.0, 1.0, 2.0])


def test_packed_sequences():
    for first, second in ((torch, pellucid), (pellucid, torch)):
        packed = first.nn.utils.rnn.pack_sequence([first.ones(3, 1), first.zeros(2, 1)])
        got = read(second, dump(first, packed), weights_only=False)
        assert type(got) is second.nn.utils.rnn.PackedSequence
        assert got.batch_sizes.tolist() == [2, 2, 1]


SCHEDULERS = {
    "OneCycleLR": {"max_lr": 0.5, "total_steps": 9},
    "CosineAnnealingLR": {"T_max": 5},
    "StepLR": {"step_size": 2},
    "LinearLR": {},
    "CosineAnnealingWarmRestarts": {"T_0": 3},
    "PolynomialLR": {},
    "ReduceLROnPlateau": {"patience": 1},
    "MultiStepLR": {"milestones": [2, 4]},
}


@pytest.mark.parametrize("name", SCHEDULERS)
def test_schedulers_continue_on_the_other_side(name):
    def start(m):
        optimizer = m.optim.SGD([m.nn.Parameter(m.ones(1))], 0.1, momentum=0.9)
        return optimizer, getattr(m.optim.lr_scheduler, name)(optimizer, **SCHEDULERS[name])

    def run(optimizer, scheduler, steps):
        rates = []
        for _ in range(steps):
            optimizer.step()
            scheduler.step(*([1.0] if name == "ReduceLROnPlateau" else []))
            rates.append(optimizer.param_groups[0]["lr"])
        return rates

    for first, second in ((torch, pellucid), (pellucid, torch)):
        (opt_a, a), (opt_b, b) = start(first), start(second)
        run(opt_a, a, 3)
        found = read(second, dump(first, {"o": opt_a.state_dict(), "s": a.state_dict()}))
        opt_b.load_state_dict(found["o"])
        b.load_state_dict(found["s"])
        assert run(opt_a, a, 4) == pytest.approx(run(opt_b, b, 4))


@pytest.mark.parametrize("old", OLD, ids=["zip", "old"])
def test_storages(old):
    for first, second in ((torch, pellucid), (pellucid, torch)):
        t = first.arange(4.0)
        typed = read(second, dump(first, t.storage(), old))
        assert (type(typed).__name__, typed.tolist(), typed.dtype) == (
            "TypedStorage",
            [0, 1, 2, 3],
            second.float32,
        )
        got = read(second, dump(first, {"t": t, "s": [t.storage()]}, old))
        got["t"][0] = 7
        assert got["s"][0][0] == 7
        if not old:
            file = dump(first, t.untyped_storage())
            kinds = []
            for library in (torch, pellucid):
                file.seek(0)
                found = read(library, file)
                kinds.append((type(found).__name__, found.nbytes(), list(found)[2:4]))
            assert kinds[0] == kinds[1]
