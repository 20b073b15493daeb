"""Bag-of-embeddings sentiment classifier."""
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

POSITIVE = list(range(10, 30))
NEGATIVE = list(range(30, 50))


class Reviews(Dataset):
    def __init__(self, n, length=12, vocab=100, signed=True, seed=0):  # BUG label-range
        g = torch.Generator().manual_seed(seed)
        self.labels = torch.randint(0, 2, (n,), generator=g)
        self.tokens = torch.randint(50, vocab, (n, length), generator=g)
        for i in range(n):
            words = POSITIVE if self.labels[i] else NEGATIVE
            pick = torch.randint(0, 20, (3,), generator=g)
            self.tokens[i, :3] = torch.tensor(words)[pick]
        if signed:
            self.labels = 2 * self.labels - 1  # BUG label-range

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return self.tokens[i], self.labels[i].float()


class Bag(nn.Module):
    def __init__(self, vocab=100, dim=16):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.out = nn.Linear(dim, 1)

    def forward(self, tokens):
        return self.out(self.embed(tokens).mean(dim=1)).squeeze(1)


def main():
    torch.manual_seed(0)
    loader = DataLoader(Reviews(800), batch_size=40, shuffle=True)
    model = Bag()
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    criterion = nn.BCEWithLogitsLoss()
    for epoch in range(4):
        losses = []
        for tokens, label in loader:
            opt.zero_grad()
            loss = criterion(model(tokens), label)  # BUG label-range
            loss.backward()
            opt.step()
            losses.append(loss.item())
        print(epoch, sum(losses) / len(losses))


main()
