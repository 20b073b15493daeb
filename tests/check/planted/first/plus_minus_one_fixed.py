"""Linear SVM data set (labels -1 and 1) classified by logistic regression."""
import torch
import torch.nn as nn


def svm_file(n):
    """lines in libsvm format, as read from disk"""
    lines = []
    for row in torch.randn(n, 5).tolist():
        lab = "+1" if row[0] + row[1] - row[2] > 0.2 else "-1"
        lines.append(lab + " " + " ".join(f"{i + 1}:{v:.4f}" for i, v in enumerate(row)))
    return lines


def parse(lines):
    xs, ys = [], []
    for line in lines:
        lab, *feats = line.split()
        xs.append([float(f.split(":")[1]) for f in feats])
        ys.append(1.0 if float(lab) > 0 else 0.0)
    return torch.tensor(xs), torch.tensor(ys)


torch.manual_seed(0)
x, y = parse(svm_file(600))
model = nn.Linear(5, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.5)
bce = nn.BCEWithLogitsLoss()
for epoch in range(30):
    for idx in torch.randperm(500).split(50):
        loss = bce(model(x[idx]).squeeze(1), y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
with torch.no_grad():
    acc = ((model(x[500:]).squeeze(1) > 0) == (y[500:] > 0)).float().mean()
print(f"loss {loss.item():.3f} held-out acc {acc:.3f}")
