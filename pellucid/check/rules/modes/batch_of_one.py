"""Batch norm in train mode on a batch of one."""

from __future__ import annotations

from typing import Any

from ...events import Backward, Batch, Failure, Op, Value, ancestors, lineage
from ...rule import Rule
from ..source.origins import written_at


class BatchNormBatchOfOne(Rule):
    """Statistics of a batch of one are those of that row or image alone."""

    slug = "batchnorm-batch-of-one"
    id = "PL403"
    severity = "error"
    summary = "batch norm in train mode on a single row or image"
    ops = ("batch_norm",)

    def __init__(self) -> None:
        # operations on one image, until a backward has gone through them
        self._single: dict[int, Op] = {}
        self._told = False
        self._raised: tuple[BaseException, Op] | None = None
        self._batch: Batch | None = None

    def on_batch(self, event: Batch) -> None:
        """Where batches come from."""
        self._batch = event

    def on_op(self, op: Op) -> None:
        """Batch norm of one image."""
        x = op.arg("input")
        if (
            isinstance(x, Value)
            and op.arg("training")
            and op.arg("running_mean") is not None
            and op.grad_enabled
        ):
            if x.ndim >= 3 and x.shape[0] == 1:
                if len(self._single) >= 256:
                    del self._single[next(iter(self._single))]
                self._single[op.number] = op

    def on_backward_begin(self, event: Backward) -> None:
        """It is trained with: not a dry run to learn shapes."""
        if self._single:
            found = [op for op in ancestors(event.roots) if op.number in self._single]
            for op in sorted(found, key=lambda op: op.number)[: 0 if self._told else 1]:
                self._told = True
                self._tell(
                    op,
                    "the mean and variance come from this image alone, and so do the running statistics",
                )
            self._single.clear()

    def on_error(self, event: Failure) -> None:
        """One row: PyTorch refuses."""
        op = event.op
        if (
            op is not None
            and op.name == "batch_norm"
            and isinstance(op.arg("input"), Value)
            and op.arg("training")
        ):
            shape = op.args["input"].shape
            if len(shape) > 1 and op.args["input"].numel == shape[1]:
                self._raised = (event.exception, op)

    def on_exception(self, event: Failure) -> None:
        """The program ended by it."""
        if self._raised is not None and event.exception is self._raised[0]:
            self._tell(
                self._raised[1],
                "with one value per channel the variance is zero, and PyTorch raises an error",
            )

    def _tell(self, op: Op, what: str) -> None:
        shape = op.args["input"].shape
        layer = op.module.path if op.module is not None else "batch_norm"
        batch, site = self._batch, op.module.root.site if op.module is not None else op.site
        evidence = {"layer": layer, "shape": shape, "step": self.step, "layer_at": op.site}
        fix = "train with batches of two or more, or use a norm without batch statistics (nn.GroupNorm, nn.LayerNorm)"
        if batch is not None and batch.values and batch.values[0].shape[:1] == (1,):
            loader = batch.loader
            evidence |= {
                "loader_at": loader.site,
                "batch_size": loader.batch_size,
                "position": batch.position,
            }
            site, evidence["called_at"] = loader.site or site, site
            if (loader.batch_size or 1) > 1:
                fix = "the last batch of the loader has one sample left over: give it `drop_last=True` for training"
        else:
            site = _split_at(op.module.root.inputs) or site if op.module is not None else site
        self.report(
            site,
            f"{layer} normalizes a batch of one (shape {list(shape)}) in train mode: {what}.",
            evidence=evidence,
            fix=fix,
        )


def _split_at(inputs: tuple[Value, ...]) -> Any:
    """Where a batch was split into parts of one, or where their size is written."""
    for made in (o for v in inputs[:1] for o in lineage(v, limit=8)):
        if (
            made.name in ("split", "chunk", "tensor_split")
            and made.site is not None
            and made.direct
        ):
            given = made.inputs[0].shape[:1] if made.inputs else ()
            if given and given[0] > 1:
                place = 0 if made.method else 1
                return (
                    written_at(made.site, "split_size" if made.name == "split" else "chunks", place)
                    or made.site
                )
    return None
