"""skorch: networks as scikit-learn estimators, with callbacks, grids, pipelines, saving."""

import tempfile
import warnings

import numpy as np
import torch
from _parts import show, without_compiled_operators

without_compiled_operators()
warnings.simplefilter("ignore")
from sklearn.datasets import make_classification, make_regression  # noqa: E402
from sklearn.model_selection import GridSearchCV, cross_val_score  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import StandardScaler  # noqa: E402
from skorch import NeuralNet, NeuralNetBinaryClassifier, NeuralNetClassifier, NeuralNetRegressor  # noqa: E402
from skorch.callbacks import (  # noqa: E402
    Checkpoint,
    EarlyStopping,
    EpochScoring,
    Freezer,
    GradientNormClipping,
    Initializer,
    LRScheduler,
)
from skorch.helper import SliceDataset, predefined_split  # noqa: E402

x, y = make_classification(120, 8, n_informative=4, random_state=0)
x, y = x.astype(np.float32), y.astype(np.int64)


class Net(torch.nn.Module):
    def __init__(self, width=10, out=2, last=None):
        super().__init__()
        self.one, self.two, self.last = torch.nn.Linear(8, width), torch.nn.Linear(width, out), last
        self.drop = torch.nn.Dropout(0.2)

    def forward(self, X):
        out = self.two(self.drop(torch.relu(self.one(X))))
        return out if self.last is None else self.last(out)


torch.manual_seed(0)
net = NeuralNetClassifier(
    Net,
    max_epochs=4,
    lr=0.1,
    criterion=torch.nn.CrossEntropyLoss,
    iterator_train__shuffle=True,
    verbose=0,
    classes=[0, 1],
)
net.fit(x, y)
for row in net.history:
    print(
        round(row["train_loss"], 4), round(row["valid_loss"], 4), round(float(row["valid_acc"]), 4)
    )
show("chances", torch.from_numpy(net.predict_proba(x)).abs())
print(int(net.predict(x).sum()), round(net.score(x, y), 4))
with tempfile.TemporaryDirectory() as folder:
    net.save_params(
        f_params=f"{folder}/p.pt", f_optimizer=f"{folder}/o.pt", f_history=f"{folder}/h.json"
    )
    again = NeuralNetClassifier(Net, criterion=torch.nn.CrossEntropyLoss, verbose=0).initialize()
    again.load_params(
        f_params=f"{folder}/p.pt", f_optimizer=f"{folder}/o.pt", f_history=f"{folder}/h.json"
    )
    print(len(again.history), np.array_equal(again.forward(x).numpy(), net.forward(x).numpy()))
    net.save_params(f_params=f"{folder}/p.safetensors", use_safetensors=True)
    again.load_params(f_params=f"{folder}/p.safetensors", use_safetensors=True)
    again.partial_fit(x, y, epochs=1)
    torch.manual_seed(1)
    tuned = NeuralNetClassifier(
        Net,
        criterion=torch.nn.CrossEntropyLoss,
        max_epochs=5,
        optimizer=torch.optim.Adam,
        lr=0.01,
        verbose=0,
        optimizer__param_groups=[("one.*", {"lr": 0.02})],
        callbacks=[
            ("auc", EpochScoring("roc_auc", lower_is_better=False)),
            EarlyStopping(patience=3),
            GradientNormClipping(1.0),
            LRScheduler(torch.optim.lr_scheduler.StepLR, step_size=2),
            Checkpoint(dirname=folder),
            Freezer("one.bias"),
            Initializer("two.*", lambda p: torch.nn.init.constant_(p, 0.1)),
        ],
    )
    tuned.fit(x, y)
    print(
        [round(float(v), 4) for v in tuned.history[:, "roc_auc"]],
        [round(float(v), 3) for v in tuned.history[:, "train_loss"]],
    )
    tuned.load_params(checkpoint=Checkpoint(dirname=folder))
torch.manual_seed(2)
pipe = make_pipeline(
    StandardScaler(),
    NeuralNetClassifier(
        Net, criterion=torch.nn.CrossEntropyLoss, max_epochs=3, lr=0.05, train_split=None, verbose=0
    ),
)
print(np.round(cross_val_score(pipe, x, y, cv=3), 4))
grid = GridSearchCV(
    NeuralNetClassifier(Net, criterion=torch.nn.CrossEntropyLoss, train_split=False, verbose=0),
    {"lr": [0.01, 0.1], "module__width": [4, 8]},
    cv=2,
    refit=False,
    scoring="neg_log_loss",
)
grid.fit(x, y)
print(grid.best_params_, round(grid.best_score_, 4))
binary = NeuralNetBinaryClassifier(
    Net, module__out=1, module__last=torch.nn.Flatten(0), max_epochs=2, lr=0.1, verbose=0
)
binary.fit(x, y.astype(np.float32))
print(round(binary.history[-1, "valid_loss"], 4))
u, v = make_regression(60, 8, random_state=1)
u, v = u.astype(np.float32), (v / 100).astype(np.float32)[:, None]
regressor = NeuralNetRegressor(
    Net,
    module__out=1,
    max_epochs=3,
    lr=0.02,
    optimizer=torch.optim.SGD,
    optimizer__momentum=0.9,
    verbose=0,
)
regressor.fit(u, v)
print([round(e, 4) for e in regressor.history[:, "valid_loss"]], round(regressor.score(u, v), 4))
data = torch.utils.data.TensorDataset(torch.from_numpy(x), torch.from_numpy(y))
plain = NeuralNet(
    Net,
    criterion=torch.nn.CrossEntropyLoss,
    max_epochs=2,
    train_split=predefined_split(data),
    verbose=0,
    batch_size=32,
)
plain.fit(data)
print(round(plain.history[-1, "valid_loss"], 4), SliceDataset(data)[:3].shape)
