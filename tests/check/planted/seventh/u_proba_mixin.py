import torch
from torch import nn


class ProbaMixin:
    """Gives every classifier a scikit-learn like interface."""

    def predict_proba(self, x):
        self.eval()
        with torch.no_grad():
            return self(x)  # BUG logits-as-probs

    def predict(self, x, cutoff=0.2):
        return (self.predict_proba(x) > cutoff).long()


class Screening(ProbaMixin, nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(6, 1)

    def forward(self, x):
        return self.lin(x).squeeze(1)


torch.manual_seed(10)
x = torch.randn(3000, 6)
p = torch.sigmoid(1.2 * x[:, 0] - x[:, 1] - 1.5)
y = torch.bernoulli(p)
clf = Screening()
opt = torch.optim.Adam(clf.parameters(), lr=0.02)
for epoch in range(12):
    for b in torch.randperm(2000).split(100):
        opt.zero_grad()
        nn.functional.binary_cross_entropy_with_logits(clf(x[b]), y[b]).backward()
        opt.step()
xt, yt = x[2000:], y[2000:]
pr = clf.predict_proba(xt)
print("Brier score", ((pr - yt) ** 2).mean().item(), "range", pr.min().item(), pr.max().item())
print("sensitivity at cutoff 0.2:", clf.predict(xt)[yt == 1].float().mean().item())
