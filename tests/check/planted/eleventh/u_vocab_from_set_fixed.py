"""Sentiment of short texts with a vocabulary of its words."""

import torch
from torch import nn

TEXTS = [
    ("a fine warm day", 1),
    ("bad cold rain", 0),
    ("fine food and warm bread", 1),
    ("cold soup and bad bread", 0),
    ("warm soup on a cold day", 1),
    ("rain on bad day", 0),
]


def vocabulary(texts):
    words = {word for text, _ in texts for word in text.split()}
    return {word: i for i, word in enumerate(sorted(words))}


torch.manual_seed(0)
vocab = vocabulary(TEXTS)
model = nn.EmbeddingBag(len(vocab), 8)
head = nn.Linear(8, 2)
opt = torch.optim.SGD([*model.parameters(), *head.parameters()], lr=0.3)
for epoch in range(5):
    for text, label in TEXTS:
        tokens = torch.tensor([[vocab[w] for w in text.split()]])
        loss = nn.functional.cross_entropy(head(model(tokens)), torch.tensor([label]))
        opt.zero_grad()
        loss.backward()
        opt.step()
print("loss", loss.item())
