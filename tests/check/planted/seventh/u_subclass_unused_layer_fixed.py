import torch
from torch import nn


class BaseScorer(nn.Module):
    def __init__(self, n_in, width=16):
        super().__init__()
        self.features = nn.Linear(n_in, width)
        self.head = nn.Linear(width, 1)

    def forward(self, x):
        return self.head(torch.relu(self.features(x)))


class ContextScorer(BaseScorer):
    """Adds the customer identity as a bias."""

    def __init__(self, n_in, n_customers):
        super().__init__(n_in)
        self.customer_bias = nn.Embedding(n_customers, 1)

    def forward(self, x, customer):
        return super().forward(x) + self.customer_bias(customer)


torch.manual_seed(5)
customers = torch.randint(0, 20, (1000,))
offset = 3 * torch.randn(20, 1)
x = torch.randn(1000, 4)
y = x[:, :1] + offset[customers]
model = ContextScorer(4, 20)
opt = torch.optim.Adam(model.parameters(), lr=0.05)
for epoch in range(15):
    for b in torch.randperm(1000).split(100):
        opt.zero_grad()
        loss = nn.functional.mse_loss(model(x[b], customers[b]), y[b])
        loss.backward()
        opt.step()
    if epoch % 5 == 4:
        print("epoch", epoch + 1, "mse", round(loss.item(), 4))
print("gradient of the bias table:", model.customer_bias.weight.grad is not None)
