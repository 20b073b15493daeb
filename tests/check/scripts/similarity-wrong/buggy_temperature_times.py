"""Supervised contrastive learning."""
import torch
from torch import nn
from torch.nn import functional as F


class SupConLoss(nn.Module):
    def __init__(self, temperature=0.1):
        super().__init__()
        self.temperature = temperature

    def forward(self, z, labels):
        n = len(z)
        eye = torch.eye(n, dtype=torch.bool)
        sim = z @ z.t() * self.temperature  # <- finding
        sim = sim.masked_fill(eye, float("-inf"))
        log_prob = F.log_softmax(sim, dim=1)
        positive = (labels[:, None] == labels[None, :]) & ~eye
        log_prob = log_prob.masked_fill(~positive, 0.0)
        count = positive.sum(1)
        valid = count > 0
        return -(log_prob.sum(1)[valid] / count[valid]).mean()


def clusters(n, k=5):
    y = torch.randint(0, k, (n,))
    centres = torch.randn(k, 16)
    return centres[y] + 0.8 * torch.randn(n, 16), y


def main():
    torch.manual_seed(27)
    x, y = clusters(320)
    encoder = nn.Sequential(nn.Linear(16, 48), nn.ReLU(), nn.Linear(48, 12))
    criterion = SupConLoss()
    optimizer = torch.optim.Adam(encoder.parameters(), lr=3e-3)
    for epoch in range(6):
        total = 0.0
        for rows in torch.randperm(len(x)).split(64):
            z = F.normalize(encoder(x[rows]), dim=1)
            loss = criterion(z, y[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(rows)
        print(f"epoch {epoch} loss {total / len(x):.4f}")


main()
