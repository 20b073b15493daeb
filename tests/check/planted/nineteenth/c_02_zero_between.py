# %% setup
import torch, torch.nn as nn, torch.nn.functional as F
torch.manual_seed(3)

# %% toy detection data: one box per picture
N = 200
imgs = torch.rand(N, 1, 16, 16) * 0.2
boxes = torch.zeros(N, 4)
cls = torch.randint(0, 2, (N,))
for i in range(N):
    w, h = torch.randint(3, 8, (2,)).tolist()
    x0, y0 = torch.randint(0, 16 - w, (1,)).item(), torch.randint(0, 16 - h, (1,)).item()
    imgs[i, 0, y0:y0 + h, x0:x0 + w] += 0.5 + 0.5 * cls[i]
    boxes[i] = torch.tensor([x0 + w / 2, y0 + h / 2, w, h]) / 16

# %% model
class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(1, 12, 3, 2, 1), nn.ReLU(), nn.Conv2d(12, 24, 3, 2, 1), nn.ReLU(), nn.Flatten())
        self.box = nn.Linear(24 * 16, 4)
        self.cls = nn.Linear(24 * 16, 2)

    def forward(self, x):
        f = self.features(x)
        return torch.sigmoid(self.box(f)), self.cls(f)

model = Detector()
opt = torch.optim.Adam(model.parameters(), lr=2e-3)

# %% train
history = []
for epoch in range(4):
    perm = torch.randperm(N)
    for start in range(0, N, 40):
        idx = perm[start:start + 40]
        pred_box, pred_cls = model(imgs[idx])
        loss = 5 * F.smooth_l1_loss(pred_box, boxes[idx]) + F.cross_entropy(pred_cls, cls[idx])
        loss.backward()
        opt.zero_grad()  # BUG zero-between-backward-and-step
        opt.step()  # BUG zero-between-backward-and-step
        history.append(loss.item())
    print(epoch, sum(history[-5:]) / 5)
