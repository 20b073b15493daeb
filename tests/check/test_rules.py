"""Every rule on its scripts: buggy ones are caught on the marked line and nowhere else, correct
look-alikes stay silent.
"""

import importlib.util
import re
import types
from pathlib import Path

import numpy as np
import pytest

from pellucid.check import all_rules
from pellucid.check.ranks.rule import RankRule
from pellucid.check.rules.values.nan import NanBorn

HERE = Path(__file__).parent
ROOT = HERE.parents[1]

_spec = importlib.util.spec_from_file_location("scripts_of_rules", HERE / "scripts_of_rules.py")
scripts = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(scripts)

rule_examples = scripts.rule_examples

# those that compare ranks: tests/check/ranks
HEADINGS = [
    "What it reports",
    "Example",
    "Why it is wrong",
    "How to fix it",
    "What it does not report",
    "When to ignore it",
]
RULES = [rule for rule in all_rules() if not issubclass(rule, RankRule)]
SOME = tuple(scripts.few())


@pytest.mark.parametrize("case", SOME)
def test_script(case):
    assert scripts.complaint(case, "pellucid", SOME) is None


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.slug)
def test_rule_is_complete(rule):
    """Three buggy scripts, three correct ones, a page, and an identifier of its own."""
    for kind in ("buggy", "ok"):
        assert len(list((scripts.SCRIPTS / rule.slug).glob(f"{kind}_*.py"))) >= 3, kind
    page = ROOT / "docs" / "checks" / f"{rule.slug}.md"
    text = page.read_text(encoding="utf-8")
    assert re.match(rf"# .+ \({rule.slug}, {rule.id}\)\n\n\S", text)
    assert re.findall("^## (.*)", text, re.MULTILINE) == HEADINGS
    assert re.fullmatch(r"PL\d{3}", rule.id)
    assert rule.severity in ("error", "warning", "info")
    assert rule.summary and not rule.summary.endswith(".")


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.slug)
def test_example_of_the_page_is_what_check_prints(rule):
    """`python tools/docs/rule_examples.py` writes the section anew."""
    findings = scripts.checked("pellucid", SOME)[
        f"{rule.slug}/buggy_{rule_examples.SHOWN[rule.slug]}"
    ]["findings"]
    page = (ROOT / "docs" / "checks" / f"{rule.slug}.md").read_text(encoding="utf-8")
    assert rule_examples.section(rule.slug, findings) in page


def test_identifiers_and_slugs_are_unique():
    assert len({rule.id for rule in RULES}) == len({rule.slug for rule in RULES}) == len(RULES)


def test_no_scripts_without_a_rule():
    assert {path.name for path in scripts.SCRIPTS.iterdir() if path.is_dir()} == {
        rule.slug for rule in RULES
    }


@pytest.mark.parametrize("path", [*scripts.CORRECT, *scripts.EXAMPLES], ids=lambda path: path.stem)
def test_correct_programs_have_no_findings(path):
    result = scripts.checked("pellucid", SOME)[path.stem]
    assert result["findings"] == [] and result["failure"] is None and result["notes"] == []


def test_memory_that_is_not_filled_yet_is_no_birth_of_nan():
    """What lies there is left by others, and differs from run to run; here it is a number that is
    none.
    """
    for name, born in (("empty", False), ("new_empty", False), ("log", True)):
        rule = NanBorn()
        op = types.SimpleNamespace(
            name=name, number=1, args={}, inputs=[], outputs=[], grad_enabled=False, inplace=False
        )
        op.outputs.append(
            types.SimpleNamespace(
                producer=op,
                number=2,
                numel=1,
                is_floating_point=True,
                numpy=lambda: np.full(1, np.nan),
            )
        )
        rule.on_op(op)
        assert (rule._last is not None) == bool(rule._bad) == born
