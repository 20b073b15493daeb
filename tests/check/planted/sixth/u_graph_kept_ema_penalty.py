import torch
import torch.nn as nn

torch.manual_seed(11)


class SmoothOutput:
    """Penalises outputs far from their exponential average."""

    def __init__(self, decay=0.9):
        self.decay, self.mean = decay, None

    def __call__(self, out):
        batch_mean = out.mean(0)
        if self.mean is None:
            self.mean = batch_mean.detach()
        self.mean = self.decay * self.mean + (1 - self.decay) * batch_mean  # BUG graph-kept|memory-growth
        return (out - self.mean.detach()).pow(2).mean()


def depth(t):
    n, todo, seen = 0, [t.grad_fn], set()
    while todo:
        f = todo.pop()
        if f is None or f in seen:
            continue
        seen.add(f)
        n += 1
        todo.extend(g for g, _ in f.next_functions)
    return n


net = nn.Sequential(nn.Linear(6, 32), nn.Tanh(), nn.Linear(32, 2))
penalty = SmoothOutput()
opt = torch.optim.SGD(net.parameters(), lr=0.05)
A = torch.randn(6, 2)
for it in range(120):
    x = torch.randn(32, 6)
    out = net(x)
    loss = nn.functional.mse_loss(out, (x @ A).sin()) + 0.05 * penalty(out)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if it % 40 == 39:
        print(f"it {it + 1} loss {loss.item():.4f} nodes behind the average {depth(penalty.mean)}")
