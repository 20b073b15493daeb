import pickle

import pytest

from pellucid import config, errors
from pellucid.errors import Operand, PellucidError, ShapeError

BUILTINS = {
    "ShapeError": RuntimeError, "ShapeValueError": ValueError, "DtypeError": RuntimeError, "DeviceError": RuntimeError,
    "GraphError": RuntimeError, "OperationError": RuntimeError, "CompileError": RuntimeError, "DimensionError": IndexError,
    "IndexOutOfRangeError": IndexError, "ArgumentTypeError": TypeError, "ArgumentValueError": ValueError,
    "UnsupportedError": NotImplementedError, "MissingAttributeError": AttributeError, "MissingKeyError": KeyError,
    "OutOfMemoryError": RuntimeError, "LinAlgError": RuntimeError, "ContractError": AssertionError,
}  # fmt: skip


def test_each_class_is_also_a_builtin():
    classes = {c.__name__: c for c in vars(errors).values() if isinstance(c, type) and issubclass(c, PellucidError)}
    del classes["PellucidError"]
    assert {name: BUILTINS[name] for name in classes} == BUILTINS
    for name, cls in classes.items():
        with pytest.raises(BUILTINS[name], match="^sentence$"):
            raise cls("sentence")


def full() -> ShapeError:
    return ShapeError(
        "sizes differ",
        op="sub",
        source="train.py:31",
        dims=(-2,),
        expected="equal shapes",
        found="two shapes",
        notes=("a note",),
        hint="transpose",
        operands=(
            Operand("pred", (128, 10), "torch.float32", "linear", "model.py:12"),
            Operand("target", (7, 32, 1), "torch.int64"),
            Operand("alpha"),
        ),
    )


def test_layout():
    assert str(full()) == (
        "sizes differ\n"
        "  in sub at train.py:31\n"
        "  expected  equal shapes\n"
        "  found     two shapes\n"
        "  pred    float32     [128, 10]  made by linear at model.py:12\n"
        "  target  int64    [7,  32,  1]\n"
        "  alpha\n"
        "                       ^^^\n"
        "  a note\n"
        "  hint: transpose"
    )


def test_a_bare_error_is_its_sentence():
    assert str(ShapeError("x")) == "x"
    assert str(errors.MissingKeyError("no such name")) == "no such name"
    assert str(ShapeError()) == ""


def test_facts_given_first_stay_and_notes_gather():
    error = ShapeError("x", hint="first", notes=("a",))
    assert error.add(hint="second", op="mul", notes=("b",)) is error
    assert (error.hint, error.op, error.notes) == ("first", "mul", ("a", "b"))
    assert ShapeError("y").notes == ()


def test_scalars_have_empty_brackets():
    assert errors.aligned_operands([Operand("a", ()), Operand("b", (3,))]) == ["  a   []", "  b  [3]"]


class Line:
    def __str__(self) -> str:
        return "train.py:3"


def test_pickling_keeps_the_text():
    error = full().add(notes=("more",))
    local = ShapeError("x", source=Line(), operands=[Operand("a", [1], float, None, Line())])
    for each in (error, local):
        again = pickle.loads(pickle.dumps(each))
        assert type(again) is ShapeError
        assert str(again) == str(each)


def test_environment_variables():
    values = config.read_environment(
        {"PELLUCID_KERNELS": "0", "PELLUCID_NUM_THREADS": "3", "PELLUCID_CACHE_DIR": "here", "PELLUCID_SOURCES": "off"}
    )
    assert values["kernels"] is False and values["sources"] is False and values["cache"] is True
    assert values["num_threads"] == 3 and values["cache_dir"].name == "here"
    assert config.read_environment({})["num_threads"] >= 1


@pytest.mark.parametrize(
    ("name", "text", "wanted"),
    [
        ("KERNELS", "maybe", "expected 1 or 0"),
        ("NUM_THREADS", "0", "expected a positive whole number"),
        ("NUM_THREADS", "two", "expected a positive whole number"),
        ("CACHE_DIR", " ", "expected the path of a folder"),
    ],
)
def test_unreadable_variables_are_named(name, text, wanted):
    with pytest.raises(ValueError, match=f"PELLUCID_{name}={text!r}: {wanted}"):
        config.read_environment({f"PELLUCID_{name}": text})


def test_override_restores():
    before = config.kernels
    with pytest.raises(KeyError, match="stop"), config.override(kernels=not before):
        assert config.kernels is not before
        raise KeyError("stop")
    assert config.kernels is before
    with pytest.raises(ValueError, match="no such flag: colour"), config.override(colour=1):
        pytest.fail("entered")


def test_every_flag_is_described():
    text = config.describe()
    for name in config.VARIABLES:
        assert f"PELLUCID_{name.upper()} = {getattr(config, name)}" in text


def test_a_warning_comes_once_or_always():
    import warnings

    import pellucid as torch
    from pellucid import errors

    x = torch.ones(1, requires_grad=True)
    errors.WARNED.clear()
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        float(x)
        float(x)
        assert len(seen) == 1
        assert seen[0].filename == __file__
        torch.set_warn_always(True)
        try:
            assert torch.is_warn_always_enabled()
            float(x)
            assert len(seen) == 2
        finally:
            torch.set_warn_always(False)
