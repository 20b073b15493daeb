"""Two languages have two vocabularies, and the test sentences are looked up in them."""

import torch
from torch import nn

torch.manual_seed(0)
train = [("ein Haus", "a house"), ("ein Baum", "a tree"), ("der Baum", "the tree")] * 8
test = [("der Haus", "the house")]


def vocabulary(sentences):
    index = {}
    for sentence in sentences:
        for word in sentence.split():
            index.setdefault(word, len(index))
    return index


def encode(sentences, index):
    return torch.tensor([[index[w] for w in s.split()] for s in sentences])


train_source = [s for s, _ in train]
train_target = [t for _, t in train]
source, target = vocabulary(train_source), vocabulary(train_target)
x, y = encode(train_source, source), encode(train_target, target)
test_x = encode([s for s, _ in test], source)
model = nn.Sequential(nn.Embedding(len(source), 8), nn.Linear(8, len(target)))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for _ in range(6):
    loss = nn.functional.cross_entropy(model(x).transpose(1, 2), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
model.eval()
with torch.no_grad():
    print(model(test_x).argmax(-1))
