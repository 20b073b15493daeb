"""The code of TorchScript archives: a subset of Python, checked and turned into functions over
Pellucid's operations.

An archive is untrusted data. Its code can call only operators and its own functions: every name
is looked up here, attributes belong to the archive's own objects, and any other construct is
refused when the file is read.
"""

from __future__ import annotations

import ast
import contextlib
import enum
import math
from collections import namedtuple
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any

from ..core.tensor import Parameter, Tensor
from ..errors import UnsupportedError
from ._script import ScriptModule
from ._words import named

_ALLOWED = (
    ast.Module, ast.FunctionDef, ast.arguments, ast.arg, ast.Return, ast.Assign, ast.AugAssign,
    ast.Expr, ast.If, ast.For, ast.While, ast.Pass, ast.Break, ast.Continue, ast.With, ast.withitem,
    ast.Assert, ast.Name, ast.Load, ast.Store, ast.Constant, ast.Tuple, ast.List, ast.Dict,
    ast.Subscript, ast.Slice, ast.Call, ast.keyword, ast.IfExp, ast.UnaryOp, ast.USub, ast.Not,
    ast.BoolOp, ast.And, ast.Or,
)  # fmt: skip


class ArchiveModule(ScriptModule):
    """A module whose class is in an archive: `forward` and the other methods run the archive's
    code.
    """

    _text: str = ""
    _qualified = ""
    _declared: frozenset[str] = frozenset()
    _tables: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())

    def _restore(self, state: dict[str, Any]) -> None:
        """Take the attributes that an archive has of this object."""
        parameters, buffers = self._tables
        for name, value in state.items():
            _check_name(name)
            if name in parameters:
                if isinstance(value, Tensor) and not isinstance(value, Parameter):
                    value = Parameter(value.detach(), value.requires_grad)
                self.register_parameter(name, value)
            elif name in buffers:
                self.register_buffer(name, value)
            elif isinstance(value, ScriptModule):
                self.add_module(name, value)
            else:
                self.__dict__[name] = value

    def __len__(self) -> int:
        return len(self._modules)

    @property
    def original_name(self) -> str:
        return self._qualified.rpartition(".")[2]

    @property
    def code(self) -> str:
        return self._text

    def _get_name(self) -> str:
        return "RecursiveScriptModule"

    def extra_repr(self) -> str:
        return f"original_name={self.original_name}"

    def save(self, f: Any, _extra_files: dict[str, Any] | None = None, **kwargs: Any) -> None:
        """Not supported: its class is in the archive that it came from."""
        raise UnsupportedError(
            "saving a module that torch.jit.load read from a TorchScript archive is not supported",
            hint="keep the archive, and save the state_dict with torch.save",
        )


