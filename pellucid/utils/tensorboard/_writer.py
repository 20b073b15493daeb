"""`SummaryWriter`: scalars, histograms, pictures, text, graphs and hyperparameters of a run, for
TensorBoard.
"""

from __future__ import annotations

import os
import socket
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any, Self

from ...errors import UnsupportedError
from . import _summary as summary
from . import _wire as wire
from ._files import FileWriter
from ._graph import record_graph
from ._images import figure_pixels, pixels_of

# SessionLog's status: TensorBoard drops what an earlier, broken-off run wrote from this step on
_START = 1


class SummaryWriter:
    """Writes the log of one run into a folder of its own.

    Args:
        log_dir: the folder; by default `runs/<date>_<time>_<host><comment>`.
        comment: appended to the default folder's name; ignored when `log_dir` is given.
        purge_step: a run goes on from this step; TensorBoard forgets earlier events from this step
            on.
        max_queue: this many events wait in memory before they are written.
        flush_secs: when an event is added after this many seconds, all are written.
        filename_suffix: appended to the file's name.

    Values may be numbers, NumPy arrays or tensors. Every method takes `global_step` (an integer)
    and `walltime` (seconds since 1970; now by default).

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder, SummaryWriter(folder) as writer:
        ...     for step in range(3):
        ...         writer.add_scalar("loss", 1 / (1 + step), step)
    """

    def __init__(
        self,
        log_dir: str | os.PathLike[str] | None = None,
        comment: str = "",
        purge_step: int | None = None,
        max_queue: int = 10,
        flush_secs: float = 120,
        filename_suffix: str = "",
    ) -> None:
        if not log_dir:
            log_dir = os.path.join(
                "runs", f"{time.strftime('%b%d_%H-%M-%S')}_{socket.gethostname()}{comment}"
            )
        self.log_dir = log_dir
        self.purge_step = purge_step
        self.max_queue = max_queue
        self.flush_secs = flush_secs
        self.filename_suffix = filename_suffix
        self.file_writer: FileWriter | None = None
        self.all_writers: dict[str, FileWriter] | None = None
        self._get_file_writer()

    def _get_file_writer(self) -> FileWriter:
        """The run's own file; a new one after `close`."""
        if self.file_writer is None or self.all_writers is None:
            self.file_writer = FileWriter(
                self.log_dir, self.max_queue, self.flush_secs, self.filename_suffix
            )
            self.all_writers = {self.file_writer.get_logdir(): self.file_writer}
            if self.purge_step is not None:
                self.file_writer.add_event(wire.data(7, wire.integer(1, _START)), self.purge_step)
                self.purge_step = None
        return self.file_writer

    def get_logdir(self) -> str | os.PathLike[str]:
        """The folder of the run."""
        return self.log_dir

    def _add(self, what: bytes, global_step: Any, walltime: float | None) -> None:
        self._get_file_writer().add_summary(what, global_step, walltime)

    # ---- numbers -------------------------------------------------------------------------------
    def add_scalar(
        self,
        tag: str,
        scalar_value: Any,
        global_step: int | None = None,
        walltime: float | None = None,
        new_style: bool = False,
        double_precision: bool = False,
    ) -> None:
        """Add one number to the curve `tag`; float32 unless `double_precision`."""
        self._add(
            summary.scalar(tag, scalar_value, new_style, double_precision), global_step, walltime
        )

    def add_scalars(
        self,
        main_tag: str,
        tag_scalar_dict: Mapping[str, Any],
        global_step: int | None = None,
        walltime: float | None = None,
    ) -> None:
        """Add a number to each of several curves of one chart; each curve is a run (and a folder)
        of its own.
        """
        walltime = time.time() if walltime is None else walltime
        own = self._get_file_writer()
        assert self.all_writers is not None
        for tag, value in tag_scalar_dict.items():
            folder = f"{own.get_logdir()}/{main_tag.replace('/', '_')}_{tag}"
            if folder not in self.all_writers:
                self.all_writers[folder] = FileWriter(
                    folder, self.max_queue, self.flush_secs, self.filename_suffix
                )
            self.all_writers[folder].add_summary(
                summary.scalar(main_tag, value), global_step, walltime
            )

    def add_tensor(
        self, tag: str, tensor: Any, global_step: int | None = None, walltime: float | None = None
    ) -> None:
        """Add all elements of a tensor."""
        self._add(summary.tensor(tag, tensor), global_step, walltime)

    def add_histogram(
        self,
        tag: str,
        values: Any,
        global_step: int | None = None,
        bins: Any = "tensorflow",
        walltime: float | None = None,
        max_bins: int | None = None,
    ) -> None:
        """Add the distribution of the values; `bins` as `numpy.histogram` takes it, or "tensorflow"
        for exponential ones.
        """
        self._add(summary.histogram(tag, values, bins, max_bins), global_step, walltime)

    def add_histogram_raw(
        self,
        tag: str,
        min: float,
        max: float,
        num: float,
        sum: float,
        sum_squares: float,
        bucket_limits: Sequence[float],
        bucket_counts: Sequence[float],
        global_step: int | None = None,
        walltime: float | None = None,
    ) -> None:
        """Add a histogram that has been counted elsewhere; `bucket_limits` are the right limits."""
        if len(bucket_limits) != len(bucket_counts):
            raise ValueError("len(bucket_limits) != len(bucket_counts), see the document.")
        what = summary.histogram_raw(
            tag, min, max, num, sum, sum_squares, bucket_limits, bucket_counts
        )
        self._add(what, global_step, walltime)

    def add_pr_curve(
        self,
        tag: str,
        labels: Any,
        predictions: Any,
        global_step: int | None = None,
        num_thresholds: int = 127,
        weights: Any = None,
        walltime: float | None = None,
    ) -> None:
        """Add precision and recall over thresholds in [0, 1]; `labels` are 0 or 1, `predictions`
        probabilities.
        """
        self._add(
            summary.pr_curve(tag, labels, predictions, num_thresholds, weights),
            global_step,
            walltime,
        )

    def add_pr_curve_raw(
        self,
        tag: str,
        true_positive_counts: Any,
        false_positive_counts: Any,
        true_negative_counts: Any,
        false_negative_counts: Any,
        precision: Any,
        recall: Any,
        global_step: int | None = None,
        num_thresholds: int = 127,
        weights: Any = None,
        walltime: float | None = None,
    ) -> None:
        """Add a precision-recall curve that has been counted elsewhere."""
        counts = (
            true_positive_counts,
            false_positive_counts,
            true_negative_counts,
            false_negative_counts,
        )
        self._add(
            summary.pr_curve_raw(tag, *counts, precision, recall, num_thresholds),
            global_step,
            walltime,
        )

    def add_hparams(
        self,
        hparam_dict: Mapping[str, Any],
        metric_dict: Mapping[str, Any],
        hparam_domain_discrete: Mapping[str, list[Any]] | None = None,
        run_name: str | None = None,
        global_step: int | None = None,
    ) -> None:
        """Add a session with these hyperparameters and results, in a folder of its own below the
        run's.
        """
        if type(hparam_dict) is not dict or type(metric_dict) is not dict:
            raise TypeError("hparam_dict and metric_dict should be dictionary.")
        parts = summary.hparams(hparam_dict, metric_dict, hparam_domain_discrete)
        folder = os.path.join(self._get_file_writer().get_logdir(), run_name or str(time.time()))
        with SummaryWriter(folder) as session:
            for part in parts:
                session._add(part, global_step, None)
            for name, value in metric_dict.items():
                session.add_scalar(name, value, global_step)

    # ---- pictures, sound, text -------------------------------------------------------------------
    def add_image(
        self,
        tag: str,
        img_tensor: Any,
        global_step: int | None = None,
        walltime: float | None = None,
        dataformats: str = "CHW",
    ) -> None:
        """Add a picture: uint8, or floats in [0, 1]; `dataformats` names its dimensions (CHW, HWC
        or HW).
        """
        pixels = pixels_of(summary.as_array(img_tensor), dataformats)
        self._add(summary.image(tag, pixels), global_step, walltime)

    def add_images(
        self,
        tag: str,
        img_tensor: Any,
        global_step: int | None = None,
        walltime: float | None = None,
        dataformats: str = "NCHW",
    ) -> None:
        """Add a batch of pictures as one, eight to a row."""
        self.add_image(tag, img_tensor, global_step, walltime, dataformats)

    def add_figure(
        self,
        tag: str,
        figure: Any,
        global_step: int | None = None,
        close: bool = True,
        walltime: float | None = None,
    ) -> None:
        """Add a matplotlib figure, or a list of figures of one size; `close` closes them
        afterwards.
        """
        figures = figure if isinstance(figure, (list, tuple)) else [figure]
        if isinstance(figure, (list, tuple)):
            images = summary.np.stack([figure_pixels(f) for f in figures])
            self.add_image(tag, images, global_step, walltime, "NHWC")
        else:
            self.add_image(tag, figure_pixels(figure), global_step, walltime, "HWC")
        pyplot = sys.modules.get("matplotlib.pyplot")
        if close and pyplot is not None:
            for f in figures:
                pyplot.close(f)

    def add_audio(
        self,
        tag: str,
        snd_tensor: Any,
        global_step: int | None = None,
        sample_rate: int = 44100,
        walltime: float | None = None,
    ) -> None:
        """Add one channel of sound: samples in [-1, 1]."""
        self._add(summary.audio(tag, snd_tensor, sample_rate), global_step, walltime)

    def add_text(
        self,
        tag: str,
        text_string: str,
        global_step: int | None = None,
        walltime: float | None = None,
    ) -> None:
        """Add a text; TensorBoard shows it as Markdown."""
        self._add(summary.text(tag, text_string), global_step, walltime)

    # ---- graphs and layouts ----------------------------------------------------------------------
    def add_graph(
        self,
        model: Any,
        input_to_model: Any = None,
        verbose: bool = False,
        use_strict_trace: bool = True,
    ) -> None:
        """Run the model once on `input_to_model` (a tensor, or a tuple of arguments) and add the
        operations that ran.
        """
        if input_to_model is None:
            raise ValueError(
                "add_graph needs input_to_model: the graph is recorded from one run of the model"
            )
        graph, nodes = record_graph(model, input_to_model)
        if verbose:
            for name, kind, inputs, shape, _ in nodes:
                print(f"{name}: {kind}({', '.join(inputs)}) {list(shape)}")
        self._get_file_writer().add_event(wire.data(4, graph))

    def add_custom_scalars(self, layout: Mapping[str, Mapping[str, Sequence[Any]]]) -> None:
        """Arrange curves on charts: `{category: {title: ["Multiline", tags]}}` or
        `["Margin", [value, lower, upper]]`.
        """
        self._add(summary.custom_scalars(layout), None, None)

    def add_custom_scalars_multilinechart(
        self, tags: Sequence[str], category: str = "default", title: str = "untitled"
    ) -> None:
        """Draw several curves on one chart."""
        self.add_custom_scalars({category: {title: ["Multiline", tags]}})

    def add_custom_scalars_marginchart(
        self, tags: Sequence[str], category: str = "default", title: str = "untitled"
    ) -> None:
        """Draw a curve with a margin: three tags, for the value, its lower and its upper limit."""
        self.add_custom_scalars({category: {title: ["Margin", tags]}})

    # ---- not written by this version ---------------------------------------------------------------
    def add_embedding(self, *args: Any, **kwargs: Any) -> None:
        """Not supported: see the error."""
        raise _unsupported(
            "add_embedding",
            "save the matrix with numpy.savetxt(..., delimiter='\\t') and load it in the projector",
        )

    def add_mesh(self, *args: Any, **kwargs: Any) -> None:
        """Not supported: see the error."""
        raise _unsupported("add_mesh", "draw the mesh with matplotlib and use add_figure")

    def add_video(self, *args: Any, **kwargs: Any) -> None:
        """Not supported: see the error."""
        raise _unsupported(
            "add_video", "add the frames one by one with add_image, or side by side with add_images"
        )

    def add_image_with_boxes(self, *args: Any, **kwargs: Any) -> None:
        """Not supported: see the error."""
        raise _unsupported(
            "add_image_with_boxes", "draw the boxes into the pixels first and use add_image"
        )

    def add_onnx_graph(self, *args: Any, **kwargs: Any) -> None:
        """Not supported: see the error."""
        raise _unsupported("add_onnx_graph", "use add_graph with the model itself")

    # ---- the end -----------------------------------------------------------------------------------
    def flush(self) -> None:
        """Write all events that wait."""
        for writer in (self.all_writers or {}).values():
            writer.flush()

    def close(self) -> None:
        """Write all events and close the files; adding more afterwards starts a new file."""
        for writer in (self.all_writers or {}).values():
            writer.close()
        self.file_writer = self.all_writers = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _unsupported(name: str, instead: str) -> Exception:
    return UnsupportedError(f"SummaryWriter.{name} is not supported", hint=instead)
