"""Flatten nested containers to lists of leaves and rebuild them (`torch.utils._pytree`).

>>> from pellucid.utils._pytree import tree_flatten, tree_map, tree_unflatten
>>> leaves, spec = tree_flatten({"a": 1, "b": (2, 3)})
>>> leaves, tree_unflatten([x * 10 for x in leaves], spec)
([1, 2, 3], {'a': 10, 'b': (20, 30)})
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
import json
from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

__all__ = [
    "Context",
    "FlattenFunc",
    "GetAttrKey",
    "KeyEntry",
    "KeyPath",
    "LeafSpec",
    "MappingKey",
    "PyTree",
    "SequenceKey",
    "SUPPORTED_NODES",
    "TreeSpec",
    "UnflattenFunc",
    "arg_tree_leaves",
    "is_namedtuple",
    "is_namedtuple_class",
    "is_namedtuple_instance",
    "is_structseq",
    "is_structseq_class",
    "is_structseq_instance",
    "key_get",
    "keystr",
    "register_constant",
    "register_dataclass",
    "register_pytree_node",
    "tree_all",
    "tree_all_only",
    "tree_any",
    "tree_any_only",
    "tree_flatten",
    "tree_flatten_with_path",
    "tree_is_leaf",
    "tree_iter",
    "tree_leaves",
    "tree_leaves_with_path",
    "tree_map",
    "tree_map_",
    "tree_map_only",
    "tree_map_only_",
    "tree_map_with_path",
    "tree_structure",
    "tree_unflatten",
    "treespec_dumps",
    "treespec_loads",
    "treespec_pprint",
]

PyTree = Any
Context = Any
FlattenFunc = Callable[[Any], tuple[list[Any], Any]]
UnflattenFunc = Callable[[Iterable[Any], Any], Any]


# ---- where a leaf is ---------------------------------------------------------------------------
@dataclasses.dataclass(frozen=True)
class SequenceKey:
    """A place in a sequence."""

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx!r}]"

    def get(self, sequence: Any) -> Any:
        """What is there."""
        return sequence[self.idx]


@dataclasses.dataclass(frozen=True)
class MappingKey:
    """A key of a mapping."""

    key: Any

    def __str__(self) -> str:
        return f"[{self.key!r}]"

    def get(self, mapping: Any) -> Any:
        """What is there."""
        return mapping[self.key]


@dataclasses.dataclass(frozen=True)
class GetAttrKey:
    """The name of an attribute."""

    name: str

    def __str__(self) -> str:
        return f".{self.name}"

    def get(self, obj: Any) -> Any:
        """What is there."""
        return getattr(obj, self.name)


KeyEntry = Any
KeyPath = tuple[Any, ...]


def keystr(kp: KeyPath) -> str:
    """A path as it would be written: `['a'][0]`."""
    return "".join(map(str, kp))


def key_get(obj: Any, kp: KeyPath) -> Any:
    """What is at a path."""
    return functools.reduce(lambda found, key: key.get(found), kp, obj)


# ---- kinds of containers -----------------------------------------------------------------------
class NodeDef(NamedTuple):
    """How a kind of container is taken apart and put together."""

    type: Any
    flatten_fn: Callable[[Any], tuple[list[Any], Any]]
    unflatten_fn: Callable[[Iterable[Any], Any], Any]
    flatten_with_keys_fn: Callable[[Any], tuple[list[tuple[Any, Any]], Any]] | None


SUPPORTED_NODES: dict[Any, NodeDef] = {}
_NAMES: dict[Any, str] = {}  # what types are called in dumped structures
# their contexts to and from what json writes
_CONTEXTS: dict[Any, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {}


def register_pytree_node(
    cls: Any,
    flatten_fn: Any,
    unflatten_fn: Any,
    *,
    serialized_type_name: str | None = None,
    to_dumpable_context: Any = None,
    from_dumpable_context: Any = None,
    flatten_with_keys_fn: Any = None,
) -> None:
    """Make a class a container.

    Args:
        flatten_fn: `object -> (children, context)`.
        unflatten_fn: `(children, context) -> object`.
        flatten_with_keys_fn: `object -> ([(key, child)], context)`.
        serialized_type_name, to_dumpable_context, from_dumpable_context: how `treespec_dumps`
            writes it.

    Raises:
        ValueError: it is one already.
    """
    if cls in SUPPORTED_NODES:
        raise ValueError(f"{cls} is already registered as pytree node.")
    if (to_dumpable_context is None) != (from_dumpable_context is None):
        raise ValueError(
            f"Both to_dumpable_context and from_dumpable_context for {cls} must be None or registered."
        )
    SUPPORTED_NODES[cls] = NodeDef(cls, flatten_fn, unflatten_fn, flatten_with_keys_fn)
    if serialized_type_name is not None:
        _NAMES[cls] = serialized_type_name
    if to_dumpable_context is not None:
        _CONTEXTS[cls] = (to_dumpable_context, from_dumpable_context)


_register_pytree_node = _private_register_pytree_node = register_pytree_node


def _deregister_pytree_node(cls: Any) -> None:
    SUPPORTED_NODES.pop(cls, None)
    _NAMES.pop(cls, None)
    _CONTEXTS.pop(cls, None)


def register_dataclass(
    cls: Any,
    *,
    field_names: list[str] | None = None,
    drop_field_names: list[str] | None = None,
    serialized_type_name: str | None = None,
) -> None:
    """Make a dataclass a container of its fields, so that exported functions can take and return it."""
    dropped = set(drop_field_names or [])
    names = field_names or [
        f.name for f in dataclasses.fields(cls) if f.init and f.name not in dropped
    ]

    def flatten(obj: Any) -> tuple[list[Any], Any]:
        there = [n for n in names if getattr(obj, n) is not None]
        return [getattr(obj, n) for n in there], [there, [n for n in names if n not in there]]

    def unflatten(values: Any, context: Any) -> Any:
        return cls(**dict(zip(context[0], values, strict=True)), **dict.fromkeys(context[1]))

    def with_keys(obj: Any) -> tuple[list[tuple[Any, Any]], Any]:
        values, context = flatten(obj)
        return [(GetAttrKey(n), v) for n, v in zip(context[0], values, strict=True)], context

    register_pytree_node(
        cls,
        flatten,
        unflatten,
        serialized_type_name=serialized_type_name,
        flatten_with_keys_fn=with_keys,
    )


def register_constant(cls: Any) -> None:
    """Make values of a class part of the structure, instead of leaves."""
    register_pytree_node(
        cls,
        lambda obj: ([], obj),
        lambda values, context: context,
        flatten_with_keys_fn=lambda obj: ([], obj),
    )


def is_namedtuple_class(cls: Any) -> bool:
    """Whether a type is one of named tuples."""
    return (
        isinstance(cls, type)
        and issubclass(cls, tuple)
        and isinstance(getattr(cls, "_fields", None), tuple)
    )


def is_namedtuple_instance(obj: Any) -> bool:
    """Whether a value is a named tuple."""
    return is_namedtuple_class(type(obj))


def is_namedtuple(obj: Any) -> bool:
    """Whether a value, or a type, is one of named tuples."""
    return is_namedtuple_class(obj if isinstance(obj, type) else type(obj))


def is_structseq_class(cls: Any) -> bool:
    """Whether a type is a struct sequence of Python: a tuple whose items have names and whose type
    counts them (`time.struct_time`).
    """
    return (
        isinstance(cls, type)
        and cls.__bases__ == (tuple,)
        and all(
            isinstance(getattr(cls, name, None), int)
            for name in ("n_fields", "n_sequence_fields", "n_unnamed_fields")
        )
    )


def is_structseq_instance(obj: Any) -> bool:
    """Whether a value is a struct sequence."""
    return is_structseq_class(type(obj))


def is_structseq(obj: Any) -> bool:
    """Whether a value, or a type, is one of struct sequences."""
    return is_structseq_class(obj if isinstance(obj, type) else type(obj))


def _by_index(flatten: Any) -> Any:
    def with_keys(tree: Any) -> Any:
        values, context = flatten(tree)
        return [(SequenceKey(k), v) for k, v in enumerate(values)], context

    return with_keys


def _by_key(tree: Any) -> Any:
    values, context = SUPPORTED_NODES[type(tree)].flatten_fn(tree)
    return [(MappingKey(k), v) for k, v in zip(tree, values, strict=True)], context


def _tuple(tree: Any) -> tuple[list[Any], Any]:
    return list(tree), None


def _deque(tree: Any) -> tuple[list[Any], Any]:
    return list(tree), tree.maxlen


_Named: Any = namedtuple  # what all named tuples are registered under

register_pytree_node(
    tuple,
    _tuple,
    lambda v, c: tuple(v),
    serialized_type_name="builtins.tuple",
    flatten_with_keys_fn=_by_index(_tuple),
)
register_pytree_node(
    list,
    _tuple,
    lambda v, c: list(v),
    serialized_type_name="builtins.list",
    flatten_with_keys_fn=_by_index(_tuple),
)
register_pytree_node(
    dict,
    lambda d: (list(d.values()), list(d)),
    lambda v, c: dict(zip(c, v, strict=True)),
    serialized_type_name="builtins.dict",
    flatten_with_keys_fn=_by_key,
)
register_pytree_node(
    _Named,
    lambda t: (list(t), type(t)),
    lambda v, c: c(*v),
    serialized_type_name="collections.namedtuple",
    flatten_with_keys_fn=lambda t: (
        [(GetAttrKey(n), v) for n, v in zip(t._fields, t, strict=True)],
        type(t),
    ),
    to_dumpable_context=lambda c: f"{c.__module__}.{c.__qualname__}",
    from_dumpable_context=lambda c: functools.reduce(
        getattr, c.split(".")[1:], importlib.import_module(c.split(".")[0])
    ),
)
register_pytree_node(
    OrderedDict,
    lambda d: (list(d.values()), list(d)),
    lambda v, c: OrderedDict(zip(c, v, strict=True)),
    serialized_type_name="collections.OrderedDict",
    flatten_with_keys_fn=_by_key,
)
register_pytree_node(
    defaultdict,
    lambda d: (list(d.values()), [d.default_factory, list(d)]),
    lambda v, c: defaultdict(c[0], zip(c[1], v, strict=True)),
    serialized_type_name="collections.defaultdict",
    flatten_with_keys_fn=_by_key,
    to_dumpable_context=lambda c: {
        "default_factory_module": c[0].__module__,
        "default_factory_name": c[0].__qualname__,
        "dict_context": c[1],
    },
    from_dumpable_context=lambda c: [
        getattr(importlib.import_module(c["default_factory_module"]), c["default_factory_name"]),
        c["dict_context"],
    ],
)
register_pytree_node(
    deque,
    _deque,
    lambda v, c: deque(v, maxlen=c),
    serialized_type_name="collections.deque",
    flatten_with_keys_fn=_by_index(_deque),
)
_DICTS = {dict, OrderedDict, defaultdict}


# The rules of lists and dictionaries under PyTorch's names: libraries register classes of their own
# with them.
_list_flatten, _list_unflatten = (
    SUPPORTED_NODES[list].flatten_fn,
    SUPPORTED_NODES[list].unflatten_fn,
)
_list_flatten_with_keys = SUPPORTED_NODES[list].flatten_with_keys_fn
_tuple_flatten, _tuple_unflatten = (
    SUPPORTED_NODES[tuple].flatten_fn,
    SUPPORTED_NODES[tuple].unflatten_fn,
)
_dict_flatten, _dict_unflatten = (
    SUPPORTED_NODES[dict].flatten_fn,
    SUPPORTED_NODES[dict].unflatten_fn,
)


def _dict_flatten_with_keys(d: Any) -> tuple[list[tuple[Any, Any]], Any]:
    return [(MappingKey(key), value) for key, value in d.items()], list(d)


def _get_node_type(tree: Any) -> Any:
    kind = type(tree)
    if kind not in SUPPORTED_NODES and is_namedtuple_class(kind):
        return _Named
    return kind


def tree_is_leaf(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> bool:
    """Whether a value is a leaf: of no kind of container, or one that `is_leaf` says."""
    return (is_leaf is not None and is_leaf(tree)) or _get_node_type(tree) not in SUPPORTED_NODES


_is_leaf = tree_is_leaf


# ---- structures --------------------------------------------------------------------------------
class TreeSpec:
    """The structure of a container: its type, what it keeps beside its children, and their
    structures. A leaf has no type.
    """

    def __init__(
        self, type: Any, context: Any = None, children_specs: Iterable[TreeSpec] = ()
    ) -> None:
        self.type, self._context, self._children = type, context, list(children_specs)
        self.num_children = len(self._children)
        self.num_nodes: int = 1 + sum(c.num_nodes for c in self._children)
        self.num_leaves: int = 1 if self.is_leaf() else sum(c.num_leaves for c in self._children)

    @property
    def context(self) -> Any:
        """What the container keeps beside its children: a dictionary's keys."""
        return self._context

    @property
    def children_specs(self) -> list[TreeSpec]:
        """The children's structures."""
        return self._children

    def children(self) -> list[TreeSpec]:
        """The children's structures."""
        return list(self._children)

    def child(self, index: int) -> TreeSpec:
        """The structure of a child."""
        return self._children[index]

    def is_leaf(self) -> bool:
        """Whether it is that of a leaf."""
        return self.type is None

    def flatten_up_to(self, tree: Any) -> list[Any]:
        """The parts of another container in the places of the leaves.

        Raises:
            ValueError: it is of another structure.
        """
        if self.is_leaf():
            return [tree]
        kind = _get_node_type(tree)
        if kind is not self.type and not (kind in _DICTS and self.type in _DICTS):
            raise ValueError(f"Node type mismatch; expected {self.type!r}, but got {kind!r}.")
        if self.type in _DICTS:
            keys = self._context[1] if self.type is defaultdict else self._context
            missing, extra = set(keys) - set(tree), set(tree) - set(keys)
            if missing or extra:
                said = (f"; missing key(s): {missing}" if missing else "") + (
                    f"; extra key(s): {extra}" if extra else ""
                )
                raise ValueError(f"Node keys mismatch{said}.")
            values = [tree[k] for k in keys]
        else:
            values, context = SUPPORTED_NODES[kind].flatten_fn(tree)
            if len(values) != self.num_children:
                raise ValueError(
                    f"Node arity mismatch; expected {self.num_children}, but got {len(values)}."
                )
            if self.type is not deque and context != self._context:
                raise ValueError(f"Node context mismatch for custom node type {self.type!r}.")
        return [
            x
            for child, value in zip(self._children, values, strict=True)
            for x in child.flatten_up_to(value)
        ]

    def unflatten(self, leaves: Iterable[Any]) -> Any:
        """The container with these leaves.

        Raises:
            ValueError: there are more or fewer.
        """
        known = list(leaves)
        if len(known) != self.num_leaves:
            raise ValueError(
                f"treespec.unflatten(leaves): `leaves` has length {len(known)} but the spec refers to a pytree that holds "
                f"{self.num_leaves} items ({self})."
            )
        return self._made(iter(known))

    def _made(self, leaves: Iterator[Any]) -> Any:
        if self.is_leaf():
            return next(leaves)
        return SUPPORTED_NODES[self.type].unflatten_fn(
            [c._made(leaves) for c in self._children], self._context
        )

    def _shown(self, indent: int) -> str:
        if self.is_leaf():
            return "*"
        indent += 2
        inside = f",\n{' ' * indent}".join([c._shown(indent) for c in self._children])
        return f"TreeSpec({self.type.__name__}, {self._context}, [{inside}])"

    def __repr__(self) -> str:
        return self._shown(0)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TreeSpec):
            return NotImplemented
        return (self.type, self._context, self._children) == (
            other.type,
            other._context,
            other._children,
        )

    def __hash__(self) -> int:
        return hash((self.type, str(self._context), tuple(self._children)))


