import torch
import torch.nn as nn
import torch.nn.functional as F


class TransferNet(nn.Module):
    """The stem's batch norm stays in inference mode; everything else follows the usual switch."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Linear(15, 40), nn.BatchNorm1d(40, affine=False))
        self.tail = nn.Sequential(nn.ReLU(), nn.Dropout(0.5), nn.Linear(40, 40), nn.ReLU(), nn.Dropout(0.5))
        self.head = nn.Linear(40, 5)

    def forward(self, x):
        return self.head(self.tail(self.stem(x)))

    def train(self, mode=True):  # BUG eval-in-train-mode
        super().train()  # BUG eval-in-train-mode
        self.stem[1].eval()
        return self


def calibrate(model, x):
    with torch.no_grad():
        h = model.stem[0](x)
        model.stem[1].running_mean.copy_(h.mean(0))
        model.stem[1].running_var.copy_(h.var(0))


def main():
    torch.manual_seed(26)
    proto = torch.randn(5, 15)
    y = torch.randint(0, 5, (1000,))
    x = proto[y] + 1.3 * torch.randn(1000, 15)
    x_train, y_train, x_val, y_val = x[:800], y[:800], x[800:], y[800:]
    model = TransferNet()
    calibrate(model, x_train)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(10):
        model.train()
        for idx in torch.randperm(800).split(40):
            optimizer.zero_grad()
            F.cross_entropy(model(x_train[idx]), y_train[idx]).backward()
            optimizer.step()
        model.eval()  # BUG eval-in-train-mode
        with torch.no_grad():
            out = model(x_val)
        acc = (out.argmax(1) == y_val).float().mean().item()
        print(f"epoch {epoch} val loss {F.cross_entropy(out, y_val).item():.4f} acc {acc:.3f}")


main()
