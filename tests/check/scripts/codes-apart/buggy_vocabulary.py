"""Each data set builds a vocabulary of its own texts."""

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(0)


class Texts(Dataset):
    def __init__(self, texts):
        self.texts = [t.split() for t in texts]
        words = sorted({w for t in self.texts for w in t})
        self.vocab = {w: k for k, w in enumerate(words)}  # <- finding

    def __len__(self):
        return len(self.texts)

    def __getitem__(self, i):
        words = self.texts[i]
        return torch.tensor([self.vocab[w] for w in words]), float("good" in words)


train = Texts(["a good film", "bad film again", "the good one", "this bad plot"] * 5)
test = Texts(["the bad film", "that good plot"])
model = nn.EmbeddingBag(12, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
for tokens, label in DataLoader(train, batch_size=4):
    optimizer.zero_grad()
    loss = nn.functional.binary_cross_entropy_with_logits(model(tokens).squeeze(1), label.float())
    loss.backward()
    optimizer.step()
with torch.no_grad():
    for tokens, label in DataLoader(test, batch_size=2):
        print(model(tokens).squeeze(1), label)
