"""Consistency training (two noisy views of one row agree) for semi-supervised tabular data."""
import torch
import torch.nn.functional as F
from torch import nn


def make_rows(n, generator):
    x = torch.randn(n, 10, generator=generator)
    y = (x[:, 0] + x[:, 1] * x[:, 2] > 0).long() + (x[:, 3] > 1).long()
    return x, y


class TabularNet(nn.Module):
    def __init__(self, n_in, n_out, width=48):
        super().__init__()
        self.inp = nn.Linear(n_in, width)
        self.mid = nn.Linear(width, width)
        self.out = nn.Linear(width, n_out)

    def forward(self, x):
        h = F.gelu(self.inp(x))
        h = h + F.gelu(self.mid(h))
        return self.out(h)


def consistency(model, x, noise=0.1):
    with torch.no_grad():
        target = model(x).softmax(dim=-1)
    noisy = model(x + noise * torch.randn_like(x))
    return F.kl_div(noisy.log_softmax(dim=-1), target, reduction="batchmean")


def main():
    torch.manual_seed(8)
    gen = torch.Generator().manual_seed(1)
    x_lab, y_lab = make_rows(64, gen)
    x_unlab, _ = make_rows(512, gen)
    x_test, y_test = make_rows(200, gen)
    model = TabularNet(10, 3)
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-3, weight_decay=1e-4)
    for step in range(60):
        lab = torch.randint(0, len(x_lab), (32,))
        unlab = torch.randint(0, len(x_unlab), (64,))
        supervised = F.cross_entropy(model(x_lab[lab]), y_lab[lab])
        unsupervised = consistency(model, x_unlab[unlab])
        loss = supervised + 0.5 * unsupervised
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 20 == 0:
            print(step, supervised.item(), unsupervised.item())
    model.eval()
    with torch.no_grad():
        print("test", (model(x_test).argmax(-1) == y_test).float().mean().item())


if __name__ == "__main__":
    main()
