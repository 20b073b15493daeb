import copy
import pickle
import traceback

import pytest

from pellucid import config, errors
from pellucid.errors import Kind, Operand, ShapeError

BUILTINS = {
    "ShapeError": RuntimeError,
    "ShapeValueError": ValueError,
    "DtypeError": RuntimeError,
    "DeviceError": RuntimeError,
    "GraphError": RuntimeError,
    "OperationError": RuntimeError,
    "DimensionError": IndexError,
    "IndexOutOfRangeError": IndexError,
    "ArgumentTypeError": TypeError,
    "ArgumentValueError": ValueError,
    "UnsupportedError": NotImplementedError,
    "MissingAttributeError": AttributeError,
    "MissingKeyError": KeyError,
    "ContractError": AssertionError,
    "SingularError": errors.LinAlgError,
}


def test_each_kind_makes_pytorchs_class():
    kinds = {kind.name: kind for kind in vars(errors).values() if isinstance(kind, Kind)}
    assert {name: type(kind("sentence")) for name, kind in kinds.items()} == BUILTINS
    for name, kind in kinds.items():
        assert getattr(errors, name) is kind
        assert kind("sentence").args == ("sentence",)


def full() -> Exception:
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


LAYOUT = """\
  in sub at train.py:31
  expected  equal shapes
  found     two shapes
  pred    float32     [128, 10]  made by linear at model.py:12
  target  int64    [7,  32,  1]
  alpha
                       ^^^
  a note
  hint: transpose"""


def test_the_sentence_is_pytorchs_and_the_rest_is_a_note():
    error = full()
    assert type(error) is RuntimeError
    assert str(error) == "sizes differ"
    assert error.__notes__ == [LAYOUT]
    assert "".join(traceback.format_exception(error)) == f"RuntimeError: sizes differ\n{LAYOUT}\n"
    assert errors.full_text(error) == f"sizes differ\n{LAYOUT}"


def test_a_bare_error_is_its_sentence():
    assert str(ShapeError("x")) == "x" and not hasattr(ShapeError("x"), "__notes__")
    assert str(errors.MissingKeyError("no such name")) == "'no such name'"
    assert str(ShapeError()) == ""


def test_facts_given_first_stay_and_notes_gather():
    error = ShapeError("x", hint="first", notes=("a",))
    error.add_note("of the user")
    assert errors.add(error, hint="second", op="mul", notes=("b",)) is error
    assert (error.facts.hint, error.facts.op, error.facts.notes) == ("first", "mul", ("a", "b"))
    assert error.__notes__ == ["  in mul\n  a\n  b\n  hint: first", "of the user"]
    assert ShapeError("y").facts.notes == ()


def test_only_our_errors_have_facts():
    other = RuntimeError("x")
    assert errors.facts_of(other) is None
    other.facts = "of another library"
    assert errors.facts_of(other) is None
    assert errors.facts_of(full()).kind is ShapeError


def test_scalars_have_empty_brackets():
    assert errors.aligned_operands([Operand("a", ()), Operand("b", (3,))]) == [
        "  a   []",
        "  b  [3]",
    ]


class Line:
    def __str__(self) -> str:
        return "train.py:3"


@pytest.mark.parametrize(
    "way", [lambda error: pickle.loads(pickle.dumps(error)), copy.copy, copy.deepcopy]
)
def test_pickling_and_copying_keep_the_text_and_the_facts(way):
    error = errors.add(full(), notes=("more",))
    local = ShapeError("x", source=Line(), operands=[Operand("a", [1], float, None, Line())])
    for each in (error, local):
        again = way(each)
        assert type(again) is RuntimeError and again.args == each.args
        assert again.__notes__ == each.__notes__
        assert again.facts.kind is ShapeError and again.facts.lines() == each.facts.lines()


def test_environment_variables():
    values = config.read_environment(
        {
            "PELLUCID_KERNELS": "0",
            "PELLUCID_NUM_THREADS": "3",
            "PELLUCID_CACHE_DIR": "here",
            "PELLUCID_SOURCES": "off",
        }
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
