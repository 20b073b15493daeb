"""Two parts of one data set: what is set on the data set of one is set for both."""

from __future__ import annotations

import ast
from collections import defaultdict

from ...events import LoaderInfo, Step
from ...numbers import number_of
from ...rule import Rule
from ..source.places import Place, tree, walk


class DatasetShared(Rule):
    """`train.dataset.transform = augment` after random_split: validation has the same data set."""

    slug = "dataset-shared"
    id = "PL919"
    severity = "error"
    summary = "an attribute of a dataset is set for one part of a split and applies to all parts"
    supersedes = ("validation-augmented",)

    def __init__(self) -> None:
        self._parts: dict[int, set[int]] = defaultdict(set)
        self._names: set[str] = set()
        self._steps = 0

    def on_step(self, event: Step) -> None:
        """Something is trained."""
        self._steps += 1

    def on_pass(self, event: LoaderInfo) -> None:
        """A loader is gone through: which data set stands behind its part?"""
        whole = event.whole_dataset
        if event.dataset is whole or whole is None or not hasattr(whole, "__dict__"):
            return
        self._parts[number_of(whole)].add(number_of(event.dataset))
        if len(self._parts[number_of(whole)]) > 1:
            self._names |= vars(whole).keys()

    def finish(self) -> None:
        """Look for the lines that set such an attribute."""
        if not self._names or not self._steps:
            return
        for file in self.session.recorder.files(self.session.script):
            found: dict[str, list[tuple[int, str]]] = defaultdict(list)
            root = tree(file)
            for node in walk(root) if root is not None else ():
                if not isinstance(node, ast.Assign) or isinstance(node.value, ast.Attribute):
                    continue
                for target in node.targets:
                    if (
                        isinstance(target, ast.Attribute)
                        and target.attr in self._names
                        and isinstance(target.value, ast.Attribute)
                        and target.value.attr == "dataset"
                    ):
                        found[target.attr].append((node.lineno, ast.unparse(target.value)))
            again = {
                ast.unparse(t.value)
                for node in (walk(root) if root is not None else ())
                if isinstance(node, ast.Assign)
                for t in node.targets
                if isinstance(t, ast.Attribute) and t.attr == "dataset"
            }
            for name, places in found.items():
                owners = {owner for _, owner in places}
                # one that is set for each part in turn, or after the part got a copy, is meant so
                if len(owners) == 1 and len(places) > 1:
                    continue
                if any(owner.rpartition(".dataset")[0] in again for owner in owners):
                    continue
                line, owner = max(places)
                self.report(
                    Place(file, line),
                    f"`{owner}` is also the dataset of the other parts, so `{name}` is set for all of them.",
                    evidence={"attribute": name},
                    fix="give each part its own dataset: Subset(Data(transform=...), indices)",
                )