class _OfLeaves(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, TreeSpec) and instance.is_leaf()


class LeafSpec(TreeSpec, metaclass=_OfLeaves):
    """The structure of a leaf."""

    def __init__(self) -> None:
        super().__init__(None)


_LEAF_SPEC = LeafSpec()
PyTreeSpec = TreeSpec


# ---- taking apart and putting together -----------------------------------------------------------
def _gather(tree: Any, leaves: list[Any], is_leaf: Any) -> TreeSpec:
    kind = _get_node_type(tree)
    if kind not in SUPPORTED_NODES or (is_leaf is not None and is_leaf(tree)):
        leaves.append(tree)
        return _LEAF_SPEC
    values, context = SUPPORTED_NODES[kind].flatten_fn(tree)
    return TreeSpec(kind, context, [_gather(value, leaves, is_leaf) for value in values])


def tree_flatten(
    tree: Any, is_leaf: Callable[[Any], bool] | None = None
) -> tuple[list[Any], TreeSpec]:
    """(leaves from left to right, structure)."""
    leaves: list[Any] = []
    spec = _gather(tree, leaves, is_leaf)
    return leaves, spec


def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> Any:
    """The container of a structure with these leaves.

    Raises:
        TypeError: the structure is none.
        ValueError: there are more or fewer leaves than it has.
    """
    if not isinstance(treespec, TreeSpec):
        raise TypeError(
            f"Expected `treespec` to be an instance of PyTreeSpec but got item of type {type(treespec)}."
        )
    return treespec.unflatten(leaves)


