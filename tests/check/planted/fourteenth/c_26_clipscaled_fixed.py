import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Seq2Val(nn.Module):
    def __init__(self, d=6, h=32):
        super().__init__()
        self.conv = nn.Conv1d(d, h, 3, padding=1)
        self.norm = nn.GroupNorm(4, h)
        self.fc = nn.Linear(h, 1)

    def forward(self, x):
        return self.fc(F.relu(self.norm(self.conv(x))).mean(-1)).squeeze(-1)


class AmpTrainer:
    def __init__(self, model, lr, max_norm=1.0):
        self.model = model
        self.opt = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)
        self.scaler = torch.amp.GradScaler("cpu", init_scale=2.0 ** 12, growth_interval=10_000)
        self.max_norm = max_norm

    def step(self, x, y):
        self.opt.zero_grad(set_to_none=True)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            pred = self.model(x)
        loss = F.mse_loss(pred.float(), y)
        self.scaler.scale(loss).backward()
        self.scaler.unscale_(self.opt)
        nn.utils.clip_grad_norm_(self.model.parameters(), self.max_norm)
        self.scaler.step(self.opt)
        self.scaler.update()
        return loss.item()

    @torch.no_grad()
    def evaluate(self, x, y):
        self.model.eval()
        out = F.mse_loss(self.model(x), y).item()
        self.model.train()
        return out


def make(n):
    x = torch.randn(n, 6, 12)
    y = (x[:, 0, :-1] * x[:, 0, 1:]).mean(1) * 2 + x[:, 1].amax(1) - 1.5
    return x, y


def main():
    x, y = make(600)
    xv, yv = make(200)
    tr = AmpTrainer(Seq2Val(), lr=0.03)
    print("start", tr.evaluate(xv, yv))
    for ep in range(12):
        for idx in torch.randperm(len(x)).split(40):
            loss = tr.step(x[idx], y[idx])
        if ep % 3 == 0:
            print(f"ep {ep} loss {loss:.4f}")
    print(f"final val mse {tr.evaluate(xv, yv):.4f}")


main()
