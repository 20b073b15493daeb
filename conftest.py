"""Doctests of public functions, which go by the name of the module that users find them in."""

import builtins

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """An example is read in a module of one's own: there `float` is Python's, and not the dtype
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
