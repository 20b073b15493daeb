"""TorchScript archives that lie: code that reaches for what it may not have, that nests or recurses,
classes with odd names and fields, objects whose attributes are of the wrong kind.
"""

from __future__ import annotations

import random
from typing import Any

NAMES = (
    "weight", "training", "x", "forward", "__class__", "__dict__", "__globals__", "__builtins__",
    "__init__", "__reduce__", "__del__", "__getattr__", "__setstate__", "__getstate__", "__hash__",
    "__eq__", "__len__", "__iter__", "__enter__", "__exit__", "__call__", "__new__", "__slots__",
    "__init_subclass__", "__class_getitem__", "_parameters", "_modules", "_restore", "_declared",
    "_qualified", "_text", "_tables", "state_dict", "register_parameter", "_apply", "parameters",
    "_b_attribute", "_b_assign", "_n_0", "_o_aten_add", "_made", "name", "value", "mro", "_order_",
    "_fields", "_make", "_ignore_", "class_", "a" * 3000, "é",
)  # fmt: skip
EXPRESSIONS = (
    "x", "self", "self.weight", "self.sub", "torch.add(x, 1)", "torch.add(self.weight, x)", "1",
    "torch.mul(x, x)", "CONSTANTS.c0", "CONSTANTS.c1", "CONSTANTS.c99", "CONSTANTS", "CONSTANTS.x",
    "CONSTANTS.c0.c1", "CONSTANTS.cc", "torch", "ops", "ops.prim", "__torch__", "__torch__.m.M",
    "__torch__.m.f(x)", "__torch__.other.f(x)", "__torch__.m.M.forward(self, x)", "None", "True",
    "ops.prim.id(self)", "ops.prim.rangelist(9)", "ops.prim.RaiseException('no')",
    "ops.prim.RaiseException('no', 'builtins.SystemExit')",
    "ops.prim.RaiseException('no', 'builtins.KeyboardInterrupt')",
    "ops.prim.RaiseException('no', 'builtins.MemoryError')",
    "ops.prim.RaiseException(x, x)", "ops.prim.tolist(x)", "ops.prim.dtype(x)", "ops.prim.data(x)",
    "ops.os.system('true')", "ops.aten.from_file('/etc/passwd', False, 9)", "ops.__class__.x",
    "torch.from_file('/etc/passwd', False, 9)", "ops.aten.__class__(1)", "torch.__class__(1)",
    "ops.load_library.x('a')", "ops.aten.set_(x, x)", "ops.pellucid.x", "ops.builtins.eval('1')",
    "torch.as_strided(x, [9, 9], [99, 9], 9)", "torch.resize_(x, [9])", "torch.empty([3])",
    "torch.format('{0.__class__}', x)", "torch.format('{}', self)", "torch.percentFormat('%s', x)",
    "torch.percentFormat('%99s', 1)", "torch.join('a', ['b'])", "torch.chr(-1)", "torch.len(x)",
    "torch.__getitem__(x, 99)", "torch.__getitem__(x, -99)", "torch.__getitem__(int, x)",
    "torch.__contains__(x, x)", "torch.append(x, x)", "torch._set_item(self, 'weight', 1)",
    "torch._set_item({}, x, 1)", "torch.Delete(x, 0)", "torch.sort(x)", "torch.sort([2, 1])",
    "torch.slice([1, 2], 0, 9, 0)", "torch.slice(x, 0, 0, 9, 0)", "torch.keys(self)",
    "torch.items(self)", "torch.copy(self)", "torch.clear(self)", "torch.pop([])", "torch.dict(x)",
    "torch.list(x)", "torch.list('abc')", "torch.device('x')", "torch.size(x, 9)", "torch.Int(x)",
    "torch.IntImplicit(x)", "torch.to(x, 6)", "torch.to(x, 99)", "torch.to(x, -1)",
    "torch.zeros([2], dtype=99)", "torch.zeros([-1])", "torch.zeros([2], layout=9)", "int(x)",
    "torch.no_such(x)", "torch.factorial(5)", "torch.__lshift__(1, 9)", "torch.pow(2, 9)", "int",
    "getattr", "getattr(x)", "getattr(self, 'weight')", "getattr(self, '__class__')",
    "getattr(self, x)", "getattr(self, '_parameters')", "hasattr(self, 'weight')", "hasattr(self)",
    "self.__class__", "self._parameters", "self.no", "x.__class__", "x.shape", "x.data", "x.grad",
    "print", "print(x)", "print.x", "isinstance(x, Tensor)", "isinstance(x)", "isinstance()",
    "isinstance(x, x)", "isinstance(x, List[int])", "isinstance(x, (Tensor, int))",
    "isinstance(x, 1)", "annotate(List[int], [])", "annotate()", "annotate(Dict[str, int], {})",
    "unchecked_cast(Tensor, x)", "uninitialized(int)", "fork(self.forward, x)", "wait(x)",
    "fork(x, x)", "range(9)", "str(self)", "str(x)", "inf", "nan", "infj", "complex('a')",
    "bool(x)", "float(x)", "'a'", "b'a'", "1j", "...", "9" * 5000, "0x" + "f" * 400, "1e999",
    "[1, 2]", "(1, x)", "{'a': x}", "{x: x}", "{}", "x[0]", "x[9]", "x[0:1]", "x[x]", "x[::0]",
    "self[0]", "int[0]", "x if x else x", "not x", "-x", "-'a'", "x and x", "x or self",
    "lambda: 0", "[i for i in x]", "{i for i in x}", "(i for i in x)", "f'{x}'", "f'{x.__class__}'",
    "(y := x)", "x + x", "x < x", "x is x", "await x", "yield_", "__import__('os')", "eval('1')",
    "open('/etc/passwd')", "__builtins__", "__name__", "_b_getattr(x, 'y')", "_b_attribute",
    "_n_0", "_o_aten_add", "type(x)", "super()", "globals()", "().__class__", "''.join", "x.T",
    "*x", "f(*x)", "f(**x)", "torch.add(x, other=1)", "torch.add(no=1)", "torch.add()",
)  # fmt: skip
STATEMENTS = (
    "return {}", "y = {}", "self.weight = {}", "self.no = {}", "self.__class__ = {}", "x.y = {}",
    "y, z = {}", "(y, z) = {}", "[y] = {}", "y: int = {}", "y: int", "y += {}", "x[0] = {}",
    "{}", "if {}:\n      pass\n    else:\n      return x", "for i in {}:\n      y = i",
    "for i in {}:\n      break\n    else:\n      pass", "assert {}", "with {} as y:\n      return y",
    "while {}:\n      return x", "while False:\n      {}", "del x", "import os", "from os import path",
    "global x", "nonlocal x", "try:\n      {}\n    except Exception:\n      pass", "raise {}",
    "def inner(a, b={}):\n      return a", "def _b_attribute(a, b):\n      return {}",
    "@{}\n    def inner(a: int) -> int:\n      return a", "class C:\n      pass", "pass", "torch = {}",
    "async def inner():\n      pass", "print = {}", "_b_attribute = {}", "inf = {}", "__x = {}",
)  # fmt: skip
DEEP = (
    ("(", "x", ")"), ("[", "x", "]"), ("not ", "x", ""), ("-", "x", ""), ("", "x", ".a"),
    ("", "x", "[0]"), ("", "x", "(x)"), ("x if x else ", "x", ""), ("x and (", "x", ")"),
    ("{1: ", "x", "}"), ("torch.neg(", "x", ")"), ("(x, ", "x", ")"), ("fork(", "x", ")"),
)  # fmt: skip
BASES = ("(Module)",) * 30 + ("", "(NamedTuple)", "(Enum)", "(object)", "(int)", "(Module, Enum)",
    "(metaclass=type)", "(__torch__.m.M)", "({})".format("-" * 500 + "x"))  # fmt: skip


