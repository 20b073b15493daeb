import torch
import torch.nn as nn
from torch.utils.data import ConcatDataset, DataLoader, TensorDataset

SEED = 4
torch.manual_seed(SEED)
protos = torch.randn(5, 3, 8, 8)


def class_folder(label, n):
    """One folder of images per class, like an on-disk image tree."""
    x = protos[label] * 0.6 + torch.randn(n, 3, 8, 8)
    return TensorDataset(x, torch.full((n,), label, dtype=torch.long))


def build_loaders(bs=20):
    train = ConcatDataset([class_folder(c, 100) for c in range(5)])
    val = ConcatDataset([class_folder(c, 40) for c in range(5)])
    train_loader = DataLoader(train, batch_size=bs, shuffle=True, drop_last=True)
    val_loader = DataLoader(val, batch_size=bs, shuffle=False)
    return train_loader, val_loader


class ConvNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
            nn.MaxPool2d(2), nn.Flatten(), nn.Linear(256, 5),
        )

    def forward(self, x):
        return self.net(x)


def epoch(model, loader, criterion, optimizer=None):
    training = optimizer is not None
    model.train(training)
    loss_sum = correct = seen = 0
    with torch.set_grad_enabled(training):
        for x, y in loader:
            out = model(x)
            loss = criterion(out, y)
            if training:
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            loss_sum += loss.item() * len(y)
            correct += (out.argmax(1) == y).sum().item()
            seen += len(y)
    return loss_sum / seen, correct / seen


train_loader, val_loader = build_loaders()
net = ConvNet()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(net.parameters(), lr=0.02, momentum=0.9)
for ep in range(6):
    tr = epoch(net, train_loader, criterion, optimizer)
    va = epoch(net, val_loader, criterion)
    print(f"[{ep}] train {tr[0]:.3f}/{tr[1]:.3f} val {va[0]:.3f}/{va[1]:.3f}")
print(f"final val loss {va[0]:.3f} acc {va[1]:.3f}")
