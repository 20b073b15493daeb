import torch
from torch import nn


class SpamFilter(nn.Module):
    def __init__(self, words=200):
        super().__init__()
        self.bag = nn.EmbeddingBag(words, 16, mode="mean")
        self.fc = nn.Linear(16, 1)

    def forward(self, ids):
        score = self.fc(self.bag(ids)).squeeze(1)
        return torch.sigmoid(score)  # BUG sigmoid-before-bce-logits


torch.manual_seed(17)
ids = torch.randint(0, 200, (800, 20))
spam = ((ids < 20).sum(1) >= 3).float()
weight = (spam == 0).sum() / spam.sum()
model = SpamFilter()
criterion = nn.BCEWithLogitsLoss(pos_weight=weight)
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
for epoch in range(6):
    for batch in torch.randperm(700).split(50):
        optimizer.zero_grad()
        loss = criterion(model(ids[batch]), spam[batch])
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
