"""torchmetrics: metrics of every family, collected, wrapped, reset, synchronized, moved, pickled."""

import pickle
import warnings

import torch
from _parts import show, without_compiled_operators

without_compiled_operators()
warnings.simplefilter("ignore")
import torchmetrics as tm  # noqa: E402
import torchmetrics.functional as tf  # noqa: E402
from torchmetrics import (  # noqa: E402
    aggregation,
    audio,
    clustering,
    image,
    nominal,
    regression,
    retrieval,
    segmentation,
    shape,
    text,
    wrappers,
)

torch.manual_seed(0)
guess, labels = torch.randn(40, 5).softmax(-1), torch.randint(0, 5, (40,))
p, y = torch.rand(40), torch.randint(0, 2, (40,))
many, marks = torch.rand(40, 3), torch.randint(0, 2, (40, 3))
a, b = torch.randn(40), torch.randn(40)


def tell(name, value):
    if isinstance(value, dict):
        for k, v in sorted(value.items()):
            tell(f"{name} {k}", v)
    elif isinstance(value, (tuple, list)):
        for i, v in enumerate(value):
            tell(f"{name} {i}", v)
    else:
        show(name, value.float().nan_to_num(-1.0) if isinstance(value, torch.Tensor) else value)


group = tm.MetricCollection(
    {
        "accuracy": tm.Accuracy("multiclass", num_classes=5),
        "top2": tm.Accuracy("multiclass", num_classes=5, top_k=2),
        "f1": tm.F1Score("multiclass", num_classes=5, average="macro"),
        "auroc": tm.AUROC("multiclass", num_classes=5),
        "ap": tm.AveragePrecision("multiclass", num_classes=5),
        "confusion": tm.ConfusionMatrix("multiclass", num_classes=5),
        "kappa": tm.CohenKappa("multiclass", num_classes=5),
        "mcc": tm.MatthewsCorrCoef("multiclass", num_classes=5),
        "calibration": tm.CalibrationError("multiclass", num_classes=5),
        "hinge": tm.HingeLoss("multiclass", num_classes=5),
        "jaccard": tm.JaccardIndex("multiclass", num_classes=5),
        "specificity": tm.Specificity("multiclass", num_classes=5),
    }
)
for i in range(0, 40, 10):
    group.update(guess[i : i + 10], labels[i : i + 10])
tell("classes", group.compute())
again = pickle.loads(pickle.dumps(group))
tell("pickled", again.compute()["f1"])
group.reset()
for kind in (
    "Accuracy",
    "Precision",
    "Recall",
    "F1Score",
    "AUROC",
    "AveragePrecision",
    "MatthewsCorrCoef",
    "StatScores",
    "HammingDistance",
):
    tell(f"binary {kind}", getattr(tm, kind)("binary")(p, y))
    tell(f"multilabel {kind}", getattr(tm, kind)("multilabel", num_labels=3)(many, marks))
tell("roc", tm.ROC("binary", thresholds=5)(p, y))
tell("pr", tm.PrecisionRecallCurve("binary")(p, y))
tell("ranking", tm.classification.MultilabelRankingAveragePrecision(3)(many, marks))
tell("at fixed", tm.classification.BinaryRecallAtFixedPrecision(0.5)(p, y))
for kind in (
    "MeanSquaredError",
    "MeanAbsoluteError",
    "R2Score",
    "PearsonCorrCoef",
    "SpearmanCorrCoef",
    "KendallRankCorrCoef",
    "ExplainedVariance",
    "ConcordanceCorrCoef",
    "MeanAbsolutePercentageError",
    "SymmetricMeanAbsolutePercentageError",
    "LogCoshError",
    "MinkowskiDistance",
    "CosineSimilarity",
    "RelativeSquaredError",
):
    made = getattr(regression, kind)(*([3] if kind == "MinkowskiDistance" else []))
    x, z = (a.view(8, 5), b.view(8, 5)) if kind == "CosineSimilarity" else (a, b)
    made.update(x, z)
    made.update(x + 0.1, z)
    tell(kind, made.compute())
tell("kl", regression.KLDivergence()(guess, guess.flip(0)))
one, other = torch.rand(2, 3, 48, 48), torch.rand(2, 3, 48, 48)
for kind in (
    image.StructuralSimilarityIndexMeasure(data_range=1.0),
    image.PeakSignalNoiseRatio(data_range=1.0),
    image.UniversalImageQualityIndex(),
    image.SpectralAngleMapper(),
    image.TotalVariation(),
    image.ErrorRelativeGlobalDimensionlessSynthesis(),
    image.VisualInformationFidelity(),
    image.MultiScaleStructuralSimilarityIndexMeasure(
        data_range=1.0, betas=(0.5, 0.5), kernel_size=5
    ),
    image.SpatialCorrelationCoefficient(),
):
    tell(
        type(kind).__name__,
        kind(one) if isinstance(kind, image.TotalVariation) else kind(one, other),
    )
