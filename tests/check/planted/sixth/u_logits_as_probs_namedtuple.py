from collections import namedtuple
import torch
import torch.nn as nn

Output = namedtuple("Output", ["prob", "hidden"])
torch.manual_seed(4)


class RiskModel(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.enc = nn.Linear(d, 16)
        self.head = nn.Linear(16, 1)

    def forward(self, x):
        h = torch.tanh(self.enc(x))
        return Output(self.head(h).squeeze(1), h)  # BUG logits-as-probs


def expected_cost(prob, claim):
    """Premium = predicted probability x claim size."""
    return (prob * claim).mean()  # BUG logits-as-probs


def fit(model, x, y, epochs=150):
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(epochs):
        out = model(x)
        loss = nn.functional.binary_cross_entropy_with_logits(out.prob, y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    return loss.item()


x = torch.randn(1000, 6)
true_p = torch.sigmoid(x[:, 0] - 0.7 * x[:, 1] - 1.5)
y = torch.bernoulli(true_p)
claim = 500 + 1000 * torch.rand(1000)
model = RiskModel(6)
print("train loss", round(fit(model, x[:700], y[:700]), 4))
model.eval()
with torch.no_grad():
    out = model(x[700:])
    print("mean premium", round(expected_cost(out.prob, claim[700:]).item(), 2))
    print("mean real cost", round((y[700:] * claim[700:]).mean().item(), 2))