PARAMETERS = ("['weight']",) * 60 + ("[]", "5", "x", "[5]", "['__class__']", "'ab'", "['sub']")
BUFFERS = ("[]",) * 40 + ("['weight']", "['training']", "None")


def expression(r: random.Random) -> str:
    form = r.random()
    if form < 0.05:
        opening, middle, closing = r.choice(DEEP)
        count = r.choice((5, 50, 90, 250, 3000, 40_000))
        return opening * count + middle + closing * count
    if form < 0.2:
        return f"torch.add({r.choice(EXPRESSIONS)}, {r.choice(EXPRESSIONS)})"
    return r.choice(EXPRESSIONS)


def body(r: random.Random) -> str:
    lines = [
        r.choice(STATEMENTS).replace("{}", expression(r))
        for _ in range(r.choice((0, 0, 1, 1, 1, 2)))
    ]
    if r.random() < 0.03:
        lines.append(
            "".join("\n" + "  " * (k + 2) + "if x:" for k in range(r.choice((15, 30, 120)))).strip()
        )
    if r.random() < 0.03:
        lines.append("y = x\n    " * r.choice((100, 20_000)))
    return "\n    ".join([*lines, "return x"])


def function(r: random.Random, name: str, own: bool = True) -> str:
    inner = r.choice(("x: Tensor", "x: Tensor", "x", "*x", "x, *, y=1", "x, /", "x=1", "_b_inf"))
    if r.random() < 0.9:
        inner = "x: Tensor"
    kind = r.choice((" -> Tensor", "", " -> no.such(x)", " -> int"))
    head = f"def {name}({'self: __torch__.m.M, ' if own else ''}{inner}){kind}:"
    return f"  {head}\n    {body(r)}\n" if own else f"{head}\n    {body(r)}\n"


