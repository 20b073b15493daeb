"""Information bottleneck with an adversary updated every fifth step."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
enc = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 6))
task = nn.Linear(6, 2)
adv = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 2))
opt = torch.optim.Adam([*enc.parameters(), *task.parameters()], lr=4e-3)
opt_adv = torch.optim.Adam(adv.parameters(), lr=4e-3)


def draw(n):
    x = torch.randn(n, 8)
    return x, (x[:, 0] + x[:, 1] > 0).long(), (x[:, 2] > 0).long()


for step in range(300):
    x, y, s = draw(64)
    opt_adv.zero_grad(set_to_none=False)
    if step % 5 == 0:
        with torch.no_grad():
            z = enc(x)
        F.cross_entropy(adv(z), s).backward()
    opt_adv.step()  # BUG step-without-backward
    z = enc(x)
    guess = F.log_softmax(F.linear(F.relu(F.linear(z, adv[0].weight.detach(), adv[0].bias.detach())),
                                   adv[2].weight.detach(), adv[2].bias.detach()), 1)
    confusion = -guess.mean()
    loss = F.cross_entropy(task(z), y) + 0.3 * confusion
    opt.zero_grad()
    loss.backward()
    opt.step()
with torch.no_grad():
    x, y, s = draw(1000)
    z = enc(x)
    print("task acc", (task(z).argmax(1) == y).float().mean().item(), "adversary acc",
          (adv(z).argmax(1) == s).float().mean().item())
