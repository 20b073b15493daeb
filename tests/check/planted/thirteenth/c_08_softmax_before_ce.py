import logging

import torch
import torch.nn as nn

logging.basicConfig(level=logging.INFO, format="%(message)s")
log = logging.getLogger("digits")


class MLP(nn.Module):
    def __init__(self, n_in=30, n_hidden=48, n_classes=12):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(n_in, n_hidden),
            nn.ReLU(),
            nn.Linear(n_hidden, n_classes),
            nn.Softmax(dim=1),  # BUG softmax-before-ce
        )

    def forward(self, x):
        return self.layers(x)  # BUG softmax-before-ce


def synth(n, proto, gen):
    y = torch.randint(0, len(proto), (n,), generator=gen)
    return proto[y] + torch.randn(n, proto.shape[1], generator=gen), y


def main():
    torch.manual_seed(21)
    gen = torch.Generator().manual_seed(21)
    proto = torch.randn(12, 30, generator=gen)
    x, y = synth(1500, proto, gen)
    xv, yv = synth(400, proto, gen)
    model = MLP()
    loss_fn = nn.CrossEntropyLoss()  # BUG softmax-before-ce
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(10):
        model.train()
        for batch in torch.randperm(len(x), generator=gen).split(50):
            optimizer.zero_grad()
            loss = loss_fn(model(x[batch]), y[batch])  # BUG softmax-before-ce
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            out = model(xv)
            log.info("epoch %d val loss %.3f acc %.3f", epoch, loss_fn(out, yv).item(),
                     (out.argmax(1) == yv).float().mean().item())


if __name__ == "__main__":
    main()