class _Object:
    """An object of a class in an archive that is no module."""

    _qualified = ""
    _declared: frozenset[str] = frozenset()

    def _restore(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            _check_name(name)
            self.__dict__[name] = value


def is_kind(kind: Any) -> bool:
    """Whether this is a class of an archive, whose objects `new` makes and `restore` fills."""
    return isinstance(kind, type) and issubclass(kind, (ArchiveModule, _Object))


def new(kind: Any) -> Any:
    """An object without the archive's attributes."""
    made = kind.__new__(kind)
    if issubclass(kind, ArchiveModule):
        ScriptModule.__init__(made)
    return made


def restore(made: Any, state: Any) -> None:
    """Give an object its attributes, by the `__setstate__` of the archive's class where it has one."""
    if "__setstate__" in type(made)._declared:
        made.__setstate__(state)
    elif type(state) is dict:
        made._restore(state)
    else:
        raise RuntimeError(f"the attributes of an object must be a dict, but got {type(state)}")


# What this library keeps on such objects and classes: nothing of it is the archive's.
_OURS = frozenset(vars(ScriptModule())) - {"training", "_is_full_backward_hook"} | {
    "_declared", "_qualified", "_restore", "_tables", "_text",
}  # fmt: skip


def _check_name(name: Any) -> None:
    """Refuse a name that no attribute of the archive's has."""
    if type(name) is not str or name.startswith("__") or name in _OURS:
        raise AttributeError(f"an object of a TorchScript archive has no attribute {name!r}")


def _attribute(value: Any, name: str) -> Any:
    """An attribute of an object of the archive's; no other object has any.

    `getattr` would find what the classes of this library define, too.
    """
    kind = type(value)
    if isinstance(value, (ArchiveModule, _Object)):
        _check_name(name)
        tables = [vars(value)]
        if isinstance(value, ArchiveModule):
            tables += [value._parameters, value._buffers, value._modules]
        for table in tables:
            if name in table:
                return table[name]
        if name in kind._declared and name in vars(kind):
            found = vars(kind)[name]
            return found.__get__(value) if isinstance(found, FunctionType) else found
    elif isinstance(value, enum.Enum) and name in ("name", "value"):
        return getattr(value, name)
    elif isinstance(value, tuple) and name in getattr(kind, "_fields", ()):
        return getattr(value, name)
    raise AttributeError(f"{kind.__name__!r} object has no attribute {name!r}")


def _assign(value: Any, name: str, given: Any) -> None:
    _check_name(name)
    if not _has(value, name):
        raise AttributeError(f"{type(value).__name__!r} object has no attribute {name!r}")
    setattr(value, name, given)


def _has(value: Any, name: str) -> bool:
    return isinstance(value, (ArchiveModule, _Object)) and name in type(value)._declared


def _given(kind: Any, value: Any) -> Any:
    return value


def _is_of(value: Any, kinds: Any) -> bool:
    found: tuple[type, ...] = kinds if isinstance(kinds, tuple) else (kinds,)
    return isinstance(value, found)


_BUILTIN: dict[str, Any] = {
    "int": int,
    "float": float,
    "bool": bool,
    "str": str,
    "complex": complex,
    "range": range,
    "print": print,
    "inf": math.inf,
    "nan": math.nan,
    "infj": complex(0, math.inf),
    "annotate": _given,
    "unchecked_cast": _given,
    "uninitialized": lambda kind: None,
    "isinstance": _is_of,
    "getattr": _attribute,
    "hasattr": _has,
    "fork": lambda function, *args, **kwargs: function(*args, **kwargs),
    "wait": lambda value: value,
    "awaitable": lambda function, *args, **kwargs: function(*args, **kwargs),
}
_TYPES: dict[str, Any] = {
    "Tensor": Tensor, "int": int, "float": float, "bool": bool, "str": str, "complex": complex,
    "List": list, "Dict": dict, "Tuple": tuple, "NoneType": type(None), "number": (int, float),
}  # fmt: skip
# Methods with such names that classes of archives have. None of them is asked for attributes.
_SPECIAL = frozenset(
    "__init__ __getstate__ __setstate__ __len__ __contains__ __getitem__ __setitem__ __delitem__ "
    "__iter__ __next__ __enter__ __exit__ __eq__ __ne__ __lt__ __le__ __gt__ __ge__ __hash__ "
    "__str__ __repr__ __bool__ __int__ __float__ __call__ __add__ __sub__ __mul__ __truediv__ "
    "__floordiv__ __mod__ __pow__ __neg__ __and__ __or__ __xor__".split()
)
_TAKE_TYPES = ("annotate", "unchecked_cast", "uninitialized", "isinstance")


@contextlib.contextmanager
def _no_code() -> Iterator[None]:
    """Inside, Python's compiler refuses a text in its own ways, also where it is nested too deep."""
    try:
        yield
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise UnsupportedError(
            f"the code of a TorchScript archive cannot be read: {error or 'it is nested too deep'}"
        ) from None


class CodeUnit:
    """All classes and functions of an archive, by their names in it (`__torch__.a.b.C`).

    Args:
        read: from the name of a file (`code/__torch__/a/b.py`) to its text; None where there is
            none.
        constants: what `CONSTANTS.c0` and so on stand for.
    """

    def __init__(self, read: Callable[[str], str | None], constants: list[Any]) -> None:
        self._read, self.constants = read, constants
        self.scope: dict[str, Any] = {
            "__builtins__": {},
            "_b_attribute": _attribute,
            "_b_assign": _assign,
            **{f"_b_{name}": value for name, value in _BUILTIN.items()},
        }
        self._loaded: set[str] = set()
        self._names: dict[str, str] = {}  # names in the archive -> variables of `scope`

    def find(self, name: str) -> Any:
        """A class or function by its name."""
        self._load(name.rpartition(".")[0])
        try:
            return self.scope[self._variable(name)]
        except KeyError:
            raise RuntimeError(f"Unknown type name '{name}'") from None

    def _variable(self, name: str) -> str:
        return self._names.setdefault(name, f"_n_{len(self._names)}")

    def _load(self, module: str) -> None:
        """Read a file of the code, and those with the names that it uses."""
        waiting = [module]
        while waiting:
            module = waiting.pop()
            if module in self._loaded:
                continue
            self._loaded.add(module)
            text = self._read(f"code/{module.replace('.', '/')}.py")
            if text is not None:
                waiting += self._define(module, text)

    def _define(self, module: str, text: str) -> list[str]:
        needed: list[str] = []
        with _no_code():
            tree = ast.parse(text)
        for item in tree.body:
            if isinstance(item, ast.FunctionDef):
                function = self._function(item, needed)
                self.scope[self._variable(f"{module}.{item.name}")] = function
            elif isinstance(item, ast.ClassDef):
                name = f"{module}.{item.name}"
                self.scope[self._variable(name)] = self._class(item, name, needed)
            else:
                raise _refused(item)
        return needed

    def _class(self, item: ast.ClassDef, name: str, needed: list[str]) -> Any:
        base = ast.unparse(item.bases[0]) if item.bases else ""
        fields: dict[str, Any] = {}
        tables: dict[str, tuple[str, ...]] = {}
        methods: dict[str, Any] = {}
        text = ""
        for part in item.body:
            if isinstance(part, ast.FunctionDef):
                if part.name not in _SPECIAL:
                    _check_name(part.name)
                if part.name == "forward":
                    text = ast.unparse(part)
                methods[part.name] = self._function(part, needed)
            elif isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name):
                fields[part.target.id] = None if part.value is None else _literal(part.value)
            elif isinstance(part, ast.Assign):
                target = part.targets[0]
                if isinstance(target, ast.Name) and target.id in ("__parameters__", "__buffers__"):
                    tables[target.id] = _table(part.value)
                elif isinstance(target, ast.Name) and target.id != "__annotations__":
                    fields[target.id] = _literal(part.value)
        for key in fields:
            _check_name(key)
        short = item.name if item.name.isidentifier() else "Anonymous"
        if base == "NamedTuple":
            return namedtuple(short, list(fields))
        if base == "Enum":
            return enum.Enum(short, fields)
        declared = frozenset(fields) | frozenset(methods)
        body: dict[str, Any] = {
            "__module__": __name__,
            "_qualified": name,
            "_declared": declared,
            **{key: value for key, value in fields.items() if value is not None},
            **methods,
        }
        if base == "Module":
            body["_text"] = text
            body["_tables"] = tables.get("__parameters__", ()), tables.get("__buffers__", ())
            body.pop("training", None)
            return type(short, (ArchiveModule,), body)
        return type(short, (_Object,), body)

    def _function(self, item: ast.FunctionDef, needed: list[str]) -> Any:
        for argument in (*item.args.args, *item.args.kwonlyargs):
            argument.annotation = None
        item.returns = None
        name = item.name
        item.name = "_made" if name.startswith("__") else name
        made = ast.fix_missing_locations(_Translation(self, needed).visit(item))
        scope = self.scope
        before = scope.get(item.name)
        with _no_code():
            code = compile(ast.Module([made], []), f"<{name} of an archive>", "exec")
        exec(code, scope)
        function = scope.pop(item.name)
        if before is not None:
            scope[item.name] = before
        return function


