import argparse
import torch
import torch.nn as nn

parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default=1e-3)
parser.add_argument("--epochs", type=int, default=8)
args = parser.parse_args([])

torch.manual_seed(4)
img = torch.rand(600, 1, 12, 12)
yy, xx = torch.meshgrid(torch.arange(12.0), torch.arange(12.0), indexing="ij")
shape = torch.randint(0, 3, (600,))
img[shape == 0] += ((yy - 6).abs() < 2).float()
img[shape == 1] += ((xx - 6).abs() < 2).float()
img[shape == 2] += (((yy - 6) ** 2 + (xx - 6) ** 2) < 12).float()

net = nn.Sequential(nn.Conv2d(1, 8, 3, stride=2), nn.ReLU(), nn.Conv2d(8, 16, 3), nn.ReLU(), nn.Flatten(), nn.Linear(144, 3))
opt = torch.optim.Adam(net.parameters(), lr=args.lr)
ce = nn.CrossEntropyLoss()
for ep in range(args.epochs):
    net.train()
    tot = 0.0
    for idx in torch.randperm(500).split(50):
        opt.zero_grad()
        loss = ce(net(img[idx]), shape[idx])
        loss.backward()
        opt.step()
        tot += loss.item()
    net.eval()
    with torch.no_grad():
        acc = (net(img[500:]).argmax(1) == shape[500:]).float().mean().item()
    print(f"[{ep}] loss {tot / 10:.3f} acc {acc:.3f}")
