"""Sentiment of token sequences; evaluated every few steps."""
import torch
from torch import nn


class Classifier(nn.Module):
    def __init__(self, vocab=50):
        super().__init__()
        self.emb = nn.EmbeddingBag(vocab, 16)
        self.drop = nn.Dropout(0.4)
        self.fc = nn.Linear(16, 2)

    def forward(self, ids):
        return self.fc(self.drop(self.emb(ids)))


@torch.no_grad()
def evaluate(model, ids, labels):
    model.eval()
    accuracy = (model(ids).argmax(-1) == labels).float().mean().item()
    return accuracy


torch.manual_seed(7)
ids = torch.randint(0, 50, (400, 9))
labels = (ids < 20).sum(1).gt(3).long()
model = Classifier()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
loss_fn = nn.CrossEntropyLoss()
model.train()
for step in range(40):
    rows = torch.randint(0, 320, (32,))
    optimizer.zero_grad()
    loss = loss_fn(model(ids[rows]), labels[rows])
    loss.backward()
    optimizer.step()
    if step % 10 == 9:
        print(step, evaluate(model, ids[320:], labels[320:]))
        model.train()