def source(r: random.Random) -> str:
    made = ""
    if r.random() < 0.15:
        made += function(r, r.choice(("f", "f", *NAMES[:3], r.choice(NAMES))), False)
    made += f"class {r.choice(('M',) * 40 + ('N', '__M', 'Module', 'Tensor'))}{r.choice(BASES)}:\n"
    made += f"  __parameters__ = {r.choice(PARAMETERS)}\n  __buffers__ = {r.choice(BUFFERS)}\n"
    made += "  weight : Tensor\n  training : bool\n"
    if r.random() < 0.1:
        made += f"  {r.choice(NAMES)} : {r.choice(('int', 'Tensor', 'x(', 'List[int]'))}"
        made += r.choice(("", " = 5", " = x", " = [1]", " = " + "[" * 60 + "]" * 60)) + "\n"
    made += function(r, "forward" if r.random() < 0.9 else r.choice(NAMES))
    if r.random() < 0.1:
        made += function(r, r.choice(NAMES))
    if r.random() < 0.05:
        made += r.choice(("import os\n", "x = 1\n", "  import os\n", "\0", "\t\n", "print(1)\n"))
    return made


def module(r: random.Random, glob: Any, tensor: Any, value: Any) -> Any:
    """The object in data.pkl, of which some parts are wrong."""

    def odd(usual: Any, share: float = 0.08) -> Any:
        return value(r, 2) if r.random() < share else usual

    kind = r.choice(("__torch__.m.M",) * 40 + ("__torch__.m.f", "__torch__.x.Y", "__torch__..M",
        "__torch__.m.N", "os.system", "builtins.eval", "torch.jit._pickle.build_intlist"))  # fmt: skip
    made: list[Any] = ["new", odd(glob(kind), 0.1), odd(["tuple"], 0.05)]
    fields: list[Any] = [["training", odd(True)], ["weight", odd(tensor)]]
    if r.random() < 0.5:
        inner = ["build", ["new", glob("__torch__.m.M"), ["tuple"]], ["dict", *fields]]
        fields.append([r.choice(("sub", *NAMES)), odd(inner)])
    if r.random() < 0.2:
        tag = r.choice(("build_intlist", "build_tensorlist", "restore_type_tag", "no"))
        items = ["tuple", odd(["list", 1, 2]), *(["Dict[str, int]"] * (tag == "restore_type_tag"))]
        fields.append(["extra", ["call", glob(f"torch.jit._pickle.{tag}"), items]])
    if r.random() < 0.2:
        fields.append([odd(r.choice(NAMES)), odd(5, 0.5)])
    return odd(["build", made, odd(["dict", *fields], 0.1)], 0.05)


def records(r: random.Random, glob: Any, tensor: Any, value: Any) -> list[dict[str, Any]]:
    code = source(r)
    found = [
        {"name": "m/data.pkl", "content": {"pickle": module(r, glob, tensor, value)}},
        {"name": "m/code/__torch__/m.py", "content": code, "deflate": r.random() < 0.5},
        {"name": "m/constants.pkl", "content": {"pickle": ["tuple", tensor, 5, [
            "storage", "torch.FloatStorage", "0", "cpu", 4]][: r.choice((1, 3, 3, 4))]}},
        {"name": "m/version", "content": "6\n"},
        {"name": "m/data/0", "content": {"repeat": ["0000803f", 4]}},
        {"name": "m/constants/0", "content": {"repeat": ["0000803f", 4]}},
        {"name": "m/extra/note", "content": "text"},
    ]  # fmt: skip
    if r.random() < 0.05:
        found[2]["content"] = {"pickle": value(r, 3)}
    if r.random() < 0.1:
        found.append({"name": "m/code/__torch__/other.py", "content": source(r)})
    if r.random() < 0.03:  # much code in few bytes
        text = r.choice(("x;", "y = x\n", "[", "(", "# \n", "def f():\n  pass\n"))
        found[1] |= {"content": {"repeat": [text.encode().hex(), 1 << r.choice((14, 20, 22))]}}
        found[1]["deflate"] = True
    if r.random() < 0.05:
        del found[r.randrange(len(found))]
    return found
