"""Training with a checkpoint that is loaded when there is one."""

import io

import torch
from torch import nn


def create_model():
    return nn.Sequential(nn.Linear(7, 24), nn.ReLU(), nn.Linear(24, 1))


def resume(state):
    checkpoint = torch.load(io.BytesIO(state))
    model = create_model()
    model.load_state_dict(checkpoint["model"])
    return model, checkpoint["optimizer"], checkpoint["epoch"] + 1


def train(epochs, state=None):
    model = create_model()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    start = 0
    if state is not None:
        model, opt_state, start = resume(state)
        optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
        optimizer.load_state_dict(opt_state)
    for epoch in range(start, epochs):
        for chunk in torch.randperm(len(X)).split(50):
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(X[chunk]), Y[chunk])
            loss.backward()
            optimizer.step()
        print(epoch, loss.item())
    file = io.BytesIO()
    content = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch}
    torch.save(content, file)
    return file.getvalue()


torch.manual_seed(47)
X = torch.randn(200, 7)
Y = X[:, :1].abs() + X[:, 1:2]
saved = train(3)
train(6, saved)
