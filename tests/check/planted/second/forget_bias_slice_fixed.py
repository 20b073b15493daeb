"""LSTM that must remember the first token for thirty steps."""
import torch
from torch import nn

N, T = 3, 20


class Memory(nn.Module):
    def __init__(self, d=24):
        super().__init__()
        self.emb = nn.Embedding(N + 4, 8)
        self.lstm = nn.LSTM(8, d, batch_first=True)
        self.out = nn.Linear(d, N)
        # set the bias of the forget gate (gates are ordered i, f, g, o)
        for name, b in self.lstm.named_parameters():
            if name.startswith("bias"):
                with torch.no_grad():
                    b[d:2 * d] = 1.5

    def forward(self, ids):
        h, _ = self.lstm(self.emb(ids))
        return self.out(h[:, -1])


def batch(n, gen):
    ids = torch.randint(N, N + 4, (n, T), generator=gen)
    ids[:, 0] = torch.randint(0, N, (n,), generator=gen)
    return ids, ids[:, 0].clone()


def main():
    torch.manual_seed(0)
    gen = torch.Generator().manual_seed(0)
    net = Memory()
    opt = torch.optim.Adam(net.parameters(), lr=1e-2)
    for step in range(150):
        ids, y = batch(48, gen)
        loss = nn.functional.cross_entropy(net(ids), y)
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        opt.step()
    with torch.no_grad():
        ids, y = batch(300, gen)
        print("recall", (net(ids).argmax(1) == y).float().mean().item(), "chance", 1 / N)


main()
