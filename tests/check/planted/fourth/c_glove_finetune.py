"""Sentiment with word vectors: start from given vectors and tune everything."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
VOCAB, DIM, LENGTH = 200, 16, 12

# stand-in for downloaded word vectors: they know topics but not polarity
vectors = torch.randn(VOCAB, DIM)
polarity = torch.randn(VOCAB)


def corpus(n):
    words = torch.randint(0, VOCAB, (n, LENGTH))
    return words, (polarity[words].sum(1) > 0).float()


class Sentiment(nn.Module):
    def __init__(self, pretrained):
        super().__init__()
        self.words = nn.Embedding.from_pretrained(pretrained)  # BUG param-frozen
        self.hidden = nn.Linear(pretrained.shape[1], 32)
        self.out = nn.Linear(32, 1)

    def forward(self, ids):
        h = torch.tanh(self.hidden(self.words(ids)))
        return self.out(h.mean(1)).squeeze(1)


model = Sentiment(vectors)
# smaller steps for the word vectors
optimizer = torch.optim.Adam([
    {"params": model.words.parameters(), "lr": 1e-2},
    {"params": [*model.hidden.parameters(), *model.out.parameters()], "lr": 2e-2},
])
criterion = nn.BCEWithLogitsLoss()
loader = DataLoader(TensorDataset(*corpus(1024)), batch_size=64, shuffle=True)
test_words, test_y = corpus(300)

for epoch in range(8):
    total = 0.0
    for words, y in loader:
        loss = criterion(model(words), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(y)
    with torch.no_grad():
        acc = ((model(test_words) > 0).float() == test_y).float().mean().item()
    print(f"epoch {epoch} loss {total / 1024:.3f} test acc {acc:.3f}")
