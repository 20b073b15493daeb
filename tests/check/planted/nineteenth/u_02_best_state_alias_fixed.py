"""Keep the best weights during training and restore them in the end."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class EarlyStopping:
    def __init__(self, patience=4):
        self.patience, self.best, self.bad, self.state = patience, None, 0, None

    def update(self, metric, model):
        if self.best is None or metric < self.best:
            self.best, self.bad = metric, 0
            self.state = {k: v.detach().clone() for k, v in model.state_dict().items()}
        else:
            self.bad += 1
        return self.bad >= self.patience

    def restore(self, model):
        model.load_state_dict(self.state)


def main():
    torch.manual_seed(2)
    x = torch.randn(260, 10)
    y = (x[:, :2].prod(1) + 0.3 * torch.randn(260))[:, None]
    train = DataLoader(TensorDataset(x[:180], y[:180]), batch_size=30, shuffle=True)
    xv, yv = x[180:], y[180:]
    model = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    loss_fn = nn.MSELoss()
    stopper = EarlyStopping()
    for epoch in range(20):
        model.train()
        for xb, yb in train:
            loss = loss_fn(model(xb), yb)
            opt.zero_grad()
            loss.backward()
            opt.step()
        model.eval()
        with torch.no_grad():
            val = loss_fn(model(xv), yv).item()
        if stopper.update(val, model):
            print("stop at", epoch)
            break
    stopper.restore(model)
    with torch.no_grad():
        print(stopper.best, loss_fn(model(xv), yv).item())


main()
