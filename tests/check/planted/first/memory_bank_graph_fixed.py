"""Instance discrimination with a queue of negatives from past batches."""
from collections import deque
import torch
import torch.nn as nn
import torch.nn.functional as F


class Bank:
    def __init__(self, size=40):
        self.q = deque(maxlen=size)

    def add(self, z):
        self.q.append(z.detach())

    def negatives(self):
        return torch.cat(list(self.q)).detach()


def main():
    torch.manual_seed(0)
    enc = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 16))
    opt = torch.optim.Adam(enc.parameters(), lr=2e-3)
    bank = Bank()
    bank.add(F.normalize(torch.randn(32, 16), dim=1))
    data = torch.randn(640, 20)
    log = []
    for step in range(160):
        x = data[torch.randint(0, 640, (32,))]
        a = F.normalize(enc(x + 0.1 * torch.randn_like(x)), dim=1)
        b = F.normalize(enc(x + 0.1 * torch.randn_like(x)), dim=1)
        pos = (a * b).sum(1, keepdim=True)
        neg = a @ bank.negatives().t()
        logits = torch.cat([pos, neg], 1) / 0.2
        loss = F.cross_entropy(logits, torch.zeros(32, dtype=torch.long))
        opt.zero_grad()
        loss.backward()
        opt.step()
        bank.add(b)
        log.append((logits.argmax(1) == 0).float().mean().item())
    print(f"positive ranked first: {sum(log[-20:]) / 20:.3f}")


main()
