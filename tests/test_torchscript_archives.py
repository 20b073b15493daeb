"""Archives of TorchScript, here written by hand: classes and code of their own over Pellucid's
operations, and nothing else.
"""

import io
import pickle
import struct
import zipfile

import numpy as np
import pytest

import pellucid as torch

CODE = """\
class Net(Module):
  __parameters__ = ["weight", ]
  __buffers__ = ["scale", ]
  weight : Tensor
  scale : Tensor
  training : bool
  width : int
  def forward(self: __torch__.Net,
    x: Tensor,
    times: int=2) -> Tuple[Tensor, List[int]]:
    _0 = __torch__.helpers.shifted
    weight = self.weight
    scale = self.scale
    y = torch.mul(torch.matmul(x, weight), scale)
    sizes = annotate(List[int], [])
    for i in range(times):
      y = torch.add(y, float(i), alpha=2)
      _1 = torch.append(sizes, torch.size(y, 0))
    if torch.__isnot__(self.width, None):
      y0 = _0(y, CONSTANTS.c0, )
    else:
      ops.prim.RaiseException("no width", "builtins.ValueError")
      y0 = y
    return (torch.to(y0, 7, False, False, None), sizes)
  def failing(self: __torch__.Net) -> NoneType:
    ops.prim.RaiseException("as wanted", "builtins.ValueError")
    return None
"""
HELPERS = """\
def shifted(x: Tensor,
    by: Tensor) -> Tensor:
  if torch.gt(torch.dim(x), 1):
    _0 = torch.slice(torch.add(x, by), 1, None, None, 1)
  else:
    _0 = x
  return _0
"""


def word(text):
    data = text.encode()
    return b"X" + struct.pack("<I", len(data)) + data


def tensor(key, *sizes, requires_grad=False):
    count = int(np.prod(sizes))
    strides = [int(np.prod(sizes[k + 1 :])) for k in range(len(sizes))]
    numbers = [b"(" + b"".join(b"K" + bytes([n]) for n in each) + b"t" for each in (sizes, strides)]
    flag = b"\x88" if requires_grad else b"\x89"
    return (
        b"ctorch._utils\n_rebuild_tensor_v2\n(("
        + word("storage")
        + b"ctorch\nFloatStorage\n"
        + word(key)
        + word("cpu")
        + b"K"
        + bytes([count])
        + b"tQK\x00"
        + b"".join(numbers)
        + flag
        + b"ccollections\nOrderedDict\n)RtR"
    )


def archive(code=CODE, helpers=HELPERS, **extra):
    weight = np.arange(4, dtype=np.float32)
    state = {
        "weight": tensor("0", 2, 2, requires_grad=True),
        "scale": tensor("1", 2),
        "training": b"\x88",
        "width": b"K\x02",
    }
    body = b"".join(word(name) + value for name, value in state.items())
    records = {
        "data.pkl": b"\x80\x02c__torch__\nNet\n)\x81}(" + body + b"ub.",
        "data/0": weight.tobytes(),
        "data/1": np.array([1, 10], np.float32).tobytes(),
        "constants.pkl": b"\x80\x02" + tensor("0", 1) + b"\x85.",
        "constants/0": np.array([0.5], np.float32).tobytes(),
        "code/__torch__.py": code.encode(),
        "code/__torch__/helpers.py": helpers.encode(),
        "version": b"3\n",
        **{f"extra/{name}": text.encode() for name, text in extra.items()},
    }
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as made:
        for name, data in records.items():
            made.writestr(f"net/{name}", data)
    file.seek(0)
    return file


def test_it_loads_and_computes():
    net = torch.jit.load(archive())
    y, sizes = net(torch.ones(1, 2))
    assert y.dtype == torch.float64
    assert y.tolist() == [[2.0 + 2.5, 40.0 + 2.5]]
    assert sizes == [1, 1]
    assert isinstance(net, torch.jit.ScriptModule)
    assert net.original_name == "Net"
    assert "torch.matmul(x, weight)" in net.code


def test_it_is_a_module():
    net = torch.jit.load(archive())
    assert list(net.state_dict()) == ["weight", "scale"]
    assert [name for name, _ in net.named_parameters()] == ["weight"]
    assert net.training
    assert not net.eval().training
    net(torch.ones(1, 2), 1)[0].sum().backward()
    assert net.weight.grad.tolist() == [[1.0, 10.0], [1.0, 10.0]]


