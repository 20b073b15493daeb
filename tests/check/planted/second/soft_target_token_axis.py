"""Word-level distillation of a teacher's token distributions."""
import torch
import torch.nn as nn
import torch.nn.functional as F

V, T = 12, 6


class Student(nn.Module):
    def __init__(self, d=24):
        super().__init__()
        self.emb = nn.Embedding(V, d)
        self.rnn = nn.GRU(d, d, batch_first=True)
        self.out = nn.Linear(d, V)

    def forward(self, ids):
        return self.out(self.rnn(self.emb(ids))[0])


def teacher(ids):
    """the next token is the double of the current one, with some smoothing"""
    hard = F.one_hot((2 * ids) % V, V).float()
    return 0.9 * hard + 0.1 / V


torch.manual_seed(0)
net = Student()
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for step in range(150):
    ids = torch.randint(0, V, (32, T))
    target = teacher(ids)
    loss = F.cross_entropy(net(ids), target)  # BUG class-dim-misplaced
    opt.zero_grad()
    loss.backward()
    opt.step()
with torch.no_grad():
    ids = torch.randint(0, V, (200, T))
    print("loss", loss.item(), "agreement", (net(ids).argmax(-1) == (2 * ids) % V).float().mean().item())
