"""Text classification with pretrained word vectors."""

import numpy as np
import torch
from torch import nn


class Bag(nn.Module):
    def __init__(self, vocab, dim, classes):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.fc = nn.Linear(dim, classes)

    def forward(self, tokens):
        return self.fc(self.embed(tokens).mean(1))

    def load_vectors(self, table):
        self.embed.weight.data.copy_(torch.as_tensor(table, dtype=torch.float32))


def main(epochs=4):
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    model = Bag(50, 8, 2)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-2)
    model.load_vectors(rng.normal(size=(50, 8)))
    tokens = torch.from_numpy(rng.integers(0, 50, size=(80, 12)))
    labels = (tokens < 25).float().mean(1).gt(0.5).long()
    start = model.embed.weight.detach().clone()
    for epoch in range(epochs):
        for i in range(0, 80, 20):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(tokens[i : i + 20]), labels[i : i + 20])
            loss.backward()
            optimizer.step()
    print("loss", round(loss.item(), 3), "vectors moved", bool((model.embed.weight != start).any()))


main()
