"""torchmetrics: every metric of classification, regression, retrieval and clustering in two
steps, and after pickling.
"""

import inspect
import pickle
import warnings

import torch
from _parts import show, without_compiled_operators

without_compiled_operators()
import torchmetrics.classification  # noqa: E402
import torchmetrics.clustering  # noqa: E402
import torchmetrics.regression  # noqa: E402
import torchmetrics.retrieval  # noqa: E402

warnings.simplefilter("ignore")
torch.manual_seed(1)
many = 30
binary = torch.rand(many), torch.randint(0, 2, (many,))
several = torch.rand(many, 4).softmax(-1), torch.randint(0, 4, (many,))
some = torch.rand(many, 3), torch.randint(0, 2, (many, 3))
numbers = torch.randn(many), torch.randn(many)
query = torch.arange(many) // 6
floors = {
    "PrecisionAtFixedRecall": {"min_recall": 0.5},
    "RecallAtFixedPrecision": {"min_precision": 0.5},
    "SensitivityAtSpecificity": {"min_specificity": 0.5},
    "SpecificityAtSensitivity": {"min_sensitivity": 0.5},
    "FBetaScore": {"beta": 2.0},
}


def said(name, value):
    """Each number of a result that may be nested."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        for part in value:
            said(name, part)
    else:
        show(name, value)


def tried(name, metric, *given):
    half = len(given[0]) // 2
    metric.update(*[x[:half] for x in given])
    metric = pickle.loads(pickle.dumps(metric))
    metric.update(*[x[half:] for x in given])
    said(name, metric.compute())


for name, kind in inspect.getmembers(torchmetrics.classification, inspect.isclass):
    options = next((v for k, v in floors.items() if name.endswith(k)), {})
    if name.startswith("Binary") and "Fair" not in name and "GroupStat" not in name:
        tried(name, kind(**options), *binary)
    elif name.startswith("Multiclass"):
        tried(name, kind(num_classes=4, **options), *several)
    elif name.startswith("Multilabel"):
        tried(name, kind(num_labels=3, **options), *some)
for name, kind in inspect.getmembers(torchmetrics.regression, inspect.isclass):
    given = numbers
    if "Divergence" in name:
        given = several[0], several[0].flip(0)
    elif "Log" in name or "Tweedie" in name or "Symmetric" in name:
        given = numbers[0].abs() + 0.1, numbers[1].abs() + 0.1
    elif name == "CosineSimilarity":
        given = numbers[0].view(-1, 2), numbers[1].view(-1, 2)
    elif name == "ContinuousRankedProbabilityScore":
        given = several[0], numbers[0]
    needs_number = name in ("MinkowskiDistance", "CriticalSuccessIndex")
    tried(name, kind(2.0) if needs_number else kind(), *given)
for name, kind in inspect.getmembers(torchmetrics.retrieval, inspect.isclass):
    options = {"min_precision": 0.3, "max_k": 5} if "FixedPrecision" in name else {}
    tried(name, kind(**options), *binary, query)
for name, kind in inspect.getmembers(torchmetrics.clustering, inspect.isclass):
    of_points = name in ("CalinskiHarabaszScore", "DaviesBouldinScore", "DunnIndex")
    if name == "ClusterAccuracy":  # needs a package of its own
        continue
    tried(name, kind(), some[0] if of_points else several[1].flip(0), several[1])
