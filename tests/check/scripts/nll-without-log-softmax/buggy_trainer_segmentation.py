"""A trainer class for segmentation with NLLLoss on the scores of a convolution."""

import torch
from torch import nn


class Trainer:
    def __init__(self, model, lr):
        self.model = model
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=lr)
        self.criterion = nn.NLLLoss(ignore_index=255)

    def step(self, batch):
        images, masks = batch
        self.optimizer.zero_grad(set_to_none=True)
        scores = self.model(images)
        loss = self.criterion(scores, masks)  # <- finding
        loss.backward()
        self.optimizer.step()
        return loss.item()


torch.manual_seed(0)
trainer = Trainer(nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 4, 1)), 1e-3)
for _ in range(4):
    print(trainer.step((torch.randn(2, 3, 6, 6), torch.randint(0, 4, (2, 6, 6)))))
