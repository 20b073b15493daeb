"""A fact about an operation stands in its record: no table elsewhere has the operations' names for
keys.
"""

import importlib
import json
import pkgutil
import subprocess
import sys
import warnings

import pytest

import pellucid
from pellucid.core.primitive import PRIMITIVES

# Packages whose tables name functions that a program calls, or operators of `torch.ops.aten`. Many
# are operations by the same name.
OF_FUNCTIONS = (
    "api.array_api",
    "check",
    "masked",
    "nested",
    "quantized",
    "sharded",
    "sparse",
)

# What is still kept by operation outside of the records: the native code of heavy operations and of
# array functions in compiled programs, which each family declares beside its kernels. The list must
# not grow.
OF_OPERATIONS = {
    "compiler.lower": "copies, random draws, and all families joined",
    "kernels": "lowerings by family, and native code by name",
}
# Tables whose keys are other things than operations, and share names with some.
OF_OTHER_THINGS = {
    "core.streams.math": "functions of the vector units",
    "distributed.functional": "names of collectives",
    "ir.formula": "the functions of formulas",
    "llvm.math": "functions of the processor",
    "llvm.math64": "the same for doubles",
    "nn._reduction": "words that a loss's `reduction` takes",
    "ops.index.scatter": "NumPy's functions, by the words that `reduce` takes",
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
}


def loaded():
    """All modules of the package, by their names in it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for found in pkgutil.walk_packages(pellucid.__path__, "pellucid."):
            if not found.name.endswith("__main__"):
                importlib.import_module(found.name)
    return {
        name.removeprefix("pellucid."): module
        for name, module in sys.modules.items()
        if name.startswith("pellucid.")
    }


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
    known = {*OF_FUNCTIONS, *OF_OPERATIONS, *OF_OTHER_THINGS}
    found = tables
    assert [f"{name}.{word}" for name, word, _ in found if not belongs(name, known)] == []
    unneeded = {group for group in known if not any(belongs(name, [group]) for name, _, _ in found)}
    assert unneeded == set()


def test_no_table_names_an_unknown_operation(tables):
    unknown = {  # of what compiler.lower.table joins, some are functions that a program repeats
        f"{name}.{word}": missing
        for name, word, keys in tables
        if belongs(name, OF_OPERATIONS) and name != "compiler.lower.table"
        if word in ("LOWERINGS", "HANDED", "_FORMULAS", "_REDUCTIONS", "_DOMAIN")
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
