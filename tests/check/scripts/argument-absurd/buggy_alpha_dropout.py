"""A self-normalising network with its own kind of dropout."""
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset


class SNN(nn.Module):
    def __init__(self, features, classes, width=48, p=0.1):
        super().__init__()
        self.fc1 = nn.Linear(features, width)
        self.fc2 = nn.Linear(width, width)
        self.fc3 = nn.Linear(width, classes)
        self.p = p
        for m in (self.fc1, self.fc2, self.fc3):
            nn.init.normal_(m.weight, std=m.in_features**-0.5)
            nn.init.zeros_(m.bias)

    def forward(self, x):
        x = F.alpha_dropout(F.selu(self.fc1(x)), self.p)  # <- finding
        x = F.alpha_dropout(F.selu(self.fc2(x)), self.p)  # <- finding
        return self.fc3(x)


def genes(n, classes=4):
    y = torch.randint(0, classes, (n,))
    x = torch.randn(n, 60)
    x[:, :classes] += 1.5 * F.one_hot(y, classes)
    return TensorDataset(x, y)


def main():
    torch.manual_seed(41)
    train, valid = genes(240), genes(120)
    model = SNN(60, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    for epoch in range(6):
        model.train()
        for x, y in DataLoader(train, batch_size=24, shuffle=True):
            loss = F.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            x, y = valid.tensors
            print(f"epoch {epoch} {loss.item():.3f} {(model(x).argmax(1) == y).float().mean().item():.3f}")


main()
