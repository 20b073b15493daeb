import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class AttentionPool(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.score = nn.Linear(dim, 1)

    def forward(self, h):
        scores = self.score(h)
        weights = F.softmax(scores, dim=-1)  # BUG softmax-wrong-dim
        return (weights * h).sum(dim=1), weights


class SequenceClassifier(nn.Module):
    def __init__(self, n_features, hidden, n_classes):
        super().__init__()
        self.rnn = nn.GRU(n_features, hidden, batch_first=True, bidirectional=True)
        self.pool = AttentionPool(2 * hidden)
        self.head = nn.Linear(2 * hidden, n_classes)

    def forward(self, x):
        h, _ = self.rnn(x)
        pooled, weights = self.pool(h)
        return self.head(pooled), weights


def events(n, steps=25):
    x = torch.randn(n, steps, 4)
    y = torch.randint(0, 3, (n,))
    position = torch.randint(0, steps, (n,))
    x[torch.arange(n), position, 0] = 4.0
    x[torch.arange(n), position, 1] = (y.float() - 1) * 3
    return x, y


torch.manual_seed(13)
x, y = events(700)
train = DataLoader(TensorDataset(x[:600], y[:600]), batch_size=30, shuffle=True)
x_val, y_val = x[600:], y[600:]
model = SequenceClassifier(4, 16, 3)
opt = torch.optim.AdamW(model.parameters(), lr=1e-2)
for epoch in range(5):
    model.train()
    for xb, yb in train:
        opt.zero_grad()
        logits, _ = model(xb)
        loss = F.cross_entropy(logits, yb)
        loss.backward()
        opt.step()
    model.eval()
    with torch.no_grad():
        logits, weights = model(x_val)
    acc = (logits.argmax(1) == y_val).float().mean().item()
    print(f"epoch {epoch} acc {acc:.3f} largest weight {weights.max().item():.3f} mean {weights.mean().item():.3f}")
