"""A vocabulary is numbered in the order of a set of strings."""

import torch
from torch import nn

torch.manual_seed(0)
lines = ["the cat sat", "the dog ran", "a cat ran", "a dog sat"]
vocabulary = {word: k for k, word in enumerate({word for line in lines for word in line.split()})}  # <- finding
ids = torch.tensor([[vocabulary[word] for word in line.split()] for line in lines])
embedding, head = nn.Embedding(len(vocabulary), 8), nn.Linear(8, 2)
optimizer = torch.optim.SGD([*embedding.parameters(), *head.parameters()], lr=0.1)
for step in range(6):
    loss = nn.functional.cross_entropy(head(embedding(ids).mean(dim=1)), torch.tensor([0, 0, 1, 1]))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
