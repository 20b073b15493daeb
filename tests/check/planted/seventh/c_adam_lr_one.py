import argparse
import torch
import torch.nn as nn

parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default=1.0)  # BUG lr-absurd
parser.add_argument("--epochs", type=int, default=25)
parser.add_argument("--batch-size", type=int, default=32)
args = parser.parse_args([])

torch.manual_seed(42)
X = torch.randn(640, 2)
y = ((X[:, 0] * X[:, 1]) > 0).long()          # XOR quadrants

model = nn.Sequential(
    nn.Linear(2, 64), nn.ReLU(),
    nn.Linear(64, 64), nn.ReLU(),
    nn.Linear(64, 2),
)
optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
criterion = nn.CrossEntropyLoss()

for epoch in range(args.epochs):
    perm = torch.randperm(640)
    losses = []
    for i in range(0, 640, args.batch_size):
        idx = perm[i:i + args.batch_size]
        optimizer.zero_grad()
        loss = criterion(model(X[idx]), y[idx])
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    if epoch % 5 == 4:
        print(f"epoch {epoch + 1}: loss {sum(losses) / len(losses):.4f}")

with torch.no_grad():
    print("accuracy:", (model(X).argmax(1) == y).float().mean().item())
