"""Digit-like classifier with an explicit weight initialisation."""
import torch
import torch.nn as nn


class Classifier(nn.Module):
    def __init__(self, n_in=36, n_hidden=48, n_cls=4):
        super().__init__()
        self.fc1 = nn.Linear(n_in, n_hidden)
        self.fc2 = nn.Linear(n_hidden, n_hidden)
        self.fc3 = nn.Linear(n_hidden, n_cls)
        self.init_weights()

    def init_weights(self):
        for m in self.modules():
            if isinstance(m, nn.Linear):
                nn.init.xavier_uniform_(m.weight)
                nn.init.constant_(m.bias, 0.0)

    def forward(self, x):
        x = torch.tanh(self.fc1(x))
        x = torch.tanh(self.fc2(x))
        return self.fc3(x)


def draw(n, gen):
    proto = torch.randn(4, 36, generator=torch.Generator().manual_seed(1))
    y = torch.randint(0, 4, (n,), generator=gen)
    return proto[y] + 0.8 * torch.randn(n, 36, generator=gen), y


def main():
    gen = torch.Generator().manual_seed(0)
    torch.manual_seed(0)
    model = Classifier()
    opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for step in range(150):
        x, y = draw(64, gen)
        loss = nn.functional.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        x, y = draw(400, gen)
        print(f"loss {loss.item():.3f} acc {(model(x).argmax(1) == y).float().mean():.3f}")


main()
