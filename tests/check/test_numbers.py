"""Numbers of objects, and findings that do not depend on which ids are used again."""

import ast
import gc
import importlib.util
from pathlib import Path

import pytest

import pellucid as torch
from pellucid.check.numbers import MOST_HELD, number_of

HERE = Path(__file__).parent
PACKAGE = Path(torch.__file__).parent / "check"

_spec = importlib.util.spec_from_file_location("scripts_of_rules", HERE / "scripts_of_rules.py")
scripts = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(scripts)

# In these a model, a data set or a layer is gone while a rule still keeps something of it.
CASES = (
    "data-leak/buggy_fold_left_in_training",
    "data-leak/ok_folds",
)


@pytest.mark.parametrize("make", [lambda: torch.nn.Linear(2, 2), lambda: torch.zeros(2), list])
def test_a_number_is_not_used_again_when_its_object_is_gone(make):
    numbers, ids = set(), set()
    for _ in range(2 * MOST_HELD):
        thing = make()
        assert number_of(thing) == number_of(thing) != 0
        numbers.add(number_of(thing))
        ids.add(id(thing))
        del thing
    assert len(numbers) == 2 * MOST_HELD > len(ids)  # ids were


def test_only_the_last_of_what_has_no_weak_reference_is_held():
    before = {id(thing) for thing in gc.get_objects() if type(thing) is list}
    for k in range(3 * MOST_HELD):
        number_of([k])
    gc.collect()
    after = [t for t in gc.get_objects() if type(t) is list and len(t) == 1]
    held = [t for t in after if id(t) not in before and type(t[0]) is int]
    assert len(held) <= MOST_HELD + 8
    assert number_of(None) == 0


def test_findings_do_not_depend_on_ids():
    unique, reused = (
        {
            case: [{**f, "file": ""} for f in result["findings"]]
            for case, result in scripts.checked("pellucid", CASES, kind).items()
            if case in CASES
        }
        for kind in ("unique", "reused")
    )
    assert unique.keys() == {*CASES}
    assert unique == reused


def _kept(path):
    """The lines in which something is kept, or looked up in what is kept, by `id`: in an attribute
    of `self`. The recorder's own tables compare the object, too.
    """

    def of_self(node):
        if ast.unparse(node).startswith("self.session."):
            return False
        while isinstance(node, (ast.Attribute, ast.Subscript, ast.Call)):
            node = node.func if isinstance(node, ast.Call) else node.value
        return isinstance(node, ast.Name) and node.id == "self"

    def has_id(node):
        return any(
            isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id == "id"
            for n in ast.walk(node)
        )

    for n in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(n, ast.Subscript) and of_self(n.value) and has_id(n.slice):
            yield n.lineno
        elif isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute):
            if of_self(n.func.value) and any(has_id(a) for a in n.args):
                yield n.lineno
        elif isinstance(n, ast.Compare) and has_id(n.left) and any(map(of_self, n.comparators)):
            yield n.lineno


def test_rules_keep_nothing_by_id():
    """`number_of` is for that."""
    found = {
        f"{path.relative_to(PACKAGE)}:{line}"
        for path in sorted((PACKAGE / "rules").rglob("*.py"))
        for line in _kept(path)
    }
    assert found == set()
