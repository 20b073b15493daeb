"""Dense predictions: permuted class scores, ignored pixels, boxes with smooth L1 on the positive ones, several losses of several heads."""

import torch
import torch.nn.functional as F
from torch import nn


class Heads(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.GroupNorm(2, 8), nn.ReLU())
        self.classes, self.boxes, self.mask = nn.Conv2d(8, 3, 1), nn.Conv2d(8, 4, 1), nn.Conv2d(8, 1, 1)

    def forward(self, x):
        h = self.body(x)
        flat = lambda t: t.permute(0, 2, 3, 1).reshape(x.size(0), -1, t.size(1))
        return flat(self.classes(h)), flat(self.boxes(h)), self.mask(h)


torch.manual_seed(0)
model = Heads()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
images = torch.randn(2, 3, 8, 8)
classes = torch.randint(0, 3, (2, 64))
classes[:, ::7] = -100
boxes, positive = torch.rand(2, 64, 4), torch.rand(2, 64) > 0.7
masks = (images.mean(1, keepdim=True) > 0).float()
for step in range(8):
    scores, deltas, logits = model(images)
    loss_classes = F.cross_entropy(scores.transpose(1, 2), classes, ignore_index=-100)
    loss_boxes = F.smooth_l1_loss(deltas[positive], boxes[positive])
    loss_mask = F.binary_cross_entropy_with_logits(logits, masks, pos_weight=torch.tensor(2.0))
    overlap = (torch.sigmoid(logits) * masks).sum() / (torch.sigmoid(logits) + masks).sum()
    loss = loss_classes + loss_boxes + loss_mask + (1 - 2 * overlap)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        iou = ((logits > 0) & (masks > 0)).sum() / ((logits > 0) | (masks > 0)).sum()
    print(step, loss.item(), iou.item())
