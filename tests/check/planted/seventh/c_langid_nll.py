import torch
from torch import nn
from torch.utils.data import Dataset, DataLoader


class LetterCounts(Dataset):
    """Language identification from letter frequencies."""

    def __init__(self, n, profiles, seed):
        g = torch.Generator().manual_seed(seed)
        self.lang = torch.randint(0, len(profiles), (n,), generator=g)
        self.freq = torch.poisson(profiles[self.lang] * 10, generator=g)

    def __len__(self):
        return len(self.lang)

    def __getitem__(self, i):
        return self.freq[i] / 10, self.lang[i]


torch.manual_seed(13)
profiles = torch.rand(5, 26)
train = DataLoader(LetterCounts(600, profiles, 1), batch_size=30, shuffle=True)
test = DataLoader(LetterCounts(200, profiles, 2), batch_size=100)
net = nn.Sequential(nn.Linear(26, 40), nn.ReLU(), nn.Linear(40, 5))
criterion = nn.NLLLoss()
optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)

for epoch in range(12):
    for freq, lang in train:
        optimizer.zero_grad()
        output = net(freq)  # BUG nll-without-log-softmax
        loss = criterion(output, lang)  # BUG nll-without-log-softmax
        loss.backward()
        optimizer.step()
    if epoch % 4 == 3:
        print(f"epoch {epoch + 1} loss {loss.item():.3f}")
correct = sum((net(f).argmax(1) == l).sum().item() for f, l in test)
print("test accuracy", correct / 200)
