"""Operators derived from others: those that write to `out`, copies of views, functional forms of
in-place operators, and gradients.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ... import dtypes
from ...core.modes import local
from ...core.tape import titled
from ...core.tensor import Tensor
from ..computed import T, gradients
from .kinds import placed

Find = Callable[[str], Any]  # the packet of a name, or None


def of(overload: Any, find: Find) -> Callable[..., Any] | None:
    """Return a function that computes an overload with another one, or None."""
    for rule in (_into_out, _copy_of_view, _functional, _gradient):
        made = rule(overload, find)
        if made is not None:
            return made
    return None


def _names(overload: Any, outs: bool = False) -> list[str]:
    return [a.name for a in overload._schema.arguments if outs or not a.is_out]


def _overloads(packet: Any) -> list[Any]:
    return [getattr(packet, name) for name in packet.overloads()]


def _computes(overload: Any) -> Any:
    """Return the overload if it has an implementation."""
    return overload if overload._known() else None


# ---- results written into `out` -----------------------------------------------------------------
def _into_out(overload: Any, find: Find) -> Callable[..., Any] | None:
    outs = [a.name for a in overload._schema.arguments if a.is_out]
    if not outs:
        return None
    wanted = [(a.name, str(a.type)) for a in overload._schema.arguments if not a.is_out]
    plain = next(
        (
            _computes(other)
            for other in _overloads(overload._overloadpacket)
            if [(a.name, str(a.type)) for a in other._schema.arguments] == wanted
        ),
        None,
    )
    if plain is None:
        return None

    def kernel(*args: Any, **kwargs: Any) -> Any:
        written = [kwargs.pop(name) for name in outs]
        made = plain(*args, **kwargs)
        if made is None:
            return None
        several = isinstance(made, (tuple, list))
        parts = list(made) if several else [made]
        if len(written) == 1 and isinstance(written[0], (list, tuple)):
            for o, r in zip(written[0], parts, strict=True):
                placed(o, r, overload._opname)
            return None
        done = [
            o if o is r else placed(o, r, overload._opname)
            for o, r in zip(written, parts, strict=True)
        ]
        return tuple(done) if several else done[0]

    return kernel


# ---- copies and functional forms ----------------------------------------------------------------
def _copy_of_view(overload: Any, find: Find) -> Callable[..., Any] | None:
    """Compute `X_copy` as a copy of `X`."""
    view = overload._opname.endswith("_copy") and find(overload._opname.removesuffix("_copy"))
    own = overload._overloadname
    if not view or own not in view.overloads() or not (plain := _computes(getattr(view, own))):
        return None

    def kernel(*args: Any, **kwargs: Any) -> Any:
        made = plain(*args, **kwargs)
        if isinstance(made, (tuple, list)):
            return [T.clone(t) for t in made]
        return T.clone(made)

    return kernel


def _functional(overload: Any, find: Find) -> Callable[..., Any] | None:
    """Compute `X` as `X_` on a copy."""
    name, own = overload._opname, overload._overloadname
    if name.endswith("_") or overload._schema.is_mutable:
        return None
    packet = find(name.removesuffix("_functional") + "_")
    if packet is None or own not in packet.overloads():
        return None
    writes = _computes(getattr(packet, own))
    if writes is None:
        return None

    def kernel(self: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(self, (list, tuple)):
            copies = [T.clone(t) for t in self]
            writes(copies, *args, **kwargs)
            return copies
        copy = T.clone(self)
        writes(copy, *args, **kwargs)
        return copy

    return kernel


# ---- gradients ------------------------------------------------------------------------------------
_SIZES = ("input_size", "input_sizes", "self_size", "sizes", "sym_sizes")
_GRADS = ("grad_output", "grad", "grad_out")


def _gradient(overload: Any, find: Find) -> Callable[..., Any] | None:
    """Compute `X_backward` as the gradient of `X`, whose arguments it takes by name. `self` may be
    given by its sizes only.
    """
    name = overload._opname
    if not name.endswith("_backward"):
        return None
    stem, names = name.removesuffix("_backward"), _names(overload)
    packets = [p for p in (find(stem), find(f"{stem}_forward")) if p is not None]
    if not names or names[0] not in _GRADS:
        return None
    for packet in packets:
        for forward in _overloads(packet):
            wanted = _names(forward, True)
            rest = set(wanted) - set(names) - {"output_size"}
            sized = rest == {wanted[0]} and any(n in _SIZES for n in names)
            optional = {a.name for a in forward._schema.arguments if a.has_default_value()}
            if (not rest - optional or sized) and wanted and _computes(forward):
                return _backward_of(overload, forward, names, wanted, sized)
    return None


def _backward_of(
    overload: Any, forward: Any, names: list[str], wanted: list[str], sized: bool
) -> Callable[..., Any]:
    kinds = {a.name: a.type for a in forward._schema.arguments}
    tensors = [n for n in wanted if kinds[n].base == "Tensor"]
    several = len(overload._schema.returns) > 1

    def kernel(*args: Any, **kwargs: Any) -> Any:
        given = dict(zip(names, args, strict=False)) | kwargs
        g = given[names[0]]
        if sized:
            size = next(given[n] for n in _SIZES if n in given)
            given[wanted[0]] = T.zeros(list(size), dtype=g.dtype)
        if "output_size" in wanted and "output_size" not in given:
            given["output_size"] = list(g.shape[2 - (given["self"].ndim == g.ndim == 3) :])
        chosen = tensors if several else tensors[:1]

        def function(*values: Any) -> Any:
            known = {n: given[n] for n in wanted if n in given}
            made = forward(**(known | dict(zip(chosen, values, strict=True))))
            return made[0] if isinstance(made, (tuple, list)) else made

        found = gradients(function, [given.get(n) for n in chosen], g)
        mask = given.get("output_mask")
        if mask is not None:
            found = [r if on else None for r, on in zip(found, mask, strict=False)]
        return tuple(found) if several else found[0]

    return kernel


def _title(name: str) -> str:
    """Return the name of an operator's node."""
    return "".join([_word(part) for part in name.split("_") if part]) + "Backward0"


def _word(part: str) -> str:
    part = part[0].upper() + part[1:]
    return part[:-1] + "D" if len(part) > 1 and part[-1] == "d" and part[-2].isdigit() else part


def shown(overload: Any, kernel: Callable[..., Any]) -> Callable[..., Any]:
    """Return the kernel. If it is a gradient, wrap it so that its own derivative has one node with
    the operator's name.
    """
    name = overload._opname
    if "_backward" not in name or overload._schema.is_mutable:
        return kernel
    title = _title(name)

    def with_node(*args: Any, **kwargs: Any) -> Any:
        made = kernel(*args, **kwargs)
        if isinstance(made, Tensor) and local.grad and made._rg:
            given = [t for t in (*args, *kwargs.values()) if isinstance(t, Tensor)]
            # integer positions have no edge
            of = tuple([t for t in given if t.dtype is not dtypes.int64])
            return titled(made, title, of=of)
        return made

    return with_node
