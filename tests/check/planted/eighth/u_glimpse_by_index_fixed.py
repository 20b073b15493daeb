# A glimpse network looks at one place of the image that it chooses itself
import torch
import torch.nn.functional as F
from torch import nn


class Glimpse(nn.Module):
    def __init__(self):
        super().__init__()
        self.where = nn.Sequential(nn.Flatten(), nn.Linear(144, 32), nn.ReLU(), nn.Linear(32, 2), nn.Tanh())
        self.what = nn.Sequential(nn.Flatten(), nn.Linear(16, 24), nn.ReLU(), nn.Linear(24, 3))

    def forward(self, image):                       # (batch, 1, 12, 12)
        centre = self.where(image)
        theta = torch.zeros(len(image), 2, 3)
        theta[:, 0, 0] = theta[:, 1, 1] = 1 / 3
        theta = torch.cat([theta[:, :, :2], centre[:, :, None]], 2)
        grid = F.affine_grid(theta, (len(image), 1, 4, 4), align_corners=False)
        patch = F.grid_sample(image, grid, align_corners=False)
        return self.what(patch)


torch.manual_seed(24)
y = torch.randint(0, 3, (240,))
image = 0.1 * torch.randn(240, 1, 12, 12)
for i, k in enumerate(y.tolist()):
    image[i, 0, 4:8, 4:8] += torch.eye(4) * (k + 1)
model = Glimpse()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(5):
    for rows in torch.randperm(240).split(24):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(image[rows]), y[rows])
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