class _Translation(ast.NodeTransformer):
    """A function of an archive as one of Python's: names become variables of the unit's scope."""

    def __init__(self, unit: CodeUnit, needed: list[str]) -> None:
        self.unit, self.needed = unit, needed

    def generic_visit(self, node: ast.AST) -> ast.AST:
        if not isinstance(node, _ALLOWED):
            raise _refused(node)
        return super().generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.AST:  # noqa: N802
        if node.id.startswith("__"):
            raise _refused(node)
        if node.id in _BUILTIN and isinstance(node.ctx, ast.Load):
            return ast.copy_location(ast.Name(f"_b_{node.id}", ast.Load()), node)
        if node.id in _BUILTIN or node.id[:3] in ("_b_", "_n_", "_o_"):
            raise _refused(node)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:  # noqa: N802
        chain = _chain(node)
        if chain is None:
            if node.attr.startswith("__"):
                raise _refused(node)
            value = self.visit(node.value)
            if isinstance(node.ctx, ast.Store):
                raise _refused(node)
            return _call("_b_attribute", value, ast.Constant(node.attr))
        root, *rest = chain
        if root == "CONSTANTS":
            if len(rest) != 1 or not rest[0][1:].isdecimal():
                raise _refused(node)
            name = f"_o_constant_{rest[0][1:]}"
            self.unit.scope[name] = self.unit.constants[int(rest[0][1:])]
        elif root == "__torch__":
            whole = ".".join(chain)
            self.needed.append(whole.rpartition(".")[0])
            name = self.unit._variable(whole)
        else:
            namespace, word = ("aten", rest[0]) if root == "torch" else (rest[0], rest[1])
            if len(rest) != (1 if root == "torch" else 2):
                raise _refused(node)
            name = f"_o_{namespace}_{word}"
            if name not in self.unit.scope:
                self.unit.scope[name] = named(namespace, word)
        return ast.copy_location(ast.Name(name, ast.Load()), node)

    def visit_Assign(self, node: ast.Assign) -> ast.AST:  # noqa: N802
        target = node.targets[0]
        if isinstance(target, ast.Attribute):
            call = _call(
                "_b_assign",
                self.visit(target.value),
                ast.Constant(target.attr),
                self.visit(node.value),
            )
            return ast.copy_location(ast.Expr(call), node)
        return self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:  # noqa: N802
        if node.value is None:
            raise _refused(node)
        return self.visit(ast.copy_location(ast.Assign([node.target], node.value), node))

    def visit_Call(self, node: ast.Call) -> ast.AST:  # noqa: N802
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name in _TAKE_TYPES:
            place = 1 if name == "isinstance" else 0
            if len(node.args) <= place or node.keywords:
                raise _refused(node)
            kind = _types(node.args[place]) if place else None
            rest = [self.visit(value) for k, value in enumerate(node.args) if k != place]
            key = f"_o_type_{len(self.unit.scope)}" if place else "_b_inf"
            if place:
                self.unit.scope[key] = kind
            held: list[ast.expr] = [ast.Name(key, ast.Load())]
            func = ast.Name(f"_b_{name}", ast.Load())
            made = ast.Call(func, [*rest, *held] if place else [*held, *rest], [])
            return ast.copy_location(made, node)
        if name == "getattr" and not (
            len(node.args) > 1
            and isinstance(node.args[1], ast.Constant)
            and isinstance(node.args[1].value, str)
            and not node.args[1].value.startswith("__")
        ):
            raise _refused(node)
        return self.generic_visit(node)


