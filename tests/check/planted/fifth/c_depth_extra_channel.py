# Monocular depth toy.
import warnings
import torch
import torch.nn as nn
import torch.nn.functional as F

warnings.filterwarnings("ignore")
torch.manual_seed(21)


def scenes(n):
    depth = F.avg_pool2d(torch.rand(n, 1, 20, 20), 5, stride=1).squeeze(1)
    depth = (depth - depth.mean()) / depth.std()
    image = torch.stack([depth, -depth, torch.zeros_like(depth)], 1) + 0.1 * torch.randn(n, 3, 16, 16)
    return image, depth


class DepthNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Conv2d(3, 12, 3, padding=1)
        self.mid = nn.Conv2d(12, 12, 3, padding=1)
        self.dec = nn.Conv2d(12, 1, 1)

    def forward(self, im):
        return self.dec(F.relu(self.mid(F.relu(self.enc(im)))))  # BUG mutual-broadcast|loss-shape-mismatch


images, depths = scenes(256)
test_im, test_d = scenes(64)
net = DepthNet()
optimizer = torch.optim.Adam(net.parameters(), lr=4e-3)
for epoch in range(6):
    for i in range(0, 256, 16):
        out = net(images[i:i + 16])
        loss = F.smooth_l1_loss(out, depths[i:i + 16])  # BUG mutual-broadcast|loss-shape-mismatch
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch} loss {loss.item():.4f}")

with torch.no_grad():
    d = net(test_im).reshape(test_d.shape)
rmse = (d - test_d).pow(2).mean().sqrt()
print(f"test rmse {rmse:.3f} (predicting the mean: {test_d.std():.3f})")
