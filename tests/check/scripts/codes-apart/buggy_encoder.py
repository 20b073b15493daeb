"""An encoder of labels is fitted to the test rows again."""

import numpy as np
import torch
from torch import nn

torch.manual_seed(0)
rng = np.random.default_rng(0)


class LabelEncoder:
    def fit_transform(self, names):
        self.classes = sorted(set(names))
        return self.transform(names)

    def transform(self, names):
        return np.array([self.classes.index(n) for n in names])


def rows(n, names):
    y = rng.choice(names, n)
    return (rng.normal(size=(n, 3)) + np.char.str_len(y)[:, None]).astype(np.float32), list(y)


x, y = rows(80, ["ant", "horse", "elephant"])
x_test, y_test = rows(20, ["horse", "elephant"])
encoder = LabelEncoder()
labels = torch.tensor(encoder.fit_transform(y))
test_labels = torch.tensor(encoder.fit_transform(y_test))  # <- finding
model = nn.Linear(3, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(5):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(torch.tensor(x)), labels)
    loss.backward()
    optimizer.step()
with torch.no_grad():
    print((model(torch.tensor(x_test)).argmax(1) == test_labels).float().mean().item())
