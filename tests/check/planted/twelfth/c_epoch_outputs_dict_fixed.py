"""A Lightning-like module: outputs of the steps are gathered for the end of the epoch."""

import torch
from torch import nn


class Module(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(6, 20), nn.ReLU(), nn.Linear(20, 1))
        self.outputs = []

    def training_step(self, batch):
        x, y = batch
        pred = self.net(x).squeeze(1)
        loss = nn.functional.mse_loss(pred, y)
        self.outputs.append({"loss": loss.item(), "pred": pred.detach(), "target": y})
        return loss

    def on_train_epoch_end(self):
        preds = torch.cat([o["pred"] for o in self.outputs])
        targets = torch.cat([o["target"] for o in self.outputs])
        mae = (preds - targets).abs().mean()
        print(f"train mae {float(mae):.3f}")
        self.outputs.clear()

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=5e-3)


class Runner:
    def __init__(self, max_epochs):
        self.max_epochs = max_epochs

    def fit(self, module, batches):
        optimizer = module.configure_optimizers()
        for _ in range(self.max_epochs):
            for batch in batches:
                optimizer.zero_grad()
                loss = module.training_step(batch)
                loss.backward()
                optimizer.step()
            module.on_train_epoch_end()


torch.manual_seed(7)
data = torch.randn(512, 6)
target = data[:, 0] - 0.5 * data[:, 1] ** 2
Runner(3).fit(Module(), list(zip(data.split(32), target.split(32))))
