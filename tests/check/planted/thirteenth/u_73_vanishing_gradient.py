import torch
import torch.nn as nn
import torch.nn.functional as F


def init_weights(module):
    if isinstance(module, nn.Linear):  # BUG vanishing-gradient
        nn.init.trunc_normal_(module.weight, std=0.02)  # BUG vanishing-gradient
        nn.init.zeros_(module.bias)
    elif isinstance(module, nn.Embedding):
        nn.init.normal_(module.weight, std=0.5)


class Matcher(nn.Module):
    """Do two symbols belong to the same hidden group?"""

    def __init__(self, n_symbols=24, dim=16, width=32, depth=6):
        super().__init__()
        self.embed = nn.Embedding(n_symbols, dim)
        layers, n_in = [], 2 * dim
        for _ in range(depth):
            layers += [nn.Linear(n_in, width), nn.Tanh()]
            n_in = width
        self.body = nn.Sequential(*layers)
        self.out = nn.Linear(width, 1)
        self.apply(init_weights)  # BUG vanishing-gradient

    def forward(self, pair):
        return self.out(self.body(self.embed(pair).flatten(1))).squeeze(1)


def pairs(n, group, g):
    p = torch.randint(0, len(group), (n, 2), generator=g)
    return p, (group[p[:, 0]] == group[p[:, 1]]).float()


def main():
    torch.manual_seed(40)
    g = torch.Generator().manual_seed(40)
    group = torch.randint(0, 2, (24,), generator=g)
    x, y = pairs(3000, group, g)
    x_val, y_val = pairs(500, group, g)
    model = Matcher()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    for epoch in range(10):
        model.train()
        for idx in torch.randperm(3000, generator=g).split(60):
            optimizer.zero_grad()
            loss = F.binary_cross_entropy_with_logits(model(x[idx]), y[idx])
            loss.backward()
            optimizer.step()
        first, last = (m.weight.grad.norm().item() for m in (model.body[0], model.out))
        model.eval()
        with torch.no_grad():
            acc = ((model(x_val) > 0).float() == y_val).float().mean().item()
        print(f"epoch {epoch} loss {loss.item():.4f} acc {acc:.3f} grad first {first:.1e} last {last:.1e}")


if __name__ == "__main__":
    main()