for kind in (
    audio.SignalNoiseRatio(),
    audio.ScaleInvariantSignalDistortionRatio(),
    audio.SignalDistortionRatio(filter_length=16),
):
    tell(type(kind).__name__, kind(torch.randn(2, 400), torch.randn(2, 400)))
tell(
    "pit",
    audio.PermutationInvariantTraining(tf.audio.scale_invariant_signal_noise_ratio)(
        torch.randn(2, 2, 50), torch.randn(2, 2, 50)
    ),
)
said, meant = ["the cat sat on the mat", "a dog"], ["a cat sat on the mat", "the dog ran"]
for kind in (
    text.WordErrorRate,
    text.CharErrorRate,
    text.MatchErrorRate,
    text.WordInfoLost,
    text.EditDistance,
):
    tell(kind.__name__, kind()(said, meant))
tell("bleu", text.BLEUScore(2)(said, [[m] for m in meant]))
tell("chrf", text.CHRFScore()(said, [[m] for m in meant]))
tell(
    "perplexity",
    text.Perplexity()(torch.rand(2, 5, 7).log_softmax(-1), torch.randint(0, 7, (2, 5))),
)
tell(
    "squad",
    text.SQuAD()(
        [{"prediction_text": "1976", "id": "a"}],
        [{"answers": {"answer_start": [97], "text": ["1976"]}, "id": "a"}],
    ),
)
index = torch.tensor([0] * 10 + [1] * 10 + [2] * 20)
for kind in (
    retrieval.RetrievalMAP,
    retrieval.RetrievalMRR,
    retrieval.RetrievalNormalizedDCG,
    retrieval.RetrievalPrecision,
    retrieval.RetrievalAUROC,
):
    tell(kind.__name__, kind()(p, y, indexes=index))
for kind in (
    clustering.MutualInfoScore,
    clustering.AdjustedRandScore,
    clustering.NormalizedMutualInfoScore,
    clustering.VMeasureScore,
):
    tell(kind.__name__, kind()(labels, labels.roll(1)))
tell("silhouette", clustering.CalinskiHarabaszScore()(guess, labels))
for kind in (
    nominal.CramersV,
    nominal.TheilsU,
    nominal.TschuprowsT,
    nominal.PearsonsContingencyCoefficient,
):
    tell(kind.__name__, kind(5)(labels, labels.roll(1)))
tell("procrustes", shape.ProcrustesDisparity()(torch.randn(2, 6, 2), torch.randn(2, 6, 2)))
tell(
    "dice",
    segmentation.GeneralizedDiceScore(3)(
        torch.randint(0, 2, (2, 3, 8, 8)), torch.randint(0, 2, (2, 3, 8, 8))
    ),
)
tell(
    "iou",
    segmentation.MeanIoU(3)(torch.randint(0, 2, (2, 3, 8, 8)), torch.randint(0, 2, (2, 3, 8, 8))),
)
for kind in (
    aggregation.MeanMetric,
    aggregation.SumMetric,
    aggregation.MaxMetric,
    aggregation.CatMetric,
):
    made = kind()
    made.update(a[:5])
    made.update(2.5)
    tell(kind.__name__, made.compute())
tell("running", wrappers.Running(aggregation.SumMetric(), window=2)(torch.tensor(2.0)))
bootstrap = wrappers.BootStrapper(tm.MeanSquaredError(), num_bootstraps=4)
bootstrap.update(a, b)
tell("bootstrap", bootstrap.compute())
tell(
    "classwise",
    wrappers.ClasswiseWrapper(tm.Accuracy("multiclass", num_classes=5, average=None))(
        guess, labels
    ),
)
tracker = wrappers.MetricTracker(tm.MeanSquaredError(), maximize=False)
for i in range(3):
    tracker.increment()
    tracker.update(a + i, b)
tell("tracker", tracker.best_metric(return_step=True))
tell("outputs", wrappers.MultioutputWrapper(tm.R2Score(), 2)(torch.randn(9, 2), torch.randn(9, 2)))
tell("minmax", wrappers.MinMaxMetric(tm.MeanSquaredError())(a, b))
both = tm.MeanSquaredError() + 2 * tm.MeanAbsoluteError()
both.update(a, b)
tell("arithmetic", both.compute())
grad = torch.randn(10, requires_grad=True)
tm.MeanSquaredError()(grad, b[:10]).backward()
show("gradient", grad.grad.abs())
