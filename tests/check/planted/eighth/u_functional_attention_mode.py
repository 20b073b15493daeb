import torch
import torch.nn as nn
import torch.nn.functional as F


class Attention(nn.Module):
    """Multi-head attention with one packed projection."""

    def __init__(self, d=16, heads=2, p=0.3):
        super().__init__()
        self.d, self.heads, self.p = d, heads, p
        self.w = nn.Parameter(torch.empty(3 * d, d))
        self.b = nn.Parameter(torch.zeros(3 * d))
        self.out = nn.Linear(d, d)
        nn.init.xavier_uniform_(self.w)

    def forward(self, x):                            # (time, batch, d)
        y, _ = F.multi_head_attention_forward(  # BUG functional-dropout-always-on|eval-in-train-mode
            x, x, x, self.d, self.heads, self.w, self.b, None, None, False, self.p,
            self.out.weight, self.out.bias, need_weights=False)
        return y


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(20, 16)
        self.att = Attention()
        self.norm = nn.LayerNorm(16)
        self.fc = nn.Linear(16, 2)

    def forward(self, ids):
        h = self.embed(ids).transpose(0, 1)
        return self.fc(self.norm(h + self.att(h)).mean(0))


torch.manual_seed(9)
ids = torch.randint(0, 20, (400, 8))
y = ((ids == 3) | (ids == 7)).any(1).long()
net = Classifier()
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for epoch in range(4):
    net.train()
    for rows in torch.randperm(320).split(32):
        opt.zero_grad()
        F.cross_entropy(net(ids[rows]), y[rows]).backward()
        opt.step()
    net.eval()
    with torch.no_grad():
        print(epoch, (net(ids[320:]).argmax(1) == y[320:]).float().mean().item())
