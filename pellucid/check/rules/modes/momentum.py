"""Numbers of a batch norm that are meant for another library or another argument."""

from __future__ import annotations

from ...events import ModuleCall, Op
from ...rule import Rule

_MUCH = 0.9  # of a new batch in the running statistics
_LARGE = 0.1  # for a number that only keeps a division from failing


class BatchNormMomentum(Rule):
    """`momentum` is the part of the new batch here, in other libraries that of the old statistics."""

    slug = "batchnorm-momentum"
    id = "PL405"
    severity = "warning"
    summary = "momentum or eps of a batch norm has a value for another convention"
    ops = ("batch_norm",)

    def __init__(self) -> None:
        # by id of the running mean: the layer, its momentum, how many batches it was trained on
        self._followed: dict[int, tuple[ModuleCall, float, int]] = {}
        self._told: set[object] = set()

    def on_op(self, op: Op) -> None:
        """A batch goes into the statistics, or they are used."""
        layer, mean = op.module, op.arg("running_mean")
        if layer is None or mean is None:
            return
        momentum = op.arg("momentum", 0.1)
        if op.arg("training"):
            if op.grad_enabled and _MUCH <= momentum < 1.0:
                known = self._followed.get(mean.id)
                count = known[2] + 1 if known is not None else 1
                self._followed[mean.id] = (layer, momentum, count)
            if op.grad_enabled and op.arg("eps", 1e-5) >= _LARGE:
                self._large(op, layer)
            return
        known = self._followed.get(mean.id)
        if known is None or known[2] < 4:
            return
        layer, momentum, count = known
        self._tell(
            layer,
            f"{layer.path} has momentum={momentum:g}, the weight of the newest batch in the "
            "running statistics: eval mode uses little more than the mean and variance of the "
            "last batch.",
            {"momentum": momentum, "batches": count, "layer": layer.path},
            f"momentum={1 - momentum:.3g}: PyTorch's momentum is the weight of the new batch, "
            "other libraries use that of the old statistics",
        )

    def _large(self, op: Op, layer: ModuleCall) -> None:
        eps = op.arg("eps", 1e-5)
        self._tell(
            layer,
            f"{layer.path} has eps={eps:g}, which is added to the variance: channels with a "
            "small variance are hardly normalized.",
            {"eps": eps, "layer": layer.path},
            "the second argument of a batch norm is `eps`; write `momentum=` by name",
        )

    def _tell(self, layer: ModuleCall, message: str, evidence: dict[str, object], fix: str) -> None:
        site = layer.made or layer.site
        if site is not None and site not in self._told:
            self._told.add(site)
            self.report(site, message, evidence=evidence, fix=fix)
