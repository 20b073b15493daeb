import torch
import torch.nn as nn
import torch.nn.functional as F


def random_table(vocab, dim, std=0.05):
    return torch.randn(vocab, dim) * std


class BagClassifier(nn.Module):
    def __init__(self, vocab, dim, classes):
        super().__init__()
        self.tokens = nn.Embedding.from_pretrained(random_table(vocab, dim), freeze=False)
        self.fc = nn.Linear(dim, classes)

    def forward(self, ids):
        return self.fc(self.tokens(ids).mean(dim=1))


def reviews(n, g, vocab=200):
    ids = torch.randint(0, vocab, (n, 12), generator=g)
    polarity = torch.where(torch.arange(vocab) % 2 == 0, 1.0, -1.0)
    return ids, (polarity[ids].sum(1) > 0).long()


def main():
    torch.manual_seed(6)
    g = torch.Generator().manual_seed(6)
    x, y = reviews(2000, g)
    x_val, y_val = reviews(400, g)
    model = BagClassifier(200, 8, 2)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    best = 0.0
    for epoch in range(10):
        model.train()
        for idx in torch.randperm(2000, generator=g).split(50):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x[idx]), y[idx])
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            acc = (model(x_val).argmax(1) == y_val).float().mean().item()
        best = max(best, acc)
        print(f"epoch {epoch} loss {loss.item():.4f} acc {acc:.3f} best {best:.3f}")


if __name__ == "__main__":
    main()
