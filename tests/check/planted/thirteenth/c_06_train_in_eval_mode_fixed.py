import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(5)


def conv_block(cin, cout):
    return nn.Sequential(
        nn.Conv2d(cin, cout, 3, padding=1),
        nn.BatchNorm2d(cout),
        nn.ReLU(),
        nn.MaxPool2d(2),
    )


model = nn.Sequential(
    conv_block(1, 8),
    conv_block(8, 16),
    nn.Flatten(),
    nn.Dropout(0.3),
    nn.Linear(16 * 4 * 4, 2),
)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)

# vertical against horizontal bars in noise
images = torch.randn(500, 1, 16, 16) * 0.7 + 1.0
labels = torch.randint(0, 2, (500,))
for i, label in enumerate(labels.tolist()):
    k = int(torch.randint(0, 15, (1,)))
    if label:
        images[i, 0, :, k : k + 2] += 1.5
    else:
        images[i, 0, k : k + 2, :] += 1.5
train_loader = DataLoader(TensorDataset(images[:400], labels[:400]), batch_size=25, shuffle=True)
test_loader = DataLoader(TensorDataset(images[400:], labels[400:]), batch_size=50)


def evaluate():
    model.eval()
    hits, loss_sum = 0, 0.0
    with torch.no_grad():
        for x, y in test_loader:
            out = model(x)
            hits += (out.argmax(1) == y).sum().item()
            loss_sum += criterion(out, y).item() * len(y)
    return hits / 100, loss_sum / 100


for epoch in range(6):
    model.train()
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
    acc, val_loss = evaluate()
    drift = model[0][1].running_mean.abs().mean().item()
    print(f"epoch {epoch} train {loss.item():.3f} val {val_loss:.3f} acc {acc:.3f} running mean {drift:.3f}")
