"""Text-CNN whose projection is sized from the first batch."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class TextCNN(nn.Module):
    def __init__(self, v=40, d=12, n_cls=3):
        super().__init__()
        self.emb = nn.Embedding(v, d)
        self.convs = nn.ModuleList([nn.Conv1d(d, 10, k) for k in (2, 3)])
        self.n_cls = n_cls
        self.proj = nn.Linear(20, n_cls)

    def forward(self, ids):
        x = self.emb(ids).transpose(1, 2)
        h = torch.cat([F.relu(c(x)).amax(-1) for c in self.convs], 1)
        return self.proj(h)


def docs(n, gen):
    y = torch.randint(0, 3, (n,), generator=gen)
    ids = torch.randint(6, 40, (n, 15), generator=gen)
    pos = torch.randint(0, 14, (n,), generator=gen)
    rows = torch.arange(n)
    ids[rows, pos], ids[rows, pos + 1] = 2 * y, 2 * y + 1
    return ids, y


def main():
    torch.manual_seed(0)
    gen = torch.Generator().manual_seed(0)
    model = TextCNN()
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    for step in range(150):
        ids, y = docs(32, gen)
        loss = F.cross_entropy(model(ids), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        ids, y = docs(300, gen)
        print("acc", (model(ids).argmax(1) == y).float().mean().item())


main()
