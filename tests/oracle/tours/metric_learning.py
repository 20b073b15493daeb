"""pytorch-metric-learning: every loss, miner, distance and reducer with gradients, and trainers."""

import inspect

import numpy as np
import torch
from _parts import show, without_compiled_operators

without_compiled_operators()
from pytorch_metric_learning import (  # noqa: E402
    distances,
    losses,
    miners,
    reducers,
    regularizers,
    samplers,
    trainers,
)
from pytorch_metric_learning.utils import common_functions  # noqa: E402

common_functions.NUMPY_RANDOM = np.random.RandomState(0)
torch.manual_seed(0)
embeddings, labels = torch.randn(16, 8), torch.randint(0, 4, (16,))
classes = {"num_classes": 4, "embedding_size": 8}
arguments = {
    "ArcFaceLoss": classes,
    "CosFaceLoss": classes,
    "NormalizedSoftmaxLoss": classes,
    "ProxyAnchorLoss": classes,
    "ProxyNCALoss": classes,
    "SoftTripleLoss": classes,
    "SphereFaceLoss": classes,
    "SubCenterArcFaceLoss": classes,
    "LargeMarginSoftmaxLoss": classes,
    "P2SGradLoss": {"descriptors_dim": 8, "num_classes": 4},
    "HistogramLoss": {"n_bins": 8},
    "RankedListLoss": {"margin": 0.5, "Tn": 0.1},
}
apart = (
    "Base",
    "Batched",
    "Generic",
    "WeightReg",
    "EmbeddingReg",
    "CrossBatch",
    "SelfSup",
    "Multiple",
    "VIC",
    "Manifold",
)


def every(module):
    """The classes of a module that are used on their own."""
    for name, kind in inspect.getmembers(module, inspect.isclass):
        if not name.startswith(apart):
            yield name, kind


for name, kind in every(losses):
    torch.manual_seed(0)
    x, made = embeddings.clone().requires_grad_(), kind(**arguments.get(name, {}))
    evenly = name in ("SmoothAPLoss", "CentroidTripletLoss")
    loss = made(x, torch.arange(4).repeat_interleave(4) if evenly else labels)
    loss.backward()
    show(name, loss)
    show(name, x.grad)
for name, kind in every(miners):
    if name in ("MaximumLossMiner", "EmbeddingsAlreadyPackagedAsTriplets"):
        continue
    torch.manual_seed(0)
    mined = kind()(embeddings, labels)
    for part in mined:
        show(name, part)
    show(name, losses.TripletMarginLoss()(embeddings, labels, mined))
for name, kind in every(distances):
    show(name, kind()(embeddings, embeddings[:4]))
for name, kind in every(reducers):
    if name == "DivisorReducer":  # not of this loss
        continue
    options = {
        "ThresholdReducer": {"low": 0.1},
        "ClassWeightedReducer": {"weights": torch.arange(1.0, 5.0)},
    }.get(name, {})
    show(name, losses.ContrastiveLoss(reducer=kind(**options))(embeddings, labels))
for name, kind in every(regularizers):
    if name == "SparseCentersRegularizer":  # of losses with several centers
        continue
    torch.manual_seed(0)
    made = losses.ArcFaceLoss(**classes, weight_regularizer=kind())
    made(embeddings, labels).backward()
    show(name, made.W.grad)

memory = losses.CrossBatchMemory(losses.NTXentLoss(), 8, 32, miner=miners.MultiSimilarityMiner())
for _ in range(4):
    show("memory", memory(torch.randn(8, 8), torch.randint(0, 3, (8,))))
show("self supervised", losses.SelfSupervisedLoss(losses.SupConLoss())(embeddings, embeddings + 1))
show("vicreg", losses.VICRegLoss()(embeddings, ref_emb=embeddings.flip(1)))

data = torch.utils.data.TensorDataset(torch.randn(64, 6), torch.randint(0, 4, (64,)))
models = {
    "trunk": torch.nn.Linear(6, 10),
    "embedder": torch.nn.Linear(10, 8),
    "classifier": torch.nn.Linear(8, 4),
}
optimizers = {
    f"{name}_optimizer": torch.optim.Adam(model.parameters(), 0.01)
    for name, model in models.items()
}
trainers.TrainWithClassifier(
    models,
    optimizers,
    16,
    {
        "metric_loss": losses.MultiSimilarityLoss(),
        "classifier_loss": torch.nn.CrossEntropyLoss(),
    },
    data,
    mining_funcs={"tuple_miner": miners.MultiSimilarityMiner()},
    sampler=samplers.MPerClassSampler(data.tensors[1], 4, length_before_new_iter=64),
    dataloader_num_workers=0,
    iterations_per_epoch=4,
).train(num_epochs=1)
for model in models.values():
    show("trained", model.weight)
