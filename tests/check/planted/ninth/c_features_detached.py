# Two stage model trained end to end: the features were once computed apart
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(10)
signals = torch.randn(256, 1, 32)
signals[::2] += torch.sin(torch.arange(32) / 2.0)
kind = torch.zeros(256, dtype=torch.long)
kind[::2] = 1

extractor = nn.Sequential(nn.Conv1d(1, 8, 5), nn.ReLU(), nn.AdaptiveAvgPool1d(4), nn.Flatten())
classifier = nn.Linear(32, 2)
optimizer = torch.optim.Adam([*extractor.parameters(), *classifier.parameters()], lr=3e-3)
criterion = nn.CrossEntropyLoss()
for epoch in range(4):
    for x, y in DataLoader(TensorDataset(signals, kind), batch_size=32, shuffle=True):
        features = extractor(x)
        logits = classifier(features.detach())  # BUG gradient-cut
        loss = criterion(logits, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
