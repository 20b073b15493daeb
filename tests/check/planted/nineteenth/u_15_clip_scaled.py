"""Mixed precision training of a small convolutional regressor with gradient clipping."""
import torch
from torch import nn


class Counter(nn.Module):
    """Counts bright pixels."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 8, 3, padding=1), nn.ReLU())
        self.fc = nn.Linear(8, 1)

    def forward(self, x):
        return self.fc(self.conv(x).mean((2, 3))).squeeze(-1)


def batch(n=32):
    p = torch.rand(n, 1, 1, 1) * 0.5
    x = (torch.rand(n, 1, 12, 12) < p).float()
    return x, x.mean((1, 2, 3))


def main():
    torch.manual_seed(0)
    model = Counter()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0 ** 14)
    for step in range(50):
        x, y = batch()
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            pred = model(x)
        loss = nn.functional.mse_loss(pred.float(), y)
        scaler.scale(loss).backward()
        nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)  # BUG clipping-without-effect
        scaler.step(optimizer)  # BUG clipping-without-effect
        scaler.update()
        if step % 10 == 0:
            print(step, loss.item())


main()
