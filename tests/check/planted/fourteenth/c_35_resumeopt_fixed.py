import os
import tempfile
import torch
import torch.nn as nn
import torch.nn.functional as F


def lr_lambda(step, warm=60, total=300):
    if step < warm:
        return (step + 1) / warm
    return max(0.02, 1 - (step - warm) / (total - warm))


class Job:
    """A training job that may be pre-empted and started again."""

    def __init__(self, seed=0):
        torch.manual_seed(seed)
        self.model = nn.Sequential(nn.Linear(6, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))
        self.opt = torch.optim.AdamW(self.model.parameters(), lr=1e-2)
        self.sched = torch.optim.lr_scheduler.LambdaLR(self.opt, lr_lambda)
        self.step = 0

    def save(self, path):
        torch.save({"model": self.model.state_dict(), "opt": self.opt.state_dict(),
                    "sched": self.sched.state_dict(), "step": self.step}, path)

    def load(self, path):
        ck = torch.load(path, weights_only=True)
        self.model.load_state_dict(ck["model"])
        self.opt.load_state_dict(ck["opt"])
        self.sched.load_state_dict(ck["sched"])
        self.step = ck["step"]

    def train(self, x, y, until):
        self.model.train()
        while self.step < until:
            idx = torch.randint(0, len(x), (16,))
            loss = F.mse_loss(self.model(x[idx]), y[idx])
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
            self.sched.step()
            self.step += 1
        return loss.item()


def target(x):
    return torch.sin(2 * x[:, :1]) + x[:, 1:2] * x[:, 2:3]


torch.manual_seed(1)
x = torch.rand(1000, 6) * 4 - 2
y = target(x) + 0.3 * torch.randn(1000, 1)
xv = torch.rand(400, 6) * 4 - 2

path = os.path.join(tempfile.mkdtemp(), "ckpt.pt")
first = Job()
first.train(x, y, until=220)
print("before stop: lr %.5f" % first.opt.param_groups[0]["lr"])
first.save(path)

second = Job(seed=123)
second.load(path)
second.train(x, y, until=300)
second.model.eval()
with torch.no_grad():
    err = F.mse_loss(second.model(xv), target(xv)).item()
print(f"final val mse {err:.4f} lr {second.opt.param_groups[0]['lr']:.5f}")
