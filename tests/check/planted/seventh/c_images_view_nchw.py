# Images arrive channels-last from the camera, the network wants channels-first
import numpy as np
import torch
import torch.nn as nn

rng = np.random.default_rng(0)
torch.manual_seed(0)


def capture(n):
    """(n, 12, 12, 3) images; class = which colour channel carries a bright disc."""
    label = rng.integers(0, 3, n)
    img = rng.normal(0.0, 0.3, (n, 12, 12, 3)).astype(np.float32)
    yy, xx = np.mgrid[:12, :12]
    for k in range(n):
        cy, cx = rng.integers(3, 9, 2)
        img[k, (yy - cy) ** 2 + (xx - cx) ** 2 < 7, label[k]] += 1.0
    return img, label


def to_tensor(img):
    t = torch.from_numpy(img)
    return t.view(t.size(0), 3, 12, 12)  # BUG reshape-not-transpose


imgs, labels = capture(400)
x, y = to_tensor(imgs), torch.from_numpy(labels)
cnn = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(1),
                    nn.Flatten(), nn.Linear(8, 3))
opt = torch.optim.Adam(cnn.parameters(), lr=0.02)
for epoch in range(12):
    for b in torch.randperm(400).split(40):
        opt.zero_grad()
        loss = nn.functional.cross_entropy(cnn(x[b]), y[b])
        loss.backward()
        opt.step()
test_imgs, test_labels = capture(200)
pred = cnn(to_tensor(test_imgs)).argmax(1)
print("accuracy", (pred == torch.from_numpy(test_labels)).float().mean().item())
