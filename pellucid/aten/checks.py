"""The checks that `torch.library.opcheck` runs on an operator with given arguments."""

from __future__ import annotations

from typing import Any

from ..core.modes import enable_grad
from ..core.tape import Node
from ..core.tensor import Tensor
from ..errors import ArgumentValueError
from . import overload as _overload


def _tensors(tree: Any) -> list[Tensor]:
    parts = (
        tree
        if isinstance(tree, (list, tuple))
        else tree.values()
        if isinstance(tree, dict)
        else (tree,)
    )
    return [
        t
        for part in parts
        for t in (
            [part]
            if isinstance(part, Tensor)
            else _tensors(part)
            if isinstance(part, (list, tuple))
            else []
        )
    ]


def _check_schema(op: Any, args: Any, kwargs: Any) -> None:
    values = _overload.bound(op._schema, args, kwargs)
    copies = [v.detach().clone() if isinstance(v, Tensor) else v for v in values]
    op(*args, **kwargs)
    for argument, value, copy in zip(op._schema.arguments, values, copies, strict=True):
        written = argument.alias_info is not None and argument.alias_info.is_write
        if (
            isinstance(value, Tensor)
            and not written
            and not bool(((value == copy) | (value != value)).all())
        ):
            raise RuntimeError(
                f"Argument {argument.name} is not defined as mutable but was mutated"
            )


def _check_autograd(op: Any, args: Any, kwargs: Any) -> None:
    wanting = [t for t in _tensors([args, kwargs]) if t.requires_grad]
    if wanting and not op._schema.is_mutable:
        with enable_grad():
            made = [
                t
                for t in _tensors([op(*args, **kwargs)])
                if t.is_floating_point() or t.is_complex()
            ]
        if made and not any(isinstance(t.grad_fn, Node) for t in made):
            raise RuntimeError(
                "the operator's results do not require grad although an argument does: register_autograd is missing"
            )


def _check_fake(op: Any, args: Any, kwargs: Any) -> None:
    def meta(tree: Any) -> Any:
        if isinstance(tree, Tensor):
            return tree.detach().to("meta")
        if isinstance(tree, (list, tuple)):
            return type(tree)(map(meta, tree))
        return {key: meta(value) for key, value in tree.items()} if isinstance(tree, dict) else tree

    real, fake = _tensors([op(*args, **kwargs)]), _tensors([op(*meta(args), **meta(kwargs))])
    for one, other in zip(real, fake, strict=True):
        if one.shape != other.shape or one.dtype != other.dtype:
            raise RuntimeError(
                f"the fake says {other.dtype}{list(other.shape)}, the operator returns {one.dtype}{list(one.shape)}"
            )


def _check_backward(op: Any, args: Any, kwargs: Any) -> None:
    if op._schema.is_mutable or not any(t.requires_grad for t in _tensors([args, kwargs])):
        return
    with enable_grad():
        made = [t for t in _tensors([op(*args, **kwargs)]) if t.requires_grad]
    for k, t in enumerate(made):
        t.sum().backward(retain_graph=k + 1 < len(made))


def run(op: Any, args: Any, kwargs: Any, names: Any, raise_exception: bool) -> dict[str, Any]:
    """Run the named checks. Returns for each of them "SUCCESS" or the error."""
    results: dict[str, Any] = {}
    for name in (names,) if isinstance(names, str) else tuple(names):
        if name not in _CHECKS:
            raise ArgumentValueError(f"{name} is not one of the checks {list(_CHECKS)}")
        try:
            _CHECKS[name](op, args, kwargs)
            results[name] = "SUCCESS"
        except Exception as error:
            if raise_exception:
                raise RuntimeError(
                    f"opcheck(op, ...): {name} failed with {error} (scroll up for stack trace)"
                ) from error
            results[name] = error
    return results


_CHECKS = {
    "test_schema": _check_schema,
    "test_autograd_registration": _check_autograd,
    "test_faketensor": _check_fake,
    "test_aot_dispatch_dynamic": _check_backward,
}
