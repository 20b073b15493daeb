"""Sets of strings that are sorted, counted or asked, and sets and hashes of numbers, whose order is the same in each run."""

import torch
from torch import nn

torch.manual_seed(0)
lines = ["the cat sat", "the dog ran", "a cat ran", "a dog sat"]
words = set(" ".join(lines).split())
vocabulary = {word: k for k, word in enumerate(sorted(words))}
known = list({word for line in lines for word in line.split()})
known.sort()
classes = {c: k for k, c in enumerate(set([3, 1, 2]))}
ids = torch.tensor([[vocabulary[word] for word in line.split() if word in words] for line in lines])
embedding, head = nn.Embedding(len(vocabulary), 8), nn.Linear(8, len(classes))
optimizer = torch.optim.SGD([*embedding.parameters(), *head.parameters()], lr=0.1)
for step in range(6):
    target = torch.tensor([hash(k) % 2 for k in range(4)])
    loss = nn.functional.cross_entropy(head(embedding(ids).mean(dim=1)), target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item(), len(known))
