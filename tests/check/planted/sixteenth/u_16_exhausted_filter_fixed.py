import torch
from torch import nn

torch.manual_seed(0)


class FineTuner:
    def __init__(self, model, lr=1e-2, l2=0.05):
        self.model = model
        self.trainable = [p for p in model.parameters() if p.requires_grad]
        self.opt = torch.optim.Adam(self.trainable, lr=lr)
        self.l2 = l2

    def penalty(self):
        reg = torch.zeros(())
        for p in self.trainable:
            reg = reg + p.pow(2).sum()
        return self.l2 * reg

    def step(self, x, y):
        reg = self.penalty()
        loss = nn.functional.mse_loss(self.model(x), y) + reg
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return loss.item(), reg.item()


net = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))
for p in net[0].parameters():
    p.requires_grad_(False)
x_train, x_test = torch.randn(60, 20), torch.randn(200, 20)
y_train = x_train[:, :1] + 0.7 * torch.randn(60, 1)
y_test = x_test[:, :1] + 0.7 * torch.randn(200, 1)
tuner = FineTuner(net)
for it in range(200):
    loss, reg = tuner.step(x_train, y_train)
    if it % 50 == 49:
        with torch.no_grad():
            test = nn.functional.mse_loss(net(x_test), y_test).item()
        print(f"it {it + 1} loss {loss:.4f} penalty {reg:.4f} test {test:.4f}")
