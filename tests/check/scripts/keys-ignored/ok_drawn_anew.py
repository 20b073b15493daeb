"""Pretrains an autoencoder and fine-tunes its encoder for classification."""
import torch
from torch import nn
from torch.nn import functional as F


def encoder():
    return nn.Sequential(nn.Linear(20, 32), nn.ReLU(), nn.Linear(32, 8), nn.ReLU())


def init_weights(m):
    if isinstance(m, nn.Linear):
        nn.init.xavier_uniform_(m.weight)
        nn.init.zeros_(m.bias)


class Classifier(nn.Module):
    def __init__(self, pretrained):
        super().__init__()
        self.encoder = encoder()
        self.encoder.load_state_dict(pretrained)
        self.head = nn.Linear(8, 3)
        self.head.apply(init_weights)

    def forward(self, x):
        return self.head(self.encoder(x))


def pretrain(x, epochs=4):
    model = nn.Sequential(encoder(), nn.Linear(8, 20))
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for _ in range(epochs):
        for rows in torch.randperm(len(x)).split(50):
            loss = F.mse_loss(model(x[rows]), x[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    print(f"reconstruction {loss.item():.3f}")
    return model[0].state_dict()


def main():
    torch.manual_seed(33)
    centres = 2 * torch.randn(3, 20)
    unlabelled = centres[torch.randint(0, 3, (400,))] + torch.randn(400, 20)
    y = torch.randint(0, 3, (60,))
    x = centres[y] + torch.randn(60, 20)
    model = Classifier(pretrain(unlabelled))
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for epoch in range(6):
        for rows in torch.randperm(60).split(20):
            loss = F.cross_entropy(model(x[rows]), y[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch} loss {loss.item():.3f}")


main()
