"""Domain-adversarial training with a gradient reversal function."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Reverse(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight):
        ctx.weight = weight
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        return -ctx.weight * grad, None


features = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 16), nn.Tanh())
classify, domain = nn.Linear(16, 2), nn.Linear(16, 1)
modules = nn.ModuleList([features, classify, domain])
opt = torch.optim.Adam(modules.parameters(), lr=3e-3)


def draw(n, shift):
    y = torch.randint(0, 2, (n,))
    x = torch.randn(n, 8)
    x[:, 0] += 2.5 * (2 * y - 1)
    x[:, 1] += shift
    return x, y


x_test, y_test = draw(300, 2.0)
for step in range(150):
    x_source, y_source = draw(64, -2.0)
    x_target, _ = draw(64, 2.0)
    z_source, z_target = features(x_source), features(x_target)
    task_loss = F.cross_entropy(classify(z_source), y_source)
    z = torch.cat([z_source, z_target])
    where = torch.cat([torch.zeros(64), torch.ones(64)])
    domain_loss = F.binary_cross_entropy_with_logits(domain(Reverse.apply(z, 0.3)).squeeze(1), where)
    opt.zero_grad()
    (task_loss + domain_loss).backward()
    opt.step()
    if step % 50 == 49:
        with torch.no_grad():
            acc = (classify(features(x_test)).argmax(1) == y_test).float().mean().item()
        print(f"step {step + 1} task {task_loss.item():.3f} domain {domain_loss.item():.3f} target acc {acc:.3f}")
