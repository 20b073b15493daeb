import copy

import torch
import torch.nn as nn
import torch.nn.functional as F


class Member(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(1, 40)
        self.fc2 = nn.Linear(40, 1)

    def forward(self, x):
        return self.fc2(torch.tanh(self.fc1(x)))

    def perturb(self, scale):
        with torch.no_grad():
            for p in self.parameters():
                p.add_(scale * torch.randn_like(p))


class Ensemble:
    """Bootstrap ensemble for predictive uncertainty."""

    def __init__(self, template, size):
        self.members, self.optimizers = [], []
        for _ in range(size):
            member = copy.copy(template)  # BUG param-shared
            member.perturb(0.5)  # BUG param-shared
            self.members.append(member)
            self.optimizers.append(torch.optim.Adam(member.parameters(), lr=1e-2))

    def fit(self, x, y, epochs):
        for member, optimizer in zip(self.members, self.optimizers):
            pick = torch.randint(0, len(x), (len(x),))
            xb, yb = x[pick], y[pick]
            member.train()
            for _ in range(epochs):
                optimizer.zero_grad()
                loss = F.mse_loss(member(xb), yb)
                loss.backward()
                optimizer.step()
            print(f"member loss {loss.item():.4f}")

    @torch.no_grad()
    def predict(self, x):
        for member in self.members:
            member.eval()
        out = torch.stack([m(x) for m in self.members])
        return out.mean(0), out.std(0)


def main():
    torch.manual_seed(83)
    x = torch.cat([torch.rand(60, 1) * 2 - 3, torch.rand(60, 1) * 2 + 1])
    y = torch.sin(2 * x) + 0.1 * torch.randn_like(x)
    ensemble = Ensemble(Member(), 5)
    ensemble.fit(x, y, 500)
    inside = torch.linspace(-3, -1, 50).unsqueeze(1)
    gap = torch.linspace(-0.8, 0.8, 50).unsqueeze(1)
    mean, std_in = ensemble.predict(inside)
    _, std_gap = ensemble.predict(gap)
    print(f"mse {F.mse_loss(mean, torch.sin(2 * inside)).item():.4f}")
    print(f"spread on data {std_in.mean().item():.4f}, between the data {std_gap.mean().item():.4f}")


main()
