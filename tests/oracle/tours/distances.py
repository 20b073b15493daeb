"""pytorch_metric_learning: losses, miners, reducers, samplers, accuracy and a trainer."""

import logging
import warnings

import numpy as np
import torch
from _parts import show, without_compiled_operators

without_compiled_operators()
warnings.simplefilter("ignore")
logging.disable(logging.WARNING)
from pytorch_metric_learning import (  # noqa: E402
    distances,
    losses,
    miners,
    reducers,
    regularizers,
    samplers,
    trainers,
)
from pytorch_metric_learning.utils.accuracy_calculator import AccuracyCalculator  # noqa: E402
from pytorch_metric_learning.utils.inference import CustomKNN  # noqa: E402

torch.manual_seed(0)
np.random.seed(0)
x, y = torch.randn(16, 8), torch.arange(16) % 4
for name, options in (
    ("AngularLoss", {}),
    ("ArcFaceLoss", {"num_classes": 4, "embedding_size": 8}),
    ("CircleLoss", {}),
    ("ContrastiveLoss", {}),
    ("CosFaceLoss", {"num_classes": 4, "embedding_size": 8}),
    ("FastAPLoss", {}),
    ("GeneralizedLiftedStructureLoss", {}),
    ("IntraPairVarianceLoss", {}),
    ("LiftedStructureLoss", {}),
    ("MarginLoss", {}),
    ("MultiSimilarityLoss", {}),
    ("NCALoss", {}),
    ("NormalizedSoftmaxLoss", {"num_classes": 4, "embedding_size": 8}),
    ("NPairsLoss", {}),
    ("NTXentLoss", {}),
    ("PNPLoss", {}),
    ("ProxyAnchorLoss", {"num_classes": 4, "embedding_size": 8}),
    ("ProxyNCALoss", {"num_classes": 4, "embedding_size": 8}),
    ("SignalToNoiseRatioContrastiveLoss", {}),
    ("SoftTripleLoss", {"num_classes": 4, "embedding_size": 8}),
    ("SphereFaceLoss", {"num_classes": 4, "embedding_size": 8}),
    ("SubCenterArcFaceLoss", {"num_classes": 4, "embedding_size": 8}),
    ("SupConLoss", {}),
    ("TripletMarginLoss", {}),
    ("TupletMarginLoss", {}),
):
    made = getattr(losses, name)(**options)
    points = x.clone().requires_grad_()
    loss = made(points, y)
    loss.backward()
    show(name, loss)
    show(name, points.grad.abs())
for name, options in (
    ("AngularMiner", {}),
    ("BatchEasyHardMiner", {}),
    ("BatchHardMiner", {}),
    ("DistanceWeightedMiner", {}),
    ("HDCMiner", {}),
    ("MultiSimilarityMiner", {}),
    ("PairMarginMiner", {}),
    ("TripletMarginMiner", {"type_of_triplets": "semihard"}),
    ("UniformHistogramMiner", {}),
):
    pairs = getattr(miners, name)(**options)(x, y)
    print(name, [len(p) for p in pairs])
    show(name, losses.TripletMarginLoss()(x, y, pairs))
mixed = losses.MultipleLosses(
    [losses.TripletMarginLoss(), losses.ContrastiveLoss()], weights=[1, 0.5]
)
show("mixed", mixed(x, y))
show(
    "reduced",
    losses.TripletMarginLoss(
        distance=distances.CosineSimilarity(),
        reducer=reducers.ThresholdReducer(low=0.01),
        embedding_regularizer=regularizers.LpRegularizer(),
    )(x, y),
)
memory = losses.CrossBatchMemory(losses.NTXentLoss(), 8, 32)
show("memory", memory(x, y) + memory(x + 0.1, y))
show("self", losses.SelfSupervisedLoss(losses.NTXentLoss())(x, x + 0.1 * torch.randn(16, 8)))
print(
    [int(i) for i in samplers.MPerClassSampler(y, 2, batch_size=8, length_before_new_iter=16)][:8]
)
judge = AccuracyCalculator(
    include=("precision_at_1", "mean_average_precision", "r_precision"),
    knn_func=CustomKNN(distances.LpDistance()),
)
print({k: round(v, 4) for k, v in judge.get_accuracy(x, y, x, y, True).items()})


class Data(torch.utils.data.Dataset):
    targets = y

    def __len__(self):
        return 16

    def __getitem__(self, i):
        return x[i], int(y[i])


net = torch.nn.Linear(8, 4)
trainer = trainers.MetricLossOnly(
    {"trunk": net},
    {"trunk_optimizer": torch.optim.Adam(net.parameters(), 0.01)},
    8,
    {"metric_loss": losses.TripletMarginLoss()},
    Data(),
    data_device="cpu",
    sampler=samplers.MPerClassSampler(y, 4),
    iterations_per_epoch=3,
    dataloader_num_workers=0,
)
trainer.train(num_epochs=2)
show("trained", net.weight.abs())
