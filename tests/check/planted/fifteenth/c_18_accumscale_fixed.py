"""Gradient accumulation on a text classifier."""
import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--accumulate", type=int, default=4)
parser.add_argument("--lr", type=float, default=0.1)
parser.add_argument("--epochs", type=int, default=4)
args = parser.parse_args()


class TextCNN(nn.Module):
    def __init__(self, vocab=60, dim=16):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.conv = nn.Conv1d(dim, 24, 3, padding=1)
        self.fc = nn.Linear(24, 2)

    def forward(self, tokens):
        h = torch.relu(self.conv(self.embed(tokens).transpose(1, 2)))
        return self.fc(h.amax(dim=2))


def compute_loss(model, batch):
    tokens, labels = batch
    return nn.functional.cross_entropy(model(tokens), labels) / args.accumulate


torch.manual_seed(0)
tokens = torch.randint(0, 60, (640, 10))
labels = (tokens < 6).any(dim=1).long()
loader = DataLoader(TensorDataset(tokens, labels), batch_size=16, shuffle=True)
model = TextCNN()
opt = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
opt.zero_grad()
for epoch in range(args.epochs):
    total = 0.0
    for i, batch in enumerate(loader):
        loss = compute_loss(model, batch)
        loss.backward()
        total += loss.item()
        if (i + 1) % args.accumulate == 0:
            opt.step()
            opt.zero_grad()
    print(f"epoch {epoch} loss {total:.4f}")
