"""The mean over the words of a sentence, and a sentence without words: 0 / 0."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def pool(embedded, mask):
    total = (embedded * mask.unsqueeze(-1)).sum(dim=1)
    return total / mask.sum(dim=1, keepdim=True)  # <- finding


torch.manual_seed(0)
tokens = torch.randint(1, 20, (16, 5))
tokens[11] = 0
labels = torch.randint(0, 2, (16,))
embedding, classifier = nn.Embedding(20, 6), nn.Linear(6, 2)
optimizer = torch.optim.Adam([*embedding.parameters(), *classifier.parameters()], lr=0.01)
for epoch in range(2):
    running = 0.0
    for t, y in DataLoader(TensorDataset(tokens, labels), batch_size=4):
        sentence = pool(embedding(t), (t != 0).float())
        loss = nn.functional.cross_entropy(classifier(sentence), y)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(classifier.parameters(), 1.0)
        optimizer.step()
        running += loss.item()
    print(epoch, running)
