"""Packages that have a function of the same name as one of their modules (`autograd.gradcheck`)."""

from __future__ import annotations

import sys
from types import FunctionType, ModuleType
from typing import Any


class _Package(ModuleType):
    """A package whose functions stay where they are when a module of the same name is imported
    later.
    """

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, ModuleType) and isinstance(self.__dict__.get(name), FunctionType):
            return  # the import system's way of binding a module in its package
        super().__setattr__(name, value)


def keep_functions(package: str) -> None:
    """From here on, importing a module of the package does not replace the package's function of
    that name.
    """
    sys.modules[package].__class__ = _Package