def tree_leaves(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> list[Any]:
    """The leaves from left to right."""
    return tree_flatten(tree, is_leaf)[0]


def tree_iter(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> Iterator[Any]:
    """The leaves from left to right, one by one."""
    yield from tree_flatten(tree, is_leaf)[0]


def tree_structure(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> TreeSpec:
    """The structure."""
    return tree_flatten(tree, is_leaf)[1]


def arg_tree_leaves(*args: Any, **kwargs: Any) -> list[Any]:
    """The leaves of the arguments of a call."""
    return [leaf for value in (*args, *kwargs.values()) for leaf in tree_leaves(value)]


def tree_map(
    func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: Callable[[Any], bool] | None = None
) -> Any:
    """The tree with `func` applied to each leaf, and to the parts in the same places of further
    trees.

    Raises:
        ValueError: trees of another structure.
    """
    leaves, spec = tree_flatten(tree, is_leaf)
    return spec.unflatten(map(func, leaves, *[spec.flatten_up_to(r) for r in rests]))


def tree_map_(
    func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: Callable[[Any], bool] | None = None
) -> Any:
    """Call `func` with each leaf, as `tree_map`; returns the tree itself."""
    leaves, spec = tree_flatten(tree, is_leaf)
    deque(map(func, leaves, *[spec.flatten_up_to(r) for r in rests]), maxlen=0)
    return tree


def map_only(
    type_or_types_or_pred: Any, /
) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
    """Decorator: the function changes values of some types alone, or those that a predicate names."""
    chosen = type_or_types_or_pred
    if isinstance(chosen, (type, tuple)) or type(chosen).__name__ == "UnionType":
        return lambda func: lambda x: func(x) if isinstance(x, chosen) else x
    if not callable(chosen):
        raise TypeError("Argument must be a type, a tuple of types, or a callable.")
    return lambda func: lambda x: func(x) if chosen(x) else x


def tree_map_only(
    type_or_types_or_pred: Any,
    /,
    func: Callable[[Any], Any],
    tree: Any,
    is_leaf: Callable[[Any], bool] | None = None,
) -> Any:
    """The tree with `func` applied to the leaves of some types; the others stay."""
    return tree_map(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_map_only_(
    type_or_types_or_pred: Any,
    /,
    func: Callable[[Any], Any],
    tree: Any,
    is_leaf: Callable[[Any], bool] | None = None,
) -> Any:
    """Call `func` with the leaves of some types; returns the tree itself."""
    return tree_map_(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_all(
    pred: Callable[[Any], bool], tree: Any, is_leaf: Callable[[Any], bool] | None = None
) -> bool:
    """Whether something holds of all leaves."""
    return all(map(pred, tree_iter(tree, is_leaf)))


def tree_any(
    pred: Callable[[Any], bool], tree: Any, is_leaf: Callable[[Any], bool] | None = None
) -> bool:
    """Whether something holds of a leaf."""
    return any(map(pred, tree_iter(tree, is_leaf)))


def tree_all_only(
    kind: Any,
    /,
    pred: Callable[[Any], bool],
    tree: Any,
    is_leaf: Callable[[Any], bool] | None = None,
) -> bool:
    """Whether something holds of all leaves of some types."""
    return all(pred(x) for x in tree_iter(tree, is_leaf) if isinstance(x, kind))


def tree_any_only(
    kind: Any,
    /,
    pred: Callable[[Any], bool],
    tree: Any,
    is_leaf: Callable[[Any], bool] | None = None,
) -> bool:
    """Whether something holds of a leaf of some types."""
    return any(pred(x) for x in tree_iter(tree, is_leaf) if isinstance(x, kind))


def _paths(path: KeyPath, tree: Any, is_leaf: Any) -> Iterator[tuple[KeyPath, Any]]:
    kind = _get_node_type(tree)
    if kind not in SUPPORTED_NODES or (is_leaf is not None and is_leaf(tree)):
        yield path, tree
        return
    with_keys = SUPPORTED_NODES[kind].flatten_with_keys_fn
    if with_keys is None:
        raise ValueError(
            f"Did not find a flatten_with_keys_fn for type: {kind}. Please pass a flatten_with_keys_fn argument to register_pytree_node."
        )
    for key, value in with_keys(tree)[0]:
        yield from _paths((*path, key), value, is_leaf)


def tree_flatten_with_path(
    tree: Any, is_leaf: Callable[[Any], bool] | None = None
) -> tuple[list[tuple[KeyPath, Any]], TreeSpec]:
    """([(path, leaf)], structure)."""
    return list(_paths((), tree, is_leaf)), tree_structure(tree, is_leaf)


def tree_leaves_with_path(
    tree: Any, is_leaf: Callable[[Any], bool] | None = None
) -> list[tuple[KeyPath, Any]]:
    """[(path, leaf)]."""
    return list(_paths((), tree, is_leaf))


def tree_map_with_path(
    func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: Callable[[Any], bool] | None = None
) -> Any:
    """As `tree_map`; `func` gets the path, too."""
    found, spec = tree_flatten_with_path(tree, is_leaf)
    return spec.unflatten(
        [
            func(k, v, *r)
            for (k, v), *r in zip(found, *[spec.flatten_up_to(r) for r in rests], strict=True)
        ]
    )


def _broadcast_to_and_flatten(
    tree: Any, treespec: TreeSpec, is_leaf: Any = None
) -> list[Any] | None:
    """A tree that ends early, its leaves repeated for what is below them; None where the structures
    differ.
    """
    if tree_is_leaf(tree, is_leaf):
        return [tree] * treespec.num_leaves
    if treespec.is_leaf() or _get_node_type(tree) is not treespec.type:
        return None
    values, context = SUPPORTED_NODES[treespec.type].flatten_fn(tree)
    if len(values) != treespec.num_children or context != treespec.context:
        return None
    made: list[Any] = []
    for value, child in zip(values, treespec.children_specs, strict=True):
        part = _broadcast_to_and_flatten(value, child, is_leaf)
        if part is None:
            return None
        made += part
    return made


# ---- structures written down ---------------------------------------------------------------------
def _written(spec: TreeSpec) -> dict[str, Any]:
    if spec.is_leaf():
        return {"type": None, "context": None, "children_spec": []}
    if spec.type not in _NAMES:
        raise NotImplementedError(
            f"No registered serialization name for {spec.type} found. Please update your _register_pytree_node call with a "
            "`serialized_type_name` kwarg."
        )
    context = _CONTEXTS[spec.type][0](spec.context) if spec.type in _CONTEXTS else spec.context
    return {
        "type": _NAMES[spec.type],
        "context": json.dumps(context),
        "children_spec": [_written(c) for c in spec.children_specs],
    }


def treespec_dumps(treespec: TreeSpec, protocol: int | None = None) -> str:
    """A structure as text."""
    if not isinstance(treespec, TreeSpec):
        raise TypeError(
            f"treespec_dumps(treespec, protocol): Expected `treespec` to be instance of TreeSpec but got item of type {type(treespec)}."
        )
    return json.dumps([1, _written(treespec)])


def treespec_loads(serialized: str) -> TreeSpec:
    """The structure that `treespec_dumps` wrote."""
    protocol, written = json.loads(serialized)
    if protocol != 1:
        raise ValueError(f"Unknown protocol {protocol}. Available protocols: [1]")
    return _read(written)


def _read(written: dict[str, Any]) -> TreeSpec:
    if written["type"] is None:
        return _LEAF_SPEC
    kind = next((k for k, name in _NAMES.items() if name == written["type"]), None)
    if kind is None:
        raise NotImplementedError(f"Deserializing `{written['type']}` in pytree is not registered.")
    context = json.loads(written["context"])
    return TreeSpec(
        kind,
        _CONTEXTS[kind][1](context) if kind in _CONTEXTS else context,
        [_read(c) for c in written["children_spec"]],
    )


class _Star:
    def __repr__(self) -> str:
        return "*"


def treespec_pprint(treespec: TreeSpec) -> str:
    """The container of a structure, with stars for leaves, as text."""
    import pprint

    return pprint.pformat(tree_unflatten([_Star()] * treespec.num_leaves, treespec))
