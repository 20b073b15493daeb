"""Self-supervised features with two augmented views of each sample."""
import torch
from torch import nn
from torch.nn import functional as F


def augment(x):
    mask = (torch.rand_like(x) > 0.2).float()
    return x * mask + 0.2 * torch.randn_like(x)


class Encoder(nn.Module):
    def __init__(self, features, width=32, out=16):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(features, width), nn.ReLU(), nn.Linear(width, width))
        self.projector = nn.Sequential(nn.ReLU(), nn.Linear(width, out))

    def forward(self, x):
        return F.normalize(self.projector(self.backbone(x)), dim=1)


def info_nce(a, b, temperature=0.2):
    logits = a @ b.t() / temperature
    labels = torch.arange(len(a))
    return (F.cross_entropy(logits, labels) + F.cross_entropy(logits.t(), labels)) / 2


def main():
    torch.manual_seed(26)
    centres = torch.randn(6, 20)
    data = centres[torch.randint(0, 6, (300,))] + 0.6 * torch.randn(300, 20)
    model = Encoder(20)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for epoch in range(5):
        for rows in torch.randperm(len(data)).split(50):
            x = data[rows]
            view1 = view2 = augment(x)  # <- finding
            loss = info_nce(model(view1), model(view2))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch} loss {loss.item():.3f}")


main()
