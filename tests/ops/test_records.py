"""A fact about an operation stands in its record: no table elsewhere has the operations' names for
keys.
"""

import ast
import importlib
import json
import pkgutil
import re
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

import pellucid
from pellucid.core.primitive import PRIMITIVES

# Modules in which names of operations stand side by side, and why. The list must not grow.
#
# Public names: of PyTorch, of other standards, of functions that a program calls. Many are operations
# by the same name.
OF_FUNCTIONS = {
    "_foreach": "torch._foreach_NAME, of which there are these",
    "api.array_api": "functions of the array API standard that torch has by the same name",
    "api.origins": "Python's operators, and the module that PyTorch says a function is from",
    "api.overriding": "Python's operators",
    "aten": "operators of aten that are written in place, or take numbers",
    "check": "functions that a program under check calls: what a rule looks for",
    "compiler.trace.numbers": "Python's operators",
    "export.pt2": "Python's operators",
    "fx": "Python's operators, and how they are printed",
    "jit": "functions of Python's math and operator modules",
    "masked": "functions that PyTorch's MaskedTensor takes, as its documentation lists them",
    "onnx.runtime.rnn": "ONNX's names of activations",
    "sparse._products": "words that `reduce` takes",
}
# Native code of heavy operations and of array functions in compiled programs, which each family
# declares beside its kernels.
OF_OPERATIONS = {
    "arrays.native": "array functions for which NumPy is always slower than the kernel",
    "compiler.lower": "copies, random draws, and all families joined",
    "kernels": "lowerings by family, and native code by name",
}
# Words that operations share names with.
OF_OTHER_THINGS = {
    "core.streams.math": "functions of the vector units",
    "distributed.functional": "names of collectives",
    "ir.formula": "the functions of formulas",
    "llvm": "functions of the C library and of the processor",
    "nn._reduction": "words that a loss's `reduction` takes",
    "ops.index": "words that `reduce` takes",
    "ops.pointwise.special.polynomials": "the records of one family, which are made from it",
    "ops.reduce.segments": "words that `reduce` takes",
    "ops.reduce.select": "types of results, by public name",
}
WORDS = {
    "saturates",
    "steps",
    "masks",
    "recentres",
    "passes",
    "overwrites",
    "diagonal",
    "multiplies",
    "copies",
    "chooses",
    "steps_of_cells",
}


def loaded():
    """All modules of the package, by their names in it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for found in pkgutil.walk_packages(pellucid.__path__, "pellucid."):
            if not found.name.endswith("__main__"):
                try:
                    importlib.import_module(found.name)
                except ModuleNotFoundError as error:
                    if error.name != "sympy":  # which only some environments have
                        raise
    return {
        name.removeprefix("pellucid."): module
        for name, module in sys.modules.items()
        if name.startswith("pellucid.")
    }


def words_of(node):
    """The words of a literal that is a table or a list of words: {"a": 1}, {"a"}, ("a", "b"),
    "a b".split(), dict(a=1); None for anything else.
    """
    match node:
        case ast.Dict(keys=words) if None not in words:
            pass
        case ast.Set(elts=words) | ast.Tuple(elts=words) | ast.List(elts=words):
            pass
        case ast.Call(func=ast.Attribute(attr="split", value=ast.Constant(value=str(text)))):
            return text.split()
        case ast.Call(func=ast.Name(id="dict"), keywords=words) if words:
            return [word.arg or "" for word in words]
        case _:
            return None
    if all(isinstance(word, ast.Constant) and isinstance(word.value, str) for word in words):
        return [word.value for word in words]
    return None


def written(tree):
    """The line and the words of each literal with four words or more most of which are operations;
    `__all__` is none.
    """
    exports = None
    for node in ast.walk(tree):  # from the outside in
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
            exports = node.value
        words = None if node is exports else words_of(node)
        if words and len(words) >= 4 and 2 * sum(w in PRIMITIVES for w in words) > len(words):
            yield node.lineno, words


def may_have_tables(text):
    """Whether a file has enough names of operations in quotes for `written` to find something."""
    quoted = [part for part in text.split('"') if re.fullmatch(r"[\w\s]+", part)]
    return len(PRIMITIVES.keys() & " ".join(quoted).split()) > 2


def keyed_by_operation(modules):
    """(module, name, keys) of the dicts and sets of words most of which are operations, each table
    once, where it was made.
    """
    seen = {id(PRIMITIVES)}
    for name, module in sorted(modules.items(), key=lambda item: (-item[0].count("."), item[0])):
        for word, value in vars(module).items():
            if not isinstance(value, (dict, set, frozenset)) or id(value) in seen or len(value) < 3:
                continue
            words = [key for key in value if isinstance(key, str)]
            if len(words) == len(value) and sum(key in PRIMITIVES for key in words) >= 0.6 * len(
                words
            ):
                seen.add(id(value))
                yield name, word, set(words)


@pytest.fixture(scope="module")
def tables():
    """What `keyed_by_operation` finds in a process that has only imported: caches that other tests
    have filled are no tables.
    """
    code = f"import json, runpy; m = runpy.run_path({__file__!r}); print(json.dumps([(n, w, sorted(k)) for n, w, k in m['keyed_by_operation'](m['loaded']())]))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return [
        (name, word, set(keys)) for name, word, keys in json.loads(done.stdout.splitlines()[-1])
    ]


def belongs(name, groups):
    return any(name == group or name.startswith(group + ".") for group in groups)


def test_no_table_elsewhere_is_keyed_by_operations(tables):
    """Neither in the source, where inside a function it may be, nor made as the package is loaded."""
    known = {*OF_FUNCTIONS, *OF_OPERATIONS, *OF_OTHER_THINGS}
    needed = {group for group in known for name, _, _ in tables if belongs(name, [group])}
    found = [f"{name}.{word}" for name, word, _ in tables if not belongs(name, known)]
    root = Path(pellucid.__file__).parent
    for path in sorted(root.rglob("*.py")):
        name = ".".join(path.relative_to(root).with_suffix("").parts)
        text = path.read_text(encoding="utf-8")
        if belongs(name, needed) or not may_have_tables(text):
            continue
        for line, words in written(ast.parse(text)):
            if belongs(name, known):
                needed |= {group for group in known if belongs(name, [group])}
            else:
                found.append(f"{name}, line {line}: {words}")
    assert found == []
    assert known - needed == set()


def test_no_table_names_an_unknown_operation(tables):
    unknown = {  # of what compiler.lower.table joins, some are functions that a program repeats
        f"{name}.{word}": missing
        for name, word, keys in tables
        if belongs(name, OF_OPERATIONS) and name != "compiler.lower.table"
        if word in ("LOWERINGS", "HANDED", "_FORMULAS", "_REDUCTIONS", "_DOMAIN", "_KERNELS")
        if (
            missing := {
                k
                for k in keys - set(PRIMITIVES)
                if not k.startswith("_") and not k.endswith(("_vjp", "_backward"))
            }
        )
    }
    assert unknown == {}


def test_a_table_by_operation_is_found():
    class Toy:
        pass

    Toy.table = {"sin": 1, "cos": 2, "exp": 3, "nothing": 4}
    assert [found[1:] for found in keyed_by_operation({"toy": Toy})] == [
        ("table", {"sin", "cos", "exp", "nothing"})
    ]


def test_a_written_table_is_found():
    text = """
