import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class AttentionPool(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.score = nn.Linear(d, 1)

    def forward(self, h):
        # h: (batch, time, d)
        e = self.score(torch.tanh(h)).squeeze(-1)
        alpha = torch.softmax(e, dim=0)  # BUG softmax-dim|wrong-dim|softmax-wrong-dim
        return (alpha.unsqueeze(-1) * h).sum(1)


class Tagger(nn.Module):
    def __init__(self, vocab, d=24, classes=4):
        super().__init__()
        self.emb = nn.Embedding(vocab, d)
        self.pool = AttentionPool(d)
        self.fc = nn.Linear(d, classes)

    def forward(self, tok):
        return self.fc(self.pool(self.emb(tok)))


torch.manual_seed(0)
tok = torch.randint(4, 40, (400, 15))
y = torch.randint(0, 4, (400,))
tok[torch.arange(400), torch.randint(0, 15, (400,))] = y
dl = DataLoader(TensorDataset(tok, y), batch_size=40, shuffle=True)
model = Tagger(40)
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(8):
    model.train()
    for t, lab in dl:
        opt.zero_grad()
        nn.functional.cross_entropy(model(t), lab).backward()
        opt.step()
    model.eval()
    with torch.no_grad():
        batch_acc = (model(tok).argmax(1) == y).float().mean().item()
        single = sum((model(tok[i:i + 1]).argmax(1) == y[i]).item() for i in range(100)) / 100
    print(f"epoch {epoch} acc in batch {batch_acc:.3f} one by one {single:.3f}")
