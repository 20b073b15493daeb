import torch
import torch.nn as nn

torch.manual_seed(3)


class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, x):
        return self.net(x)[:, 0]  # logits

    @torch.inference_mode()
    def predict(self, x, threshold=0.5):
        cut = torch.logit(torch.tensor(threshold))  # 0.0 for one half
        return (self(x) > cut).long()


x = torch.randn(800, 8)
y = (x[:, 0] + x[:, 1].abs() > 1).float()
pos_weight = (y[:600] == 0).sum() / (y[:600] == 1).sum()
model = Detector()
loss_fn = nn.BCEWithLogitsLoss(pos_weight=pos_weight, reduction="sum")
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(20):
    total = 0.0
    for xb, yb in zip(x[:600].split(64), y[:600].split(64)):  # the last batch is smaller
        loss = loss_fn(model(xb), yb)
        opt.zero_grad()
        (loss / len(xb)).backward()
        opt.step()
        total += loss.item()
    if epoch % 5 == 4:
        print(epoch + 1, "loss per sample", round(total / 600, 4), "acc", (model.predict(x[600:]) == y[600:]).float().mean().item())
