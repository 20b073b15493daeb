"""Softmax over channels of an image, and over the vocabulary of a sequence that is transposed for the loss."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
conv, lm = nn.Conv2d(3, 4, 3, padding=1), nn.Linear(6, 9)
optimizer = torch.optim.SGD([*conv.parameters(), *lm.parameters()], lr=0.1)
images, masks = torch.randn(2, 3, 5, 5), torch.randint(0, 4, (2, 5, 5))
states, words = torch.randn(3, 7, 6), torch.randint(0, 9, (3, 7))
for _ in range(3):
    pixel = F.log_softmax(conv(images), dim=1)
    word = F.log_softmax(lm(states), dim=-1)
    loss = F.nll_loss(pixel, masks) + F.nll_loss(word.transpose(1, 2), words) + F.nll_loss(word.view(-1, 9), words.view(-1))
    loss = (
        loss
        - word.gather(2, words[..., None]).mean()
        - pixel.permute(0, 2, 3, 1).reshape(-1, 4)[torch.arange(50), masks.view(-1)].mean()
    )
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    accuracy = (word.argmax(dim=-1) == words).float().mean() + (pixel.argmax(1) == masks).float().mean()
print(loss.item(), accuracy.item())
