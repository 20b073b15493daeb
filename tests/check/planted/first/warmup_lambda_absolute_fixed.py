"""Character model with warm-up and inverse square-root decay."""
import torch
from torch import nn
from torch.optim.lr_scheduler import LambdaLR

TEXT = "the quick brown fox jumps over the lazy dog and runs away from the angry bear " * 12
CHARS = sorted(set(TEXT))
IDS = torch.tensor([CHARS.index(c) for c in TEXT])
CTX, WARM, BASE_LR = 6, 20, 5e-3


def schedule(step):
    if step < WARM:
        return (step + 1) / WARM
    return (WARM / (step + 1)) ** 0.5


class CharMLP(nn.Module):
    def __init__(self, v, d=12):
        super().__init__()
        self.emb = nn.Embedding(v, d)
        self.fc = nn.Linear(CTX * d, 64)
        self.out = nn.Linear(64, v)

    def forward(self, ids):
        return self.out(torch.tanh(self.fc(self.emb(ids).flatten(1))))


torch.manual_seed(0)
model = CharMLP(len(CHARS))
opt = torch.optim.Adam(model.parameters(), lr=BASE_LR)
sched = LambdaLR(opt, schedule)
for step in range(250):
    i = torch.randint(0, len(IDS) - CTX - 1, (64,))
    x = torch.stack([IDS[j:j + CTX] for j in i])
    y = IDS[i + CTX]
    loss = nn.functional.cross_entropy(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    sched.step()
    if step % 50 == 0:
        print(step, f"{loss.item():.3f}")
print(f"final loss {loss.item():.3f}")
