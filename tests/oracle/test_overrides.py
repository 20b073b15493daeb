"""`__torch_function__`: subclasses and modes are asked as PyTorch asks them."""

import collections
import copy
import warnings

import numpy as np
import pytest

import pellucid
import pellucid.overrides

torch = pytest.importorskip("torch")


def name_of(func):
    return getattr(func, "__name__", "?")


def logged(m):
    log = []

    class Logging(m.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            log.append((name_of(func), len(types)))
            return super().__torch_function__(func, types, args, kwargs)

    x = m.tensor([1.0, 2.0, 3.0]).as_subclass(Logging)
    log.clear()
    results = [
        m.add(x, 1),
        x.exp(),
        x + x,
        2 * x,
        m.cat([x, x]),
        x.sum(),
        m.stack([m.ones(3), x]),
        x[0],
        x.max(0)[0],
        m.nn.functional.relu(x),
        m.mul(m.ones(3), x),
        -x,
        x > 1,
    ]
    shape = tuple(x.shape)
    return (
        [type(r).__name__ for r in results],
        [np.round(np.asarray(r.tolist(), float), 4).tolist() for r in results],
        shape,
        [n for n, _ in log],
    )


def test_logging_subclass():
    theirs, ours = logged(torch), logged(pellucid)
    assert ours[:3] == theirs[:3]
    for name in ("add", "exp", "cat", "sum", "stack", "relu", "mul", "__get__"):
        assert name in ours[3]
        assert name in theirs[3]


def taken_over(m):
    handled = {}

    class Scalar(m.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            if func in handled:
                return handled[func](*args, **(kwargs or {}))
            return NotImplemented

    handled[m.mean] = lambda x: "mean"
    handled[m.Tensor.sin] = lambda x: "sin"
    x = m.ones(2).as_subclass(Scalar)
    messages = []
    for call in (lambda: m.exp(x), lambda: x.cos()):
        with pytest.raises(TypeError) as info:
            call()
        messages.append("NotImplemented" in str(info.value))
    return m.mean(x), x.sin(), messages


def test_functions_are_found_by_identity_and_refused_when_nobody_answers():
    assert taken_over(pellucid) == taken_over(torch)


def with_modes(m):
    log = []

    class Mode(m.overrides.TorchFunctionMode):
        def __init__(self, tag):
            self.tag = tag

        def __torch_function__(self, func, types, args=(), kwargs=None):
            log.append((self.tag, name_of(func)))
            return func(*args, **(kwargs or {}))

    x = m.ones(2)
    with Mode("a"), Mode("b"):
        y = m.add(x, 1)
        z = y.exp()
        w = m.zeros(2)
    m.add(x, 1)
    return log, np.round(z.tolist(), 4).tolist(), w.tolist()


def test_modes():
    assert with_modes(pellucid) == with_modes(torch)


def test_a_mode_changes_results_and_disabling_stops_it():
    class Twice(pellucid.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            result = func(*args, **(kwargs or {}))
            return result * 2 if func == pellucid.ones else result

    with Twice():
        assert pellucid.ones(2).tolist() == [2.0, 2.0]
        with pellucid.DisableTorchFunction():
            assert pellucid.ones(2).tolist() == [1.0, 1.0]
    assert pellucid.ones(2).tolist() == [1.0, 1.0]
    assert not hasattr(pellucid.Tensor.exp, "__wrapped_method__")


def test_helpers():
    overrides = pellucid.overrides

    class Mine(pellucid.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return "taken"

    x = pellucid.ones(1).as_subclass(Mine)
    assert overrides.has_torch_function((x,))
    assert not overrides.has_torch_function((pellucid.ones(1),))
    with pellucid.DisableTorchFunctionSubclass():
        assert not overrides.has_torch_function((x,))

    @overrides.wrap_torch_function(lambda a: (a,))
    def f(a):
        return "ran"

    assert f(x) == "taken"
    assert f(pellucid.ones(1)) == "ran"
    assert overrides.is_tensor_like(x)
    assert (
        overrides.resolve_name(pellucid.Tensor.add) == "torch.Tensor.add"
        or overrides.resolve_name(pellucid.add) == "torch.add"
    )


def gradients(m):
    """What handlers see of `autograd.grad` and `autograd.backward`, and what those give back."""
    seen = []

    class Asked:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            kinds = (
                [type(v).__name__ for v in args],
                {k: type(v).__name__ for k, v in kwargs.items()},
            )
            seen.append((name_of(func), [t.__name__ for t in types], kinds))
            return ("answer",)

    class Mode(m.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append((name_of(func), [t.__name__ for t in types]))
            return func(*args, **(kwargs or {}))

    class Kept(m.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            seen.append((name_of(func), [t.__name__ for t in types]))
            return super().__torch_function__(func, types, args, kwargs)

    x, thing = m.ones(2, requires_grad=True), Asked()
    results = [
        m.autograd.grad(thing, x),
        m.autograd.grad([thing], {"x": x}, materialize_grads=True),
        m.autograd.grad((2 * x).sum(), [x, thing], retain_graph=True),
        m.autograd.backward(thing),
        m.autograd.backward([(2 * x).sum(), thing], inputs=[x]),
    ]
    with Mode():
        results.append(m.autograd.grad((x * 2).sum(), x)[0].tolist())
        m.autograd.backward((x * 2).sum(), inputs={"x": x})
    kept = m.ones(2).as_subclass(Kept).requires_grad_()
    total = (kept * 3).sum()
    results.append(type(m.autograd.grad(total, kept, retain_graph=True)[0]).__name__)
    m.autograd.backward(total)
    results += [x.grad.tolist(), kept.grad.tolist()]
    return results, seen


def test_autograd_asks_outputs_and_inputs():
    assert gradients(pellucid) == gradients(torch)


@pytest.mark.parametrize("given", [{}, collections.UserDict(a=1)])
def test_inputs_in_a_mapping(given):
    def found(m):
        texts = []
        for call in (
            lambda y: m.autograd.grad(y, given),
            lambda y: m.autograd.backward(y, inputs=given),
            lambda y: y.backward(inputs=given),
        ):
            with pytest.raises((TypeError, RuntimeError)) as error:
                call(m.ones(1, requires_grad=True).sum())
            texts.append(str(error.value).partition("\n")[0])
        return texts

    assert found(pellucid) == found(torch)


def test_gradients_for_a_dict():
    def found(m):
        x, y = m.ones(2, requires_grad=True), m.ones(1, requires_grad=True)
        some = m.autograd.grad((x * 2).sum(), {"x": x, "y": y}, allow_unused=True)
        whole = m.autograd.grad((x * 2).sum(), {"x": x, "y": y}, materialize_grads=True)
        (x * 3).sum().backward(inputs={"x": x})
        return [
            {k: v if v is None else v.tolist() for k, v in made.items()} for made in (some, whole)
        ], x.grad.tolist()

    assert found(pellucid) == found(torch)


def declined(m):
    """What is said where a mode, or a class that is asked as a plain method, leaves a call to
    others.
    """
    said = []

    class Nobody(m.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            return NotImplemented

        def __repr__(self):
            return "nobody"

    class Other:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return NotImplemented

    class Plain:
        def __torch_function__(self, func, types, args=(), kwargs=None):
            return func.__name__, len(types)

    def public(x):
        if m.overrides.has_torch_function((x,)):
            return m.overrides.handle_torch_function(public, (x,), x)
        return x

    def tell(f, *args):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                said.append(f(*args))
            except TypeError as error:
                said.append(str(error).replace("pellucid", "torch"))
        said.extend(str(w.message) for w in caught if w.category is DeprecationWarning)

    F, x = m.nn.functional, m.ones(2)
    tell(public, Other())
    tell(public, Plain())
    tell(F.dropout, Plain())
    with Nobody():
        for f in (m.exp, F.dropout, F.softmax, public):
            for value in (x, Other()):
                tell(f, value)
        tell(m.zeros, 2)
        with m._C.DisableTorchFunction():
            tell(lambda: m.exp(x).shape)
    return said


def test_modes_that_decline():
    assert declined(pellucid) == declined(torch)


def subclass(root, seen):
    class Logged(root.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            seen.append(getattr(func, "__name__", str(func)))
            return super().__torch_function__(func, types, args, kwargs or {})

    return root.arange(6.0).reshape(2, 3).as_subclass(Logged)


def kinds(value):
    if isinstance(value, (list, tuple)):
        return [kinds(part) for part in value]
    return type(value).__name__


@pytest.mark.parametrize(
    "use",
    [
        list,
        lambda x: [a for a, _ in zip(x, x, strict=True)],
        lambda x: list(reversed(x)),
        sum,
        lambda x: max(x[0]),
        lambda x: x.unbind(),
    ],
)
def test_parts_of_a_subclass_have_its_class(use):
    found = []
    for root in (torch, pellucid):
        seen = []
        found.append((kinds(use(subclass(root, seen))), seen))
    assert found[0] == found[1]


@pytest.mark.filterwarnings("ignore:To copy construct")
def test_constructors_do_not_ask_the_class_of_their_data():
    for root in (torch, pellucid):
        seen = []
        x = subclass(root, seen)
        seen.clear()
        assert type(root.tensor(x)) is root.Tensor and type(root.as_tensor(x)) is type(x)
        assert "tensor" not in seen and "as_tensor" not in seen


def test_objects_that_are_no_tensors_take_over():
    def told(root):
        calls = []

        class Other:
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                calls.append((func.__name__, [kind.__name__ for kind in types], len(args)))
                return -1

        x, other = root.arange(5), Other()
        x[0] = other
        x[other] = 1
        calls.append(x.tolist())
        calls.append(root.distributions.utils.broadcast_all(1.0, other))
        for value in (3, object()):
            with pytest.raises(TypeError) as refused:
                root.overrides.has_torch_function(value)
            calls.append(str(refused.value))
        return calls

    assert told(pellucid) == told(torch)


def test_functions_of_subclasses_are_on_again_inside():
    def run(m):
        class Kind(m.Tensor):
            pass

        class Duck:
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                return -1

        x, plain, c = m.ones(2).as_subclass(Kind), m.ones(2), m._C
        values = ((plain, 1), (x,), [plain, x], (Duck(),), (m.nn.Parameter(plain),))

        def state():
            return (
                type(x + 1).__name__,
                c._is_torch_function_enabled(),
                c._is_torch_function_all_disabled(),
                [c._has_torch_function(v) for v in values],
                c._has_torch_function_unary(x),
                m.overrides.has_torch_function_variadic(plain, x),
            )

        seen = [state()]
        for off in (c.DisableTorchFunctionSubclass, c.DisableTorchFunction):
            with off():
                seen.append(state())
                with c._EnableTorchFunction():
                    seen.append(state())
                seen.append(state())
        return seen

    assert run(pellucid) == run(torch)


def test_functions_hand_over_to_subclasses_that_inherit():
    def run(m):
        class Kind(m.Tensor):
            pass

        def twice(x):
            if m.overrides.has_torch_function_unary(x):
                return m.overrides.handle_torch_function(twice, (x,), x)
            return m.Tensor.mul(x, 2)

        return type(twice(m.ones(2).as_subclass(Kind))).__name__, type(twice(m.ones(2))).__name__

    assert run(pellucid) == run(torch)


@pytest.mark.parametrize("requires_grad", [False, True])
@pytest.mark.parametrize("kind", ["plain", "new_empty", "disabled", "parameter", "with extra"])
def test_deep_copies_of_subclasses(kind, requires_grad):
    def run(m):
        class Plain(m.Tensor):
            pass

        class WithNew(m.Tensor):
            def new_empty(self, *args, **kwargs):
                return m.empty(*args).as_subclass(WithNew)

        class Disabled(m.Tensor):
            __torch_function__ = m._C._disabled_torch_function_impl

        class Own(m.nn.Parameter):
            pass

        class Extra(m.nn.Parameter):
            def __new__(cls, data, requires_grad=True, extra=5):
                made = m.Tensor._make_subclass(cls, data, requires_grad)
                made.extra = extra
                return made

        cls = {
            "plain": Plain,
            "new_empty": WithNew,
            "disabled": Disabled,
            "parameter": Own,
            "with extra": Extra,
        }[kind]
        if issubclass(cls, m.nn.Parameter):
            x = cls(m.ones(2), requires_grad)
        else:
            x = m.ones(2).as_subclass(cls).requires_grad_(requires_grad)
        x.tag = [1]
        try:
            made, again = copy.deepcopy([x, x])
        except RuntimeError as error:
            return str(error)
        assert made is again and made is not x
        return type(made).__name__, vars(made), made.requires_grad, made.tolist()

    assert run(pellucid) == run(torch)


def test_deep_copies_of_parameters_have_no_attributes():
    def run(m):
        x = m.nn.Parameter(m.ones(2))
        x.tag = [1]
        return type(copy.deepcopy(x)).__name__, vars(copy.deepcopy(x))

    assert run(pellucid) == run(torch)


def test_what_can_be_taken_over_are_functions():
    names = (
        "add abs_ as_tensor e FloatTensor float32 OutOfMemoryError _assert stack sparse_coo".split()
    )

    def run(m):
        table = m.overrides.get_overridable_functions()
        flat = {f for functions in table.values() for f in functions}
        return [name for name in names if callable(getattr(m, name)) and getattr(m, name) in flat]

    assert run(pellucid) == run(torch) == ["add", "stack"]
