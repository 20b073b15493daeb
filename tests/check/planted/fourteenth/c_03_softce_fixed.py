import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader

CFG = dict(vocab=50, dim=16, hidden=32, classes=12, lr=2e-3, epochs=6, bs=32)


class Tokens(Dataset):
    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        self.y = torch.randint(0, CFG["classes"], (n,), generator=g)
        self.x = torch.randint(CFG["classes"] * 2, CFG["vocab"], (n, 14), generator=g)
        for i in range(n):
            pos = torch.randperm(14, generator=g)[:3]
            self.x[i, pos] = self.y[i] * 2 + torch.randint(0, 2, (3,), generator=g)

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


class TextCNN(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.emb = nn.Embedding(cfg["vocab"], cfg["dim"])
        self.convs = nn.ModuleList([nn.Conv1d(cfg["dim"], cfg["hidden"], k) for k in (1, 3)])
        self.drop = nn.Dropout(0.2)
        self.out = nn.Sequential(
            nn.Linear(2 * cfg["hidden"], cfg["classes"]),
        )

    def forward(self, x):
        e = self.emb(x).transpose(1, 2)
        h = [torch.relu(c(e)).amax(dim=2) for c in self.convs]
        return self.out(self.drop(torch.cat(h, dim=1)))


def evaluate(model, dl):
    model.eval()
    right = n = 0
    conf = 0.0
    with torch.no_grad():
        for x, y in dl:
            out = model(x)
            prob = out.softmax(-1)
            conf += prob.amax(1).sum().item()
            right += (out.argmax(1) == y).sum().item()
            n += len(y)
    return right / n, conf / n


def main(cfg):
    torch.manual_seed(0)
    tr = DataLoader(Tokens(600, 1), batch_size=cfg["bs"], shuffle=True)
    va = DataLoader(Tokens(200, 2), batch_size=cfg["bs"])
    model = TextCNN(cfg)
    crit = nn.CrossEntropyLoss()
    opt = torch.optim.AdamW(model.parameters(), lr=cfg["lr"])
    for ep in range(cfg["epochs"]):
        model.train()
        for x, y in tr:
            opt.zero_grad(set_to_none=True)
            loss = crit(model(x), y)
            loss.backward()
            opt.step()
        acc, conf = evaluate(model, va)
        print(f"ep {ep} loss {loss.item():.3f} acc {acc:.3f} conf {conf:.3f}")
    print(f"final acc {acc:.3f}")


main(CFG)
