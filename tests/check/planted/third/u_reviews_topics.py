"""Review rating from word counts: a linear part and a soft topic part."""
import torch
import torch.nn as nn
import torch.nn.functional as F

WORDS, TOPICS = 40, 8


class TopicRegressor(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(WORDS, 8)
        self.topics = nn.Linear(WORDS, TOPICS)
        self.rating = nn.Linear(8 + TOPICS, 1)

    def forward(self, counts):
        direct = torch.tanh(self.linear(counts))
        topic = F.relu(F.log_softmax(self.topics(counts), dim=1))  # BUG dead-units
        return self.rating(torch.cat([direct, topic], dim=1)).squeeze(1)


def reviews(n, themes, stars):
    theme = torch.randint(0, len(themes), (n,))
    counts = torch.poisson(themes[theme])
    return torch.log1p(counts), stars[theme] + 0.2 * torch.randn(n)


torch.manual_seed(0)
themes = 0.3 + 2.0 * (torch.rand(6, WORDS) < 0.15).float()
stars = torch.linspace(-1.5, 1.5, 6)[torch.randperm(6)]
x, y = reviews(700, themes, stars)
x_test, y_test = reviews(200, themes, stars)

model = TopicRegressor()
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(6):
    for idx in torch.randperm(len(x)).split(50):
        loss = F.mse_loss(model(x[idx]), y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(f"epoch {epoch} mse {loss.item():.4f}")
with torch.no_grad():
    print("test mse", F.mse_loss(model(x_test), y_test).item())
