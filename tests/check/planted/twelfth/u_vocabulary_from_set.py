"""A bag of words; the vocabulary is built from the texts."""

import torch
from torch import nn

torch.manual_seed(60)
texts = [
    "good film and good actors", "a bad and boring film", "boring plot bad actors",
    "a good plot", "great film great plot", "bad film", "great actors", "a boring evening",
]
labels = torch.tensor([1.0, 0, 0, 1, 1, 0, 1, 0])
words = list({word for text in texts for word in text.split()})  # BUG nondeterminism
index = {word: i for i, word in enumerate(words)}


def encode(text):
    row = torch.zeros(len(words))
    for word in text.split():
        row[index[word]] += 1
    return row


x = torch.stack([encode(t) for t in texts])
model = nn.Sequential(nn.Linear(len(words), 8), nn.ReLU(), nn.Linear(8, 1))
opt = torch.optim.Adam(model.parameters(), lr=0.05)
for epoch in range(30):
    opt.zero_grad()
    loss = nn.functional.binary_cross_entropy_with_logits(model(x).squeeze(1), labels)
    loss.backward()
    opt.step()
print(loss.item())
