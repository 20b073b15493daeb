"""fastai: a Learner with its schedules, callbacks and optimizers; saving and loading."""

import tempfile
from functools import partial
from pathlib import Path

import torch
from _parts import without_compiled_operators

without_compiled_operators()
from fastai.basics import (  # noqa: E402
    SGD,
    CrossEntropyLossFlat,
    DataLoader,
    DataLoaders,
    Lamb,
    Learner,
    QHAdam,
    RAdam,
    accuracy,
    nn,
    ranger,
    set_seed,
)
from fastai.callback.all import (  # noqa: E402
    GradientAccumulation,
    GradientClip,
    MixUp,
    ParamScheduler,
    SchedCos,
)

set_seed(3, reproducible=True)
X = torch.randn(96, 5)
Y = (X[:, 0] - X[:, 1] > 0).long()
FOLDER = Path(tempfile.mkdtemp())


def learner(**options):
    set_seed(1, reproducible=True)
    train, valid = (
        DataLoader(list(zip(X[part], Y[part], strict=True)), bs=16)
        for part in (slice(64), slice(64, None))
    )
    net = nn.Sequential(
        nn.Linear(5, 12, bias=False), nn.BatchNorm1d(12), nn.ReLU(), nn.Linear(12, 2)
    )
    return Learner(
        DataLoaders(train, valid),
        net,
        loss_func=CrossEntropyLossFlat(),
        metrics=accuracy,
        path=FOLDER,
        **options,
    )


def show(name, learn):
    print(name, [[round(float(v), 4) for v in row] for row in learn.recorder.values])


learn = learner()
with learn.no_bar(), learn.no_logging():
    learn.fit_one_cycle(2, 1e-2)
    show("one cycle", learn)
    learn.fit_flat_cos(1, 5e-3)
    show("flat", learn)
    predictions, _, decoded = learn.get_preds(with_decoded=True)
    print([round(v, 4) for v in predictions[:3].flatten().tolist()], decoded[:8].tolist())
    learn.save("model")
    again = learner().load("model")
    with again.no_bar(), again.no_logging():
        print(torch.equal(again.get_preds()[0], predictions))

for name, callbacks, options in (
    ("ranger", [], {"opt_func": ranger}),
    ("lamb", [], {"opt_func": Lamb}),
    ("momentum", [], {"opt_func": partial(SGD, mom=0.9)}),
    ("quasi-hyperbolic", [], {"opt_func": QHAdam}),
    ("rectified", [], {"opt_func": RAdam}),
    ("clipped", [GradientClip(0.1)], {}),
    ("accumulated", [GradientAccumulation(32)], {}),
    ("scheduled", [ParamScheduler({"lr": SchedCos(1e-2, 1e-4)})], {}),
    ("mixed up", [MixUp(0.4)], {}),
):
    learn = learner(cbs=callbacks, **options)
    with learn.no_bar(), learn.no_logging():
        learn.fit(2, 5e-3)
        show(name, learn)
