import torch
import torch.nn as nn
import torch.nn.functional as F


class EarlyStopping:
    def __init__(self, patience):
        self.patience = patience
        self.best_loss = float("inf")
        self.best_state = None
        self.bad_epochs = 0

    def update(self, loss, model):
        if loss < self.best_loss:
            self.best_loss = loss
            self.best_state = model.state_dict()  # BUG best-checkpoint-alias|param-shared
            self.bad_epochs = 0
        else:
            self.bad_epochs += 1
        return self.bad_epochs >= self.patience


def make(n, g):
    x = torch.randn(n, 40, generator=g)
    y = (x[:, :3].sum(1) + 1.5 * torch.randn(n, generator=g) > 0).long()
    return x, y


def val_loss(model, x, y):
    model.eval()
    with torch.no_grad():
        return F.cross_entropy(model(x), y).item()


def main():
    torch.manual_seed(3)
    g = torch.Generator().manual_seed(3)
    x, y = make(200, g)
    x_val, y_val = make(200, g)
    model = nn.Sequential(nn.Linear(40, 64), nn.ReLU(), nn.Linear(64, 2))
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    stopper = EarlyStopping(patience=6)
    for epoch in range(40):
        model.train()
        for idx in torch.randperm(200, generator=g).split(20):
            optimizer.zero_grad()
            F.cross_entropy(model(x[idx]), y[idx]).backward()
            optimizer.step()
        current = val_loss(model, x_val, y_val)
        print(f"epoch {epoch:2d} val loss {current:.4f}")
        if stopper.update(current, model):
            break
    model.load_state_dict(stopper.best_state)
    print(f"best {stopper.best_loss:.4f}, restored model {val_loss(model, x_val, y_val):.4f}")


if __name__ == "__main__":
    main()
