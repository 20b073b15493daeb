"""Pre-emptible training job: model object saved whole and restored on resume."""
import io
import torch
from torch import nn


class Job:
    def __init__(self):
        self.model = nn.Sequential(nn.Linear(6, 40), nn.ReLU(), nn.Linear(40, 1))
        self.opt = torch.optim.Adam(self.model.parameters(), lr=3e-3)
        self.epoch = 0

    def save(self):
        buf = io.BytesIO()
        torch.save({"model": self.model, "opt": self.opt.state_dict(), "epoch": self.epoch}, buf)
        return buf

    def resume(self, buf):
        buf.seek(0)
        state = torch.load(buf, weights_only=False)
        self.model = state["model"]
        self.opt = torch.optim.Adam(self.model.parameters(), lr=3e-3)
        self.opt.load_state_dict(state["opt"])
        self.epoch = state["epoch"]

    def run(self, epochs):
        for _ in range(epochs):
            for _ in range(25):
                x = torch.randn(64, 6)
                y = x[:, :1].abs() - x[:, 1:2] * x[:, 2:3]
                loss = nn.functional.mse_loss(self.model(x), y)
                self.opt.zero_grad()
                loss.backward()
                self.opt.step()
            self.epoch += 1
        return loss.item()


torch.manual_seed(0)
job = Job()
print("first part", job.run(3))
ckpt = job.save()
again = Job()
again.resume(ckpt)
print("after resume", again.run(9), "epoch", again.epoch)
