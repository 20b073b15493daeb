"""Doctests of public functions, which go by the name of the module that users find them in."""

import builtins
import doctest

import pytest


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Examples that join a process group run in a process of their own:
    tests/distributed/test_examples.py.

    An example is read in a module of one's own: there `float` is Python's, and not the dtype
    that `pellucid` has by that name.
    """
    plain = {name: value for name, value in vars(builtins).items() if not name.startswith("_")}
    for item in items:
        test = getattr(item, "dtest", None)
        if (
            isinstance(item, pytest.DoctestItem)
            and test is not None
            and test.globs.get("__name__") == "pellucid"
        ):
            test.globs.update(plain)
    joining = [item for item in items if _joins(getattr(item, "dtest", None))]
    if joining:
        config.hook.pytest_deselected(items=joining)
        items[:] = [item for item in items if item not in joining]


def _joins(test: doctest.DocTest | None) -> bool:
    return test is not None and any(
        "dist.init_process_group(store=" in example.source for example in test.examples
    )
