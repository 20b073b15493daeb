import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class TwoHeads(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(10, 48), nn.ReLU())
        self.age = nn.Linear(48, 1)
        self.gender = nn.Linear(48, 2)

    def forward(self, x):
        h = self.trunk(x)
        return {"age": self.age(h).squeeze(1), "gender": self.gender(h)}


losses = {"age": nn.MSELoss(), "gender": nn.CrossEntropyLoss()}
weights = {"age": 1.0, "gender": 0.5}
x = torch.randn(400, 10)
age = x[:, 0] + 0.5 * x[:, 1]
gender = (x[:, 2] > 0).long()
loader = DataLoader(TensorDataset(x, age, gender), batch_size=40, shuffle=True)
model = TwoHeads()
opt = torch.optim.Adam(model.parameters(), lr=5e-3)

for epoch in range(8):
    logs = {"age": 0.0, "gender": 0.0}
    for xb, ab, gb in loader:
        out = model(xb)
        target = {"age": ab, "gender": gb}
        loss = 0.0
        for task, fn in losses.items():
            task_loss = fn(out[task], target[task])
            loss = weights[task] * task_loss  # BUG loss-overwritten|multitask-loss|param-unused
            logs[task] += task_loss.item()
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, {k: round(v / len(loader), 4) for k, v in logs.items()})
