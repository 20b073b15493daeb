"""How findings meet: which of them is left out beside another one, and which never is."""

import pytest

from pellucid.check.config import Settings
from pellucid.check.events import Site
from pellucid.check.rule import Rule
from pellucid.check.session import Session


class Cause(Rule):
    slug, id, severity, covered, supersedes = "cause", "PL991", "warning", ("local",), ("anywhere",)


class Local(Rule):
    slug, id, severity = "local", "PL992", "warning"


class Anywhere(Rule):
    slug, id, severity = "anywhere", "PL993", "warning"


class Symptom(Rule):
    slug, id, severity, symptom_of = "symptom", "PL994", "warning", ("cause",)


class Other(Rule):
    slug, id, severity = "other", "PL995", "info"


@pytest.fixture
def told():
    """Names of the findings that are left when the rules report the given (rule, keywords) at the
    same place.
    """

    def run(*reports):
        session = Session(rules=[Cause, Local, Anywhere, Symptom, Other], settings=Settings())
        rules = {rule.slug: rule for rule in session.rules}
        site = Site(run.__code__, 0)
        for name, options in reports:
            covers = [site] if options.pop("covering", False) else ()
            rules[name].report(site, name, covers=covers, **options)
        return [f.name for f in session.findings()]

    return run


def test_only_named_rules_are_covered(told):
    assert told(("cause", {"covering": True}), ("local", {}), ("other", {})) == ["cause", "other"]


def test_covered_only_at_the_places_given(told):
    assert told(("cause", {}), ("local", {})) == ["cause", "local"]


def test_supersedes_and_symptom_of_hold_everywhere(told):
    assert told(("cause", {}), ("anywhere", {}), ("symptom", {})) == ["cause"]


@pytest.mark.parametrize("name", ["local", "anywhere", "symptom"])
def test_what_is_graver_is_never_left_out(told, name):
    assert told(("cause", {"covering": True}), (name, {"severity": "error"})) == ["cause", name]
