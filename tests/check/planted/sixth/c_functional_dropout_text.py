import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(12)


class SentimentCNN(nn.Module):
    def __init__(self, vocab=100, dim=16, filters=24):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.conv = nn.Conv1d(dim, filters, 3)
        self.fc = nn.Linear(filters, 2)

    def forward(self, tokens):
        e = self.embed(tokens).transpose(1, 2)
        h = F.relu(self.conv(e)).amax(dim=2)
        h = F.dropout(h, p=0.6)  # BUG functional-dropout-always-on|dropout-always-on
        return self.fc(h)


def reviews(n):
    y = torch.randint(0, 2, (n,))
    t = torch.randint(20, 100, (n, 15))
    pos = torch.randint(0, 15, (n,))
    t[torch.arange(n), pos] = y * 10 + torch.randint(0, 10, (n,))
    return t, y


xtr, ytr = reviews(800)
xte, yte = reviews(300)
model = SentimentCNN()
optim = torch.optim.Adam(model.parameters(), lr=8e-3)
for epoch in range(8):
    model.train()
    for idx in torch.randperm(800).split(40):
        optim.zero_grad()
        loss = F.cross_entropy(model(xtr[idx]), ytr[idx])
        loss.backward()
        optim.step()
    model.eval()
    with torch.no_grad():
        acc = (model(xte).argmax(1) == yte).float().mean().item()
    print(f"epoch {epoch} loss {loss.item():.3f} acc {acc:.3f}")
with torch.no_grad():
    print("same answer twice:", torch.equal(model(xte), model(xte)))
