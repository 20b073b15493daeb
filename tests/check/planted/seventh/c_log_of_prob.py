import torch
import torch.nn as nn

torch.manual_seed(17)


class FocalLikeLoss(nn.Module):
    """Hand-written binary cross entropy with a weight for the rare class."""

    def __init__(self, pos_weight):
        super().__init__()
        self.w = pos_weight

    def forward(self, prob, y):
        pos = self.w * y * torch.log(prob)  # BUG nan-born
        neg = (1 - y) * torch.log(1 - prob)  # BUG nan-born
        return -(pos + neg).mean()


amount = torch.randn(2000, 5) * torch.tensor([1.0, 1.0, 1.0, 30.0, 80.0])
fraud = (amount[:, 4] + 10 * amount[:, 0] > 120).float()
print("fraud rate", fraud.mean().item())
model = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 1), nn.Sigmoid())
criterion = FocalLikeLoss(pos_weight=5.0)
opt = torch.optim.Adam(model.parameters(), lr=0.02)

for epoch in range(8):
    total = 0.0
    for idx in torch.randperm(2000).split(100):
        opt.zero_grad()
        loss = criterion(model(amount[idx]).squeeze(1), fraud[idx])
        loss.backward()
        opt.step()
        total += loss.item()
    print("epoch", epoch, "loss", total / 20)
flagged = (model(amount).squeeze(1) > 0.5).float()
print("finite weights:", all(p.isfinite().all().item() for p in model.parameters()))
print("recall", (flagged * fraud).sum().item() / fraud.sum().item())
