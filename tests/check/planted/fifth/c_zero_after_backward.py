# Wine quality classes, training step factored out.
import torch
from torch import nn

torch.manual_seed(16)
X = torch.randn(900, 11)
quality = torch.bucketize(X[:, 0] + X[:, 4] - X[:, 7], torch.tensor([-1.0, 1.0]))
train, test = slice(0, 700), slice(700, 900)


def train_step(model, optimizer, xb, yb):
    model.train()
    loss = nn.functional.cross_entropy(model(xb), yb)
    loss.backward()
    optimizer.zero_grad()  # BUG zero-between-backward-and-step
    optimizer.step()  # BUG zero-between-backward-and-step
    return loss.item()


def accuracy(model, xb, yb):
    model.eval()
    with torch.no_grad():
        return (model(xb).argmax(1) == yb).float().mean().item()


model = nn.Sequential(nn.Linear(11, 40), nn.ReLU(), nn.Dropout(0.1), nn.Linear(40, 3))
optimizer = torch.optim.RMSprop(model.parameters(), lr=2e-3)
for epoch in range(10):
    losses = []
    for idx in torch.randperm(700).split(70):
        losses.append(train_step(model, optimizer, X[train][idx], quality[train][idx]))
    print(f"epoch {epoch} loss {sum(losses) / len(losses):.4f} test {accuracy(model, X[test], quality[test]):.3f}")
