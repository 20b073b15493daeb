"""torch.library: operators from functions, with schemas, kernels, gradients and rules for vmap."""

from collections.abc import Sequence
from typing import Optional

import numpy as np
import pytest

import pellucid as torch
from pellucid import Tensor, library
from pellucid.utils._python_dispatch import TorchDispatchMode


def test_schemas():
    def f(
        x: Tensor,
        y: Tensor | None,
        z: int = 3,
        *,
        w: float = 2.5,
        s: Sequence[int],
        b: bool = True,
        n: str = "a",
        d: Optional[torch.dtype] = None,  # noqa: UP045
    ) -> tuple[Tensor, int]: ...

    assert library.infer_schema(f, mutates_args={"x"}) == (
        '(Tensor(a0!) x, Tensor? y, SymInt z=3, *, float w=2.5, SymInt[] s, bool b=True, str n="a", ScalarType? d=None) -> (Tensor, SymInt)'
    )

    def plain(x: Tensor) -> None: ...

    assert library.infer_schema(plain, mutates_args=(), op_name="foo") == "foo(Tensor x) -> ()"
    with pytest.raises(ValueError, match="were not found in the custom op's signature"):
        library.infer_schema(plain, mutates_args={"y"})
    for bad, words in (
        (lambda x: x, "must have a type annotation"),
        (_with(dict, None), "unsupported type"),
        (_with(Tensor, dict), "Return has unsupported type"),
    ):
        with pytest.raises(ValueError, match=words):
            library.infer_schema(bad, mutates_args=())


def _with(kind, result):
    def f(x):
        return x

    f.__annotations__ = {"x": kind, "return": result}
    return f


@pytest.fixture
def sin():
    @library.custom_op("tests::sin", mutates_args=())
    def sin(x: Tensor) -> Tensor:
        return torch.from_numpy(np.sin(x.detach().numpy()))

    yield sin
    from pellucid.aten.overload import undefine

    undefine("tests", "sin")


def test_an_operator_from_a_function(sin):
    x = torch.ones(2, requires_grad=True)
    assert (
        torch.ops.tests.sin(x).grad_fn is not None and str(sin._opoverload) == "tests.sin.default"
    )
    with pytest.raises(RuntimeError, match="no autograd formula was registered"):
        sin(x).sum().backward()
    with pytest.raises(RuntimeError, match="There was no fake impl registered"):
        sin(torch.ones(2, device="meta"))
    sin.register_fake(lambda x: torch.empty_like(x))
    assert sin(torch.ones(2, device="meta")).shape == (2,)
    sin.register_autograd(
        lambda ctx, g: g * ctx.saved_tensors[0].cos(),
        setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs),
    )
    sin(x).sum().backward()
    assert torch.allclose(x.grad, torch.ones(2).cos())
    samples = torch.randn(3, 2)
    assert torch.allclose(torch.vmap(sin)(samples), samples.sin())
    sin.register_vmap(lambda info, in_dims, x: (sin(x) * 2, in_dims[0]))
    assert torch.allclose(torch.vmap(sin)(samples), samples.sin() * 2)
    assert set(library.opcheck(sin, (torch.randn(3, requires_grad=True),)).values()) == {"SUCCESS"}


def test_operators_that_write_and_alias():
    from pellucid.aten.overload import undefine

    @library.custom_op("tests::add_one_", mutates_args={"x"})
    def add_one(x: Tensor) -> None:
        x.add_(1)

    z = torch.ones(2)
    before = z._version
    add_one(z)
    assert z.tolist() == [2, 2] and z._version > before
    with pytest.raises(
        RuntimeError, match="Cannot register autograd formula for non-functional operator"
    ):
        add_one.register_autograd(lambda ctx, g: g)
    undefine("tests", "add_one_")

    @library.custom_op("tests::same", mutates_args=())
    def same(x: Tensor) -> Tensor:
        return x

    with pytest.raises(RuntimeError, match="must not also be an input"):
        same(torch.ones(1))
    undefine("tests", "same")


def test_libraries():
    with library._scoped_library("tests3", "DEF") as lib:
        assert lib.define("bar(Tensor x, int n) -> Tensor") == "bar"
        lib.impl("bar", lambda x, n: x * n, "CompositeImplicitAutograd")
        x = torch.ones(1, requires_grad=True)
        torch.ops.tests3.bar(x, 3).backward()
        assert x.grad.item() == 3
        with pytest.raises(RuntimeError, match="Only a single TORCH_LIBRARY"):
            library.Library("tests3", "DEF")
        library.define("tests3::foo", "(Tensor x) -> Tensor", lib=lib)
        with pytest.raises(NotImplementedError, match="Could not run 'tests3::foo'"):
            torch.ops.tests3.foo(x)

        @library.impl("tests3::foo", "cpu")
        def _(x):
            return x + 1

        assert torch.ops.tests3.foo(torch.ones(1)).item() == 2
    assert not hasattr(torch.ops.tests3, "bar")
    with pytest.raises(ValueError, match="Unsupported kind: X"):
        library.Library("a", "X")
    with pytest.raises(RuntimeError, match="operator tests::nope does not exist"):
        library.register_autograd("tests::nope", lambda x: x)
    library.register_fake("tests4::later", lambda x: x.new_empty(3))
    with library._scoped_library("tests4", "FRAGMENT") as lib:
        lib.define("later(Tensor x) -> Tensor")
        assert torch.ops.tests4.later(torch.ones(2, device="meta")).shape == (3,)
    with pytest.raises(NotImplementedError, match="Triton"):
        library.wrap_triton(len)


def test_modes_and_subclasses_are_asked_about_custom_operators():
    class Mode(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append(("mode", str(func)))
            return func(*args, **(kwargs or {}))

    class Sub(torch.Tensor):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            seen.append(("type", str(func)))
            return torch.zeros(3)

    def rule(handler, func, types, args, kwargs):
        seen.append(("rule", type(handler).__name__))
        return torch.zeros(2)

    @library.custom_op("asked::double", mutates_args=())
    def double(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    seen, x = [], torch.ones(1)
    with Mode():
        assert double(x).tolist() == [2.0]
    assert double(torch.ones(2).as_subclass(Sub)).tolist() == [0.0] * 3
    assert seen == [("mode", "asked.double.default"), ("type", "asked.double.default")]
    seen.clear()
    library.register_torch_dispatch("asked::double", Mode, rule)
    library.register_torch_dispatch("asked::double", Sub, rule)
    with Mode():
        assert double(x).tolist() == [0.0] * 2
    with type("Other", (Mode,), {})():  # a rule is for exactly its class
        assert double(x).tolist() == [2.0]
    assert double(torch.ones(2).as_subclass(Sub)).tolist() == [0.0] * 2
    assert seen == [
        ("rule", "Mode"),
        ("mode", "asked.double.default"),
        ("rule", type(Sub).__name__),
    ]


def test_a_fallthrough_kernel_leaves_the_call_to_the_next_key():
    with library._scoped_library("falls", "DEF") as lib:
        lib.define("twice(Tensor x) -> Tensor")
        lib.impl("twice", lambda x: x * 2, "CompositeExplicitAutograd")
        lib.impl("twice", library.fallthrough_kernel, "AutogradCPU")
        assert torch.ops.falls.twice(torch.ones(1)).tolist() == [2.0]
