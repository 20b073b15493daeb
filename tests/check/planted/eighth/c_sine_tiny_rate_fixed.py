import argparse

import torch
import torch.nn as nn

parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default=1e-2)
parser.add_argument("--epochs", type=int, default=60)
args = parser.parse_args([])

torch.manual_seed(1)
t = torch.linspace(-3, 3, 120).unsqueeze(1)
wave = torch.sin(2 * t)
net = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=args.lr)
for epoch in range(args.epochs):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(net(t), wave)
    loss.backward()
    optimizer.step()
    if epoch % 20 == 0:
        print(epoch, loss.item())
