# Loudness classes of short recordings, conv net with batch norm
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(1)


def recordings(n):
    loud = torch.randint(0, 2, (n,))
    amp = torch.where(loud == 1, 2.0, 0.7)
    return amp[:, None, None] * torch.randn(n, 1, 80), loud


ds = TensorDataset(*recordings(320))
xt, yt = recordings(200)
loader = DataLoader(ds, shuffle=True)  # BUG batchnorm-batch-of-one
net = nn.Sequential(nn.Conv1d(1, 8, 5), nn.BatchNorm1d(8), nn.ReLU(),
                    nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(8, 2))
opt = torch.optim.Adam(net.parameters(), lr=0.01)
for epoch in range(6):
    net.train()
    total = 0.0
    for x, y in loader:
        opt.zero_grad()
        loss = nn.functional.cross_entropy(net(x), y)
        loss.backward()
        opt.step()
        total += loss.item()
    print("epoch", epoch, "loss", total / len(loader))
net.eval()
print("accuracy", (net(xt).argmax(1) == yt).float().mean().item())
