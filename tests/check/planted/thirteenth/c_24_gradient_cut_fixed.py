import torch
import torch.nn as nn
import torch.nn.functional as F


class MultiTask(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(8, 40), nn.ReLU())
        self.classifier = nn.Linear(40, 3)
        self.regressor = nn.Linear(40, 1)

    def forward(self, x):
        h = self.trunk(x)
        return self.classifier(h), self.regressor(h).squeeze(1)


def make(n):
    x = torch.randn(n, 8)
    cls = x[:, :3].argmax(dim=1)
    reg = x[:, 3] - 0.5 * x[:, 4] + 0.3 * x[:, 5] ** 2
    return x, cls, reg


def combined_loss(logits, value, cls, reg, weights=(1.0, 0.5)):
    losses = [F.cross_entropy(logits, cls), F.mse_loss(value, reg)]
    weighted = torch.stack([w * l for w, l in zip(weights, losses)])
    return weighted.sum()


def main():
    torch.manual_seed(12)
    x, cls, reg = make(1200)
    x_val, cls_val, reg_val = make(300)
    model = MultiTask()
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
    for epoch in range(10):
        model.train()
        for idx in torch.randperm(len(x)).split(60):
            optimizer.zero_grad()
            logits, value = model(x[idx])
            loss = combined_loss(logits, value, cls[idx], reg[idx])
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            logits, value = model(x_val)
        acc = (logits.argmax(1) == cls_val).float().mean().item()
        print(f"epoch {epoch} loss {loss.item():.3f} acc {acc:.3f} mse {F.mse_loss(value, reg_val).item():.3f}")


if __name__ == "__main__":
    main()