def _types(node: ast.expr) -> Any:
    """The classes of a type of TorchScript, for `isinstance`."""
    if isinstance(node, ast.Subscript):
        return _types(node.value)
    if isinstance(node, (ast.Tuple, ast.List)):
        found: list[Any] = []
        for each in node.elts:
            kind = _types(each)
            found += kind if isinstance(kind, tuple) else (kind,)
        return tuple(found)
    if isinstance(node, ast.Name) and node.id in _TYPES:
        return _TYPES[node.id]
    raise _refused(node)


def _chain(node: ast.Attribute) -> list[str] | None:
    """The names of `torch.a`, `ops.a.b`, `__torch__.a.b`; None for an attribute of an object."""
    names: list[str] = []
    at: ast.expr = node
    while isinstance(at, ast.Attribute):
        names.append(at.attr)
        at = at.value
    if isinstance(at, ast.Name) and at.id in ("torch", "ops", "__torch__", "CONSTANTS"):
        return [at.id, *reversed(names)]
    return None


def _call(name: str, *args: ast.expr) -> ast.expr:
    return ast.Call(ast.Name(name, ast.Load()), list(args), [])


def _literal(node: ast.expr) -> Any:
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, RecursionError, MemoryError):
        return None


def _table(node: ast.expr) -> tuple[str, ...]:
    """The names in a list of a class."""
    names = _literal(node)
    if type(names) is not list or not all(type(name) is str for name in names):
        raise _refused(node)
    return tuple(names)


def _refused(node: ast.AST) -> Exception:
    try:
        text = ast.unparse(node) if isinstance(node, (ast.expr, ast.stmt)) else type(node).__name__
    except RecursionError:
        text = type(node).__name__
    text = text if len(text) <= 200 else text[:200] + "..."
    return UnsupportedError(f"the code of a TorchScript archive has what is not supported: {text}")
