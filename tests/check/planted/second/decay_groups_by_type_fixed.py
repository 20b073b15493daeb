"""Weight-decay groups for a small transformer."""
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self, v=24, d=24, t=8, n_cls=4):
        super().__init__()
        self.tok = nn.Embedding(v, d)
        self.pos = nn.Embedding(t, d)
        self.enc = nn.TransformerEncoderLayer(d, 4, 48, dropout=0.0, batch_first=True)
        self.head = nn.Linear(d, n_cls)

    def forward(self, ids):
        x = self.tok(ids) + self.pos(torch.arange(ids.shape[1]))
        return self.head(self.enc(x).mean(1))


def groups(model, wd):
    decay, plain = [], []
    for m in model.modules():
        for name, p in m.named_parameters(recurse=False):
            if isinstance(m, (nn.Linear, nn.MultiheadAttention)):
                (plain if name.endswith("bias") else decay).append(p)
            else:
                plain.append(p)
    return [{"params": decay, "weight_decay": wd}, {"params": plain, "weight_decay": 0.0}]


def batch(n):
    ids = torch.randint(0, 24, (n, 8))
    return ids, ids[:, 0] % 4


torch.manual_seed(0)
net = Net()
opt = torch.optim.AdamW(groups(net, 0.01), lr=3e-3)
for step in range(200):
    ids, y = batch(48)
    loss = nn.functional.cross_entropy(net(ids), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
net.eval()
with torch.no_grad():
    ids, y = batch(400)
    print("loss", loss.item(), "acc", (net(ids).argmax(1) == y).float().mean().item())
