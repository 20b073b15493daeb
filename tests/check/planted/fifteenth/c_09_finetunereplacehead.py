"""Fine-tuning: pretrain on 6 classes, then a new head for 3 classes."""
import torch
from torch import nn


class Backbone(nn.Module):
    def __init__(self, n_out):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(10, 40), nn.ReLU(), nn.Linear(40, 20), nn.ReLU())
        self.fc = nn.Linear(20, n_out)

    def forward(self, x):
        return self.fc(self.features(x))


def train(model, opt, x, y, epochs):
    loss_fn = nn.CrossEntropyLoss()
    for epoch in range(epochs):
        for idx in torch.randperm(len(x)).split(40):
            loss = loss_fn(model(x[idx]), y[idx])
            opt.zero_grad()
            loss.backward()
            opt.step()
    return loss.item()


def adapt(model, n_out):
    model.fc = nn.Linear(model.fc.in_features, n_out)
    return model


def main():
    torch.manual_seed(2)
    centers = torch.randn(6, 10) * 2
    y = torch.randint(0, 6, (600,))
    x = centers[y] + torch.randn(600, 10)
    model = Backbone(6)
    pre = train(model, torch.optim.Adam(model.parameters(), lr=2e-3), x, y, 4)
    print("pretrain loss", pre)

    y2 = y // 2
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)  # BUG param-replaced
    model = adapt(model, 3)  # BUG param-replaced
    loss = train(model, optimizer, x, y2, 5)  # BUG param-replaced
    print("finetune loss", loss)


main()
