"""Tags of a short text: several can be right at once."""

import torch
import torch.nn as nn


class Tagger(nn.Module):
    def __init__(self, vocab, tags, dim=24):
        super().__init__()
        self.bag = nn.EmbeddingBag(vocab, dim)
        self.classifier = nn.Sequential(nn.Linear(dim, 32), nn.ReLU(), nn.Linear(32, tags))

    def forward(self, tokens):
        return torch.sigmoid(self.classifier(self.bag(tokens)))  # BUG sigmoid-before-bce-logits


def batches(n, size):
    g = torch.Generator().manual_seed(8)
    for _ in range(n):
        tokens = torch.randint(0, 60, (size, 12), generator=g)
        tags = torch.stack([(tokens % 5 == k).sum(1) > 2 for k in range(5)], 1).float()
        yield tokens, tags


torch.manual_seed(0)
model = Tagger(60, 5)
pos_weight = torch.full((5,), 1.5)
loss_fn = nn.BCEWithLogitsLoss(pos_weight=pos_weight)
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
for step, (tokens, tags) in enumerate(batches(40, 32)):
    loss = loss_fn(model(tokens), tags)  # BUG sigmoid-before-bce-logits
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    if step % 10 == 9:
        print(step + 1, loss.item())