def test_methods_and_extra_files():
    files = {"note": ""}
    net = torch.jit.load(archive(note="hello"), _extra_files=files)
    assert files["note"] in ("hello", b"hello")
    with pytest.raises(ValueError, match="as wanted"):
        net.failing()


def test_an_operator_that_is_not_there_names_itself_when_it_is_called():
    code = CODE.replace("torch.matmul(x, weight)", "torch.no_such_operator(x, weight)")
    net = torch.jit.load(archive(code))
    with pytest.raises(NotImplementedError, match="aten::no_such_operator"):
        net(torch.ones(1, 2))


@pytest.mark.parametrize(
    "statement",
    [
        "_9 = ().__class__",
        "_9 = getattr(self, '__class__')",
        "import os",
        "_9 = [i for i in range(3)]",
        "_9 = (lambda x: x)(1)",
        "__builtins__ = 1",
    ],
)
def test_constructs_that_are_not_in_the_list_are_refused(statement):
    code = CODE.replace(
        "    weight = self.weight\n", f"    {statement}\n    weight = self.weight\n"
    )
    with pytest.raises(NotImplementedError, match="TorchScript archive"):
        torch.jit.load(archive(code))


@pytest.mark.parametrize("reached", ["(x).numpy", "(self).load_state_dict", "(self).zero_grad"])
def test_attributes_are_those_of_the_archives_own_objects(reached):
    code = CODE.replace("    weight = self.weight\n", f"    _9 = {reached}\n    weight = 1\n")
    with pytest.raises(AttributeError, match="has no attribute"):
        torch.jit.load(archive(code))(torch.ones(1, 2))


def test_names_of_python_are_not_there():
    code = CODE.replace("    weight = self.weight\n", "    _9 = open('x')\n    weight = 1\n")
    with pytest.raises(NameError, match="open"):
        torch.jit.load(archive(code))(torch.ones(1, 2))


def test_a_pickle_may_name_its_own_classes_only():
    file = archive()
    with zipfile.ZipFile(file) as whole:
        records = {name: whole.read(name) for name in whole.namelist()}
    records["net/data.pkl"] = b"\x80\x02cos\nsystem\n(X\x04\x00\x00\x00trueq\x00tR."
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as whole:
        for name, data in records.items():
            whole.writestr(name, data)
    made.seek(0)
    with pytest.raises(pickle.UnpicklingError, match="os.system"):
        torch.jit.load(made)


def changed(pickled=None, code=CODE):
    """The archive with another code, or with something put into its pickle of objects."""
    file = archive(code)
    if pickled is None:
        return file
    with zipfile.ZipFile(file) as whole:
        records = {name: whole.read(name) for name in whole.namelist()}
    records["net/data.pkl"] = pickled(records["net/data.pkl"])
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as whole:
        for name, data in records.items():
            whole.writestr(name, data)
    made.seek(0)
    return made


@pytest.mark.parametrize(
    ("statement", "error"),
    [
        ("_9 = _attribute(self, '__class__')", NameError),
        ("_9 = _b_attribute(self, '__class__')", NotImplementedError),
        ("g = getattr\n    _9 = g(self, '_modules')", AttributeError),
        ("g = getattr\n    _9 = g(self, 'zero_grad')", AttributeError),
        ("self.__class__ = __torch__.Net", AttributeError),
        ("self._declared = ['zero_grad']", AttributeError),
        ("self._modules = 1", AttributeError),
        ("self.zero_grad = 1", AttributeError),
        ("_9 = ops.__class__.mro(1)", NotImplementedError),
        ("_9 = ops.aten.__init__(1)", NotImplementedError),
        ("_9 = torch.from_file('secret', False, 4)", NotImplementedError),
    ],
)
def test_code_reaches_nothing_but_its_own(statement, error):
    code = CODE.replace("    weight = self.weight\n", f"    {statement}\n    weight = 1\n")
    with pytest.raises(error):
        torch.jit.load(archive(code))(torch.ones(1, 2))


@pytest.mark.parametrize(
    "member",
    [
        "  _declared = ['zero_grad']\n",
        "  _modules : int\n",
        "  __class__ = 1\n",
        "  def __getattribute__(self: __torch__.Net, name: str) -> int:\n    return 1\n",
        "  def __reduce__(self: __torch__.Net) -> int:\n    return 1\n",
        "  def _restore(self: __torch__.Net) -> int:\n    return 1\n",
    ],
)
def test_classes_do_not_take_the_place_of_what_the_library_keeps(member):
    code = CODE.replace("  width : int\n", f"  width : int\n{member}")
    with pytest.raises(AttributeError, match="has no attribute"):
        torch.jit.load(archive(code))


