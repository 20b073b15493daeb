import torch
from torch import nn

torch.manual_seed(1)


def box_iou(a, b):
    """IoU of every pair of boxes given as (x1, y1, x2, y2)."""
    top_left = torch.max(a[:, None, :2], b[None, :, :2])
    bottom_right = torch.min(a[:, None, 2:], b[None, :, 2:])
    inter = (bottom_right - top_left).clamp(min=0).prod(2)
    area_a = (a[:, 2] - a[:, 0]) * (a[:, 3] - a[:, 1])
    area_b = (b[:, 2] - b[:, 0]) * (b[:, 3] - b[:, 1])
    return inter / (area_a[:, None] + area_b[None] - inter)


def annotations(count):
    """Boxes as COCO stores them: x, y, width, height."""
    xy = torch.rand(count, 2) * 60
    wh = torch.rand(count, 2) * 24 + 10
    return torch.cat([xy, wh], 1)


def draw(box):
    image = torch.randn(1, 96, 96) * 0.05
    x, y, w, h = box.long().tolist()
    image[0, y : y + h, x : x + w] += 1
    return image


ys, xs = torch.meshgrid(torch.arange(12) * 8, torch.arange(12) * 8, indexing="ij")
corner = torch.stack([xs.flatten(), ys.flatten()], 1).float()
anchors = torch.cat([corner - 8, corner + 16], 1)

boxes = annotations(96)
images = torch.stack([draw(b) for b in boxes])
model = nn.Sequential(
    nn.Conv2d(1, 16, 3, 2, 1), nn.ReLU(), nn.Conv2d(16, 32, 3, 2, 1), nn.ReLU(), nn.Conv2d(32, 1, 3, 2, 1)
)
opt = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(4):
    total = 0.0
    for i in range(0, len(images), 16):
        gt = boxes[i : i + 16]
        overlap = box_iou(gt, anchors)  # <- finding
        positive = (overlap > 0.3).float()
        scores = model(images[i : i + 16]).flatten(1)
        loss = nn.functional.binary_cross_entropy_with_logits(scores, positive)
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item()
    print(f"epoch {epoch} loss {total / 6:.4f}")
