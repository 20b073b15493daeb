import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(4)


def make_split(n):
    x = torch.randn(n, 30)
    noise = 1.5 * torch.randn(n)
    y = (x[:, 0] + noise > 0).long()
    return TensorDataset(x, y)


dataloaders = {
    "train": DataLoader(make_split(200), batch_size=20, shuffle=True),
    "val": DataLoader(make_split(100), batch_size=20),
}
model = nn.Sequential(nn.Linear(30, 64), nn.ReLU(), nn.Linear(64, 2))
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

for epoch in range(15):
    for phase in ["train", "val"]:
        if phase == "train":
            model.train()
        else:
            model.eval()
        loss_sum, correct, seen = 0.0, 0, 0
        for inputs, labels in dataloaders[phase]:
            optimizer.zero_grad()
            with torch.set_grad_enabled(phase == "train"):
                outputs = model(inputs)
                loss = criterion(outputs, labels)
            if phase == "train":
                loss.backward()
                optimizer.step()
            loss_sum += loss.item() * len(labels)
            correct += (outputs.argmax(1) == labels).sum().item()
            seen += len(labels)
        if epoch % 5 == 4:
            print(f"epoch {epoch} {phase} loss {loss_sum / seen:.3f} acc {correct / seen:.3f}")