__all__ = ["sin", "cos", "exp", "log"]
def f(name):
    if name in ("sin", "cos", "exp", "of", "these"):
        return {"sin": 1, "cos": 2, "exp": 3, "log": 4}[name]
    return name in "sin cos exp log".split() or name in {"sin", "cos", "exp", "log"}
few, others = ("sin", "cos", "exp"), ("sin", "of", "other", "words")
g = dict(sin=1, cos=2, exp=3, log=4)
"""
    assert may_have_tables(text)
    assert sorted(line for line, _ in written(ast.parse(text))) == [4, 5, 6, 6, 8]


# Records that no sample can try, and why.
WITHOUT_SAMPLES = {
    "copy_slices replaced unpacked without_derivative": "steps of the graph around writes and hooks, which are no functions of arrays",
    "sample refill standard_gamma sample_dirichlet": "the values are drawn before the operation",
    "standard_gamma_grad dirichlet_grad": "their own derivative is refused",
    "fake_quantize": "a staircase, whose gradient is that of its slope",
    "full move": "no argument, and another device",
    "view_dtype": "the same bits in another type have no derivative",
    "cholesky cholesky_solve eigh": "one triangle is read, and the gradient is given for both, as PyTorch gives it",
    "eig": "eigenvectors have a phase that LAPACK chooses",
    "lstsq": "the residuals have no derivative here",
    "ctc_loss ctc_grad": "the gradient takes it that the input was normalised, as PyTorch's does",
    "resample_axis_bytes": "bytes in, bytes out: no derivative",
    "embedding_sparse": "the gradient is a sparse tensor",
    "grid_image_grad grid_positions_grad": "a second derivative goes by other operations",
}


def test_every_record_has_samples():
    excused = {name for names in WITHOUT_SAMPLES for name in names.split()}
    assert {op.name for op in PRIMITIVES.values() if op.samples is None} == excused


def test_fields_speak_the_words_that_are_described():
    from pellucid.core.transforms.batching import WAYS

    for op in PRIMITIVES.values():
        assert op.traits <= WORDS, op
        assert op.batch is None or callable(op.batch) or op.batch in WAYS, op
        assert op.onnx is None or callable(op.onnx) or op.onnx[0].isupper(), op
        assert op.autocast in (None, "lower", "float32", "promote"), op
        assert op.jvp is None or callable(op.jvp) or op.jvp in ("linear", "elementwise"), op
        assert op.title, op
