import torch
import torch.nn as nn
import torch.nn.functional as F


class FlexibleCNN(nn.Module):
    """Finds the width of its flattened features at the first batch."""

    def __init__(self, classes):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, 3)
        self.conv2 = nn.Conv2d(6, 8, 3)
        self.project = None
        self.classify = nn.Linear(6, classes)

    def forward(self, x):
        x = F.relu(self.conv1(x))
        x = F.max_pool2d(F.relu(self.conv2(x)), 2).flatten(1)
        if self.project is None:
            self.project = nn.Linear(x.size(1), 6)
        return self.classify(torch.tanh(self.project(x)))


def blobs(n, size=12):
    yy, xx = torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")
    cell = torch.randint(0, 9, (n,))
    cy, cx = (cell // 3) * 4 + 1.5, (cell % 3) * 4 + 1.5
    image = torch.exp(-((yy - cy[:, None, None]) ** 2 + (xx - cx[:, None, None]) ** 2) / 4)
    return image.unsqueeze(1) + 0.4 * torch.randn(n, 1, size, size), cell


def main():
    torch.manual_seed(36)
    x, y = blobs(600)
    x_test, y_test = blobs(150)
    model = FlexibleCNN(9)
    with torch.no_grad():
        model(x[:1])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.03, momentum=0.9)
    for epoch in range(10):
        model.train()
        for idx in torch.randperm(600).split(30):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x[idx]), y[idx])
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            acc = (model(x_test).argmax(1) == y_test).float().mean().item()
        print(f"epoch {epoch} loss {loss.item():.4f} test acc {acc:.3f}")


if __name__ == "__main__":
    main()