def test_a_format_is_no_way_to_attributes():
    code = CODE.replace(
        "    weight = self.weight\n",
        "    weight = self.weight\n    y9 = torch.format('{} {0.__class__} {}', 1, 2)\n    print(y9)\n",
    )
    torch.jit.load(archive(code))(torch.ones(1, 2))
    from pellucid.jit._words import named

    assert named("aten", "format")("{} {0.__class__} {}", 1, 2) == "1 {0.__class__} 2"
    with pytest.raises(RuntimeError, match="Too few arguments"):
        named("aten", "format")("{} {}", 1)


@pytest.mark.parametrize("state", [b"}(" + word("_array"), b"N}(" + word("_array")])
def test_the_pickle_cannot_change_a_tensor(state):
    """An object in the place of its array would be taken for memory."""
    whole = tensor("0", 2, 2, requires_grad=True)
    other = b"ccollections\nOrderedDict\n)R" + (b"u\x86b" if state[:1] == b"N" else b"ub")
    with pytest.raises(pickle.UnpicklingError, match="Can only build"):
        torch.jit.load(changed(lambda data: data.replace(whole, whole + state + other)))


@pytest.mark.parametrize("name", ["_parameters", "_modules", "__class__", "_declared"])
def test_the_pickle_cannot_set_what_the_library_keeps(name):
    with pytest.raises(AttributeError, match="has no attribute"):
        torch.jit.load(changed(lambda data: data.replace(b"\x81}(", b"\x81}(" + word(name) + b"}")))


def test_classes_of_archives_are_made_without_arguments_and_filled_from_dicts():
    with pytest.raises(pickle.UnpicklingError, match="without arguments"):
        torch.jit.load(changed(lambda data: data.replace(b"Net\n)\x81", b"Net\nK\x01\x85\x81")))
    with pytest.raises(RuntimeError, match="must be a dict"):
        torch.jit.load(changed(lambda data: b"\x80\x02c__torch__\nNet\n)\x81K\x01b."))


@pytest.mark.parametrize(
    "code",
    [
        "(" * 500 + "x" + ")" * 500,
        "not " * 5000 + "x",
        "-" * 40_000 + "x",
        "isinstance(x)",
        "getattr(x)",
        "CONSTANTS.x",
        "CONSTANTS.c0.c1",
        "9" * 5000,
    ],
)
def test_code_that_cannot_be_read_is_refused_by_name(code):
    from pellucid.jit._code import CodeUnit

    text = f"class M(Module):\n  def forward(self, x: Tensor) -> Tensor:\n    return {code}\n"
    unit = CodeUnit(lambda name: text if name == "code/__torch__/m.py" else None, [1])
    with pytest.raises(NotImplementedError, match="the code of a TorchScript archive"):
        unit.find("__torch__.m.M")


@pytest.mark.parametrize("table", ["5", "x", "[5]", "'ab'"])
def test_tables_of_classes_are_lists_of_names(table):
    from pellucid.jit._code import CodeUnit

    text = f"class M(Module):\n  __parameters__ = {table}\n"
    unit = CodeUnit(lambda name: text if name == "code/__torch__/m.py" else None, [])
    with pytest.raises(NotImplementedError, match="the code of a TorchScript archive"):
        unit.find("__torch__.m.M")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("data.pkl", b"\x80\x02."),  # nothing on the stack
        ("data.pkl", b"\x80\x02h\x05."),
        ("constants.pkl", b"\x80\x02K\x05."),
        ("code/__torch__/m.py", b"\xff"),
        ("code/__torch__/m.py", b"\n" * (5 << 20)),
    ],
)
def test_damaged_archives_are_said_to_be(name, content):
    parts = {
        "data.pkl": b"\x80\x02c__torch__.m\nM\n)\x81}b.",
        "constants.pkl": b"\x80\x02).",
        "code/__torch__/m.py": b"class M(Module):\n  training : bool\n",
        name: content,
    }
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for key, data in parts.items():
            archive.writestr(f"m/{key}", data)
    with pytest.raises((RuntimeError, pickle.UnpicklingError)):
        torch.jit.load(file)
