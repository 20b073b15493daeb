"""Counts of words per document in nested lists, then a topic classifier."""
import random

import torch
from torch import nn
from torch.nn import functional as F

TOPICS = [list(range(14)), list(range(10, 24)), list(range(20, 34))]


def documents(n):
    out = []
    for _ in range(n):
        topic = random.randrange(3)
        out.append(([random.choice(TOPICS[topic]) for _ in range(random.randint(8, 20))], topic))
    return out


def count_matrix(docs, words=34):
    counts = [[0.0] * words] * len(docs)  # <- finding
    for k, (tokens, _) in enumerate(docs):
        for token in tokens:
            counts[k][token] += 1.0
    x = torch.tensor(counts)
    return x / x.sum(1, keepdim=True)


def main():
    random.seed(44)
    torch.manual_seed(44)
    docs = documents(240)
    x = count_matrix(docs)
    y = torch.tensor([topic for _, topic in docs])
    model = nn.Sequential(nn.Linear(34, 24), nn.ReLU(), nn.Linear(24, 3))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for epoch in range(6):
        for rows in torch.randperm(len(x)).split(24):
            loss = F.cross_entropy(model(x[rows]), y[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch} loss {loss.item():.3f}")


main()
