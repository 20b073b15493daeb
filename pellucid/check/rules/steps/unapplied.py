"""Gradients that are computed and that nothing applies."""

from __future__ import annotations

import ast
import functools

from ...events import Backward, Op, OptimizerInfo, Site, Step, Update
from ..source.places import Place, tree, uncalled, walk
from .gradients import _Gradients, _Pass
from .new_instead import NewInstead
from .unmoved import Unmoved


def _unmet(site: Site | None, optimizer: str) -> Place | None:
    """The line of an `if` in the function of a backward, below which the optimizer would step."""
    root = tree(site.file) if site is not None else None
    lines = [p[0] for p in site.code.co_positions() if p[0] is not None] if site is not None else []
    for node in walk(root) if root is not None and site is not None else ():
        if isinstance(node, ast.If) and lines and min(lines) <= node.lineno <= max(lines):
            for part in node.body:
                for call in ast.walk(part):
                    if isinstance(call, ast.Call) and ast.unparse(call.func).endswith(
                        f"{optimizer.split('.')[-1]}.step"
                    ):
                        return Place(site.file, node.lineno)
    return None


class BackwardWithoutStep(_Gradients):
    """Gradients that nobody applies change nothing."""

    slug = "backward-without-step"
    id = "PL304"
    severity = "error"
    summary = "gradients are computed and never applied"
    ops = (*_Gradients.ops, "add", "sub")
    wants_updates = True

    def __init__(self) -> None:
        super().__init__()
        self._results = NewInstead()
        self._sites: dict[str, list[_Pass]] = {}
        self._calls: dict[str, int] = {}
        self._stepped: set[int] = set()
        self._optimizers: list[OptimizerInfo] = []
        # leaf -> the optimizer that has it, its name
        self._held: dict[int, tuple[OptimizerInfo, str | None]] = {}
        self._cleared = False
        # by place of a backward that several of make one step: how many, where it steps, steps
        self._together: dict[str, tuple[int, Step, int]] = {}
        # by the same: fewer of them that were cleared unused, how often
        self._rest: dict[str, tuple[int, int]] = {}

    @functools.cached_property
    def _unmoved(self) -> Unmoved:
        return Unmoved(self.session)

    def on_op(self, op: Op) -> None:
        """A gradient is read, zeroed, or goes into a new tensor."""
        if op.name in _Gradients.ops:
            super().on_op(op)
        if not op.inplace and not op.grad_enabled:
            self._results.see(op)

    def on_optimizer(self, event: OptimizerInfo) -> None:
        """What it holds should be stepped on."""
        self._optimizers.append(event)

    def made(self, gradients: _Pass, event: Backward) -> None:
        """Counted by place."""
        site = str(event.site)
        self._calls[site] = calls = self._calls.get(site, 0) + 1
        passes = self._sites.setdefault(site, [])
        if calls <= 4 or any(p.used or p.read for p in passes):
            if len(passes) < 64 and event.how == "backward":
                passes.append(gradients)
        if calls <= 2:
            for info in self._optimizers:
                for value in info.params():
                    if value.id in gradients.leaves and value.id not in self._held:
                        self._held[value.id] = (
                            info,
                            info.name or self.session.recorder.names.variable(info.optimizer),
                        )

    def dropped(self, passes: list[_Pass], site: Site | None) -> None:
        """Somebody clears: a training loop."""
        self._cleared = True
        place = str(passes[0].site)
        if place in self._together and not any(p.used or str(p.site) != place for p in passes):
            count, times = self._rest.get(place, (len(passes), 0))
            self._rest[place] = len(passes) if count == len(passes) else -1, times + 1

    def _left_over(self) -> None:
        """Steps of several backward calls each, and fewer of them at the end of every epoch."""
        for place, (count, times) in self._rest.items():
            several, step, steps = self._together[place]
            if not 0 < count < several or times < 2 or steps < 2 * times:
                continue
            passes = self._sites[place]
            title = step.optimizer.name or "optimizer"
            self.report(
                _unmet(passes[0].site, title) or step.site,
                f"{title} steps after every {several} backward calls, and {times} times the gradients of the last {count} "
                "before that were cleared: the gradients of these batches are never applied.",
                evidence={"backward": place, "together": several, "left": count, "times": times},
                fix="step after the last batch of an epoch, too: `or i + 1 == len(loader)`",
            )

    def _one_of_several(self) -> None:
        """An optimizer that never steps, while others do with gradients of the same backward."""
        limit = self.session.recorder.max_steps
        if limit is not None and self.step >= limit:
            return  # it may step later
        for info in self._optimizers:
            own = {leaf for leaf, (held, _) in self._held.items() if held is info}
            if info.steps or not own or own & self._stepped:
                continue
            for site, passes in self._sites.items():
                reached = [p for p in passes if p.leaves & own]
                if (
                    len(reached) < 3
                    or self._calls[site] < 8
                    or any(p.read & own for p in reached)
                    or not any(p.used for p in passes)
                ):
                    continue
                title = (
                    next(
                        (name for held, name in self._held.values() if held is info and name), None
                    )
                    or info.class_name
                )
                bare = uncalled(self.session.recorder.files(self.session.script), "step", title)
                self.report(
                    bare or reached[0].site,
                    f"backward computes gradients {'' if bare else 'here '}for the parameters of {title} as well, which never steps"
                    f"{' (step is mentioned here but not called)' if bare else ''}, while another optimizer does.",
                    evidence={
                        "backward_calls": self._calls[site],
                        "parameters": len(own),
                        "optimizer": f"{info.class_name} at {info.site}",
                    },
                    fix=f"call `{title}.step()` after this backward, too",
                )
                break

    def on_step(self, event: Step) -> None:
        """Applied."""
        self._unmoved.step(event)
        values = event.optimizer.params()
        self._stepped.update(v.id for v in values)
        used = self.use(values)
        place = str(used[0].site) if used else ""
        if used and all(str(p.site) == place for p in used):
            count, _, steps = self._together.get(place, (len(used), event, 0))
            self._together[place] = len(used) if count == len(used) else -1, event, steps + 1

    def on_update(self, event: Update) -> None:
        """Applied by hand."""
        self._stepped.add(event.value.id)
        self.use([event.value])

    def finish(self) -> None:
        """Places whose gradients were never applied, read or otherwise used."""
        found = self._results.unchanged(self._stepped)
        if found is not None:
            place, leaf, times = found
            self.report(
                place,
                f"this creates a new tensor from {leaf.name or 'a parameter'}, whose gradients nothing applies: the parameter itself never changes.",
                evidence={"times": times, "shape": list(leaf.shape)},
                fix="update it in place: `p.sub_(lr * p.grad)` or `p -= lr * p.grad`, inside `torch.no_grad()`",
            )
        for written, kind, steps in self._unmoved.found():
            self.report(
                written,
                f"none of the {steps} steps of {kind} that were looked at changed any parameter, although there were gradients: "
                "a new tensor with the same name is not the parameter.",
                evidence={"optimizer": kind, "steps": steps},
                fix="change it in place: `p.sub_(lr * update)`, inside `torch.no_grad()`",
            )
        self._one_of_several()
        self._left_over()
        for site, passes in self._sites.items():
            leaves = {leaf for p in passes for leaf in p.leaves}
            held = [leaf for leaf in leaves if leaf in self._held]
            if (
                not passes
                or not held
                or leaves & self._stepped
                or any(p.read or p.used for p in passes)
            ):
                continue
            calls = self._calls[site]
            if calls < 2 and not self._cleared:
                continue
            info, name = self._held[held[0]]
            title = name or "optimizer"
            condition, why = _unmet(passes[0].site, title), ", since this condition is never true"
            if condition is None:
                condition, why = (
                    uncalled(self.session.recorder.files(self.session.script), "step"),
                    ": step is mentioned here but not called",
                )
            self.report(
                condition or passes[0].site,
                f"backward computes gradients{'' if condition is not None else ' here'} and nothing applies them: {title} never steps"
                f"{why if condition is not None else ''}.",
                evidence={
                    "backward_calls": calls,
                    "parameters": len(leaves),
                    "optimizer": f"{info.class_name} at {info.site}",
                },
                fix=f"call `{title}.step()` after this backward",
            )
