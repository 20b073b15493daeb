"""Gene expression classifier: 60 patients, 3000 genes, best genes chosen by t score."""
import numpy as np
import torch
from torch import nn

rng = np.random.default_rng(7)
torch.manual_seed(7)
PATIENTS, GENES, KEEP = 60, 3000, 30
expr = rng.standard_normal((PATIENTS, GENES)).astype(np.float32)
status = rng.permutation(np.repeat([0, 1], PATIENTS // 2))   # no relation to expr: chance is 0.5
order = rng.permutation(PATIENTS)
train, test = order[:40], order[40:]


def t_scores(x, y):
    a, b = x[y == 0], x[y == 1]
    return np.abs(a.mean(0) - b.mean(0)) / np.sqrt(a.var(0) / len(a) + b.var(0) / len(b))


genes = np.argsort(-t_scores(expr[train], status[train]))[:KEEP]
X = torch.from_numpy(expr[:, genes])
y = torch.from_numpy(status)

clf = nn.Linear(KEEP, 2)
opt = torch.optim.Adam(clf.parameters(), lr=0.02, weight_decay=1e-2)
ce = nn.CrossEntropyLoss()
for epoch in range(80):
    opt.zero_grad()
    loss = ce(clf(X[train]), y[train])
    loss.backward()
    opt.step()

with torch.no_grad():
    print("train acc", (clf(X[train]).argmax(1) == y[train]).float().mean().item())
    print("test  acc", (clf(X[test]).argmax(1) == y[test]).float().mean().item())
