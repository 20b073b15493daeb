import numpy as np
import torch
import torch.nn as nn

# gene expression: few patients, many genes
rng = np.random.default_rng(42)
torch.manual_seed(42)
n_patients, n_genes, k = 120, 3000, 30
expr = rng.normal(size=(n_patients, n_genes)).astype(np.float32)
label = rng.integers(0, 2, n_patients)  # permuted labels: nothing to find here


def top_genes(e, l, k):
    diff = e[l == 1].mean(0) - e[l == 0].mean(0)
    return np.argsort(-np.abs(diff))[:k]


order = rng.permutation(n_patients)
train_idx, test_idx = order[:80], order[80:]
genes = top_genes(expr, label, k)  # BUG data-leak
expr = expr[:, genes]

mu, sd = expr[train_idx].mean(0), expr[train_idx].std(0)
X = torch.from_numpy((expr - mu) / sd)
Y = torch.from_numpy(label)

clf = nn.Linear(k, 2)
opt = torch.optim.Adam(clf.parameters(), lr=0.02, weight_decay=1e-2)
for epoch in range(100):
    opt.zero_grad()
    loss = nn.functional.cross_entropy(clf(X[train_idx]), Y[train_idx])
    loss.backward()
    opt.step()
with torch.no_grad():
    acc = lambda idx: (clf(X[idx]).argmax(1) == Y[idx]).float().mean().item()
    print(f"train loss {loss.item():.3f}  train acc {acc(train_idx):.3f}  test acc {acc(test_idx):.3f}")
print("labels are random, so the honest test accuracy is about 0.5")
