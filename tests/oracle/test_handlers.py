"""What handlers of `__torch_function__` get first, by a call of each public function and method and
by Python's operators: the function, its name, the types and the arguments.
"""

import json
import operator
import runpy
import warnings
from pathlib import Path

import pytest

import pellucid
import pellucid.overrides

torch = pytest.importorskip("torch")
HERE = Path(__file__).parent
FLOOR = json.loads((HERE / "overloads.json").read_text())["handlers"]
PART = 4  # each 4th overload is called

BINARY = "add sub mul truediv floordiv mod pow eq ne lt le gt ge".split()
OF_WHOLE = "and_ or_ xor lshift rshift".split()
IN_PLACE = [f"i{name.rstrip('_')}" for name in (*BINARY[:7], *OF_WHOLE)]


def place(func, library):
    """Where a library has a function, under its own name."""
    name = getattr(func, "__name__", "")
    spaces = {"Tensor": library.Tensor, "nn.functional": library.nn.functional, "torch": library}
    return next((s for s, scope in spaces.items() if getattr(scope, name, None) == func), "")


def shown(value, library):
    if isinstance(value, library.Tensor):
        return f"<{type(value).__name__}>"
    if isinstance(value, (list, tuple)):
        return f"{type(value).__name__}({', '.join(shown(v, library) for v in value)})"
    if isinstance(value, library.Generator):
        return "a generator"
    return str(value).replace("pellucid.", "torch.")


def first(library, mode, make, run):
    """What a handler gets first while `run(make(wrap))` runs, where `wrap` makes tensors of a
    subclass unless a mode listens.
    """
    log = []

    def note(func, types, args, kwargs):
        log.append(
            (
                place(func, library),
                getattr(func, "__name__", ""),
                [kind.__name__ for kind in types],
                shown(args, library),
                kwargs and {k: shown(v, library) for k, v in kwargs.items()},
                kwargs is None,
            )
        )

    class Logging(library.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            note(func, types, args, kwargs)
            with library._C.DisableTorchFunctionSubclass():
                return func(*args, **(kwargs or {}))

    class Mode(library.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            note(func, types, args, kwargs)
            return func(*args, **(kwargs or {}))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        given = make((lambda t: t) if mode else lambda t: t.as_subclass(Logging))
        try:
            if mode:
                with Mode():
                    run(given)
            else:
                run(given)
        except Exception as error:
            log.append(type(error).__name__)
    return log[:1]


def wrapped(value, library, wrap):
    if isinstance(value, library.Tensor):
        return wrap(value)
    return (
        type(value)(wrapped(v, library, wrap) for v in value) if isinstance(value, list) else value
    )


def of_call(module, call, library, mode):
    def make(wrap):
        args, kwargs = (
            module["built"](v, library) for v in (call.args, list(call.kwargs.values()))
        )
        return wrapped(args, library, wrap), dict(zip(call.kwargs, wrapped(kwargs, library, wrap)))

    def run(given):
        args, kwargs = given
        if call.path.startswith("Tensor."):
            function, args = getattr(args[0], call.path.removeprefix("Tensor.")), args[1:]
        else:
            function = module["resolved"](call.path, library)
        # a call with an empty `**kwargs` is another for functions written in C
        return function(*args, **kwargs) if kwargs else function(*args)

    return first(library, mode, make, run)


def compared(part):
    module = runpy.run_path(str(HERE / "overloads.py"))
    counts, found = [0, 0], []
    for number, (path, schema, _) in enumerate(module["schemas"]()):
        if number % part or path.partition(".")[0] in module["PREFIXED"]:  # see `Tensor.__name__`
            continue
        base = module["base_call"](path, schema)
        if base is None or ".layout" in base[1]:  # a sparse tensor has no subclass
            continue
        for mode in (True, False):
            theirs, ours = (of_call(module, base[0], m, mode) for m in (torch, pellucid))
            counts[0] += 1
            counts[1] += theirs == ours
            if theirs != ours:
                found.append((path, mode, theirs, ours))
    return counts, found


def test_counts_do_not_fall():
    counts, found = compared(PART)
    assert counts[0] >= FLOOR["calls"]
    assert counts[1] >= FLOOR["equal"], "\n".join(map(str, found[:20]))


OF_ONE = ("neg", "pos", "abs", "invert")


@pytest.mark.parametrize("mode", [True, False])
@pytest.mark.parametrize("name", [*BINARY, *OF_WHOLE, *IN_PLACE, "matmul", *OF_ONE])
def test_operators(name, mode):
    whole = any(word in name for word in ("and", "or", "shift", "invert"))

    def outcomes(library):
        op = getattr(operator, name)
        runs = [
            lambda p: op(*p),
            lambda p: op(*p[::-1]),
            lambda p: op(p[0], p[0]),
            lambda p: op(p[0], 2),
            lambda p: op(2, p[0]),
        ]
        runs = runs[: 3 if name == "matmul" else 4 if name in IN_PLACE else 5]
        if name in OF_ONE:
            runs = [lambda p: op(p[0])]

        def make(wrap):
            data = library.tensor([[1, 2, 2], [2, 1, 1], [1, 1, 2]])
            data = data if whole else data.float()
            return wrap(data.clone()), data

        return [first(library, mode, make, run) for run in runs]

    assert outcomes(pellucid) == outcomes(torch)


@pytest.mark.parametrize("call", ["add", "add_", "matmul", "eq", "copy_", "lerp", "index_put_"])
def test_methods_of_plain_tensors_ask_other_arguments(call):
    def make(library):
        def made(wrap):
            plain, other = library.ones(3, 3), wrap(library.ones(3, 3))
            at = (library.tensor([0, 1]), library.tensor([0, 1]))
            given = {"lerp": (other, 0.5), "index_put_": (at, other.sum())}.get(call, (other,))
            return plain, given

        return made

    theirs, ours = (
        first(m, False, make(m), lambda p: getattr(p[0], call)(*p[1])) for m in (torch, pellucid)
    )
    assert theirs
    assert ours == theirs


def test_results_are_plain_while_functions_of_subclasses_are_off():
    def outcome(m):
        class Kind(m.Tensor):
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                return super().__torch_function__(func, types, args, kwargs or {})

        x = m.ones(2, requires_grad=True).as_subclass(Kind)
        with m._C.DisableTorchFunctionSubclass():
            made = x + 1, x[0], x.exp(), x.view(2, 1), x.sum()
        return [type(t).__name__ for t in made], repr((x * 2).sum())

    assert outcome(pellucid) == outcome(torch)


@pytest.mark.parametrize("name", ["conv1d", "conv2d", "prelu", "pixel_shuffle", "relu_", "pdist"])
def test_functions_that_are_the_same_in_two_namespaces(name):
    for m in (torch, pellucid):
        assert getattr(m, name) is getattr(m.nn.functional, name)
