"""Metric learning with an angular margin: the class centers live in the criterion."""
import torch
import torch.nn.functional as F
from torch import nn


class Embedder(nn.Module):
    def __init__(self, n_in, dim):
        super().__init__()
        self.fc1 = nn.Linear(n_in, 32)
        self.bn = nn.BatchNorm1d(32)
        self.fc2 = nn.Linear(32, dim)

    def forward(self, x):
        return F.normalize(self.fc2(F.relu(self.bn(self.fc1(x)))), dim=1)


class CosineMargin(nn.Module):
    """CosFace: the cosine of the right class is lowered by a margin."""

    def __init__(self, dim, classes, scale=16.0, margin=0.2):
        super().__init__()
        self.centers = nn.Parameter(torch.empty(classes, dim))
        nn.init.xavier_uniform_(self.centers)
        self.scale, self.margin = scale, margin

    def forward(self, z, y):
        cosine = F.linear(z, F.normalize(self.centers, dim=1))
        shift = F.one_hot(y, len(self.centers)) * self.margin
        return F.cross_entropy(self.scale * (cosine - shift), y)


def identities(n, classes, generator):
    faces = torch.randn(classes, 12, generator=generator)
    y = torch.randint(classes, (n,), generator=generator)
    return faces[y] + 0.5 * torch.randn(n, 12, generator=generator), y


def recall_at_1(model, x, y):
    model.eval()
    with torch.no_grad():
        z = model(x)
        similarity = z @ z.t()
        similarity.fill_diagonal_(-1)
        return (y[similarity.argmax(1)] == y).float().mean().item()


def main():
    torch.manual_seed(21)
    g = torch.Generator().manual_seed(2)
    x, y = identities(480, 8, g)
    x_train, y_train, x_test, y_test = x[:400], y[:400], x[400:], y[400:]
    model = Embedder(12, 8)
    criterion = CosineMargin(8, 8)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)  # BUG param-not-in-optimizer
    for epoch in range(4):
        model.train()
        for rows in torch.randperm(400).split(50):
            loss = criterion(model(x_train[rows]), y_train[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(epoch, loss.item(), recall_at_1(model, x_test, y_test))


main()
