# NLLLoss with log_softmax inside of the model; softmax over dim 0 would be right for a 1-D vector of scores.
import torch
from torch import nn

torch.manual_seed(5)
items = torch.randn(40, 6)
true_w = torch.randn(6)


class Chooser(nn.Module):
    """Scores each item of a slate (n_items, d) and returns log-probabilities over the slate."""

    def __init__(self):
        super().__init__()
        self.w = nn.Linear(6, 1, bias=False)

    def forward(self, slate):
        return torch.log_softmax(self.w(slate).squeeze(-1), dim=0)


def sample():
    slate = items[torch.randperm(40)[:5]]
    pick = torch.multinomial(torch.softmax(2 * slate @ true_w, dim=0), 1)
    return slate, pick


m = Chooser()
opt = torch.optim.Adam(m.parameters(), lr=0.05)
nll = nn.NLLLoss()
for step in range(120):
    opt.zero_grad()
    loss = sum(nll(m(s).unsqueeze(0), p) for s, p in (sample() for _ in range(8))) / 8
    loss.backward()
    opt.step()
    if step % 40 == 39:
        print(step + 1, round(loss.item(), 4))
cos = nn.functional.cosine_similarity(m.w.weight.detach()[0], true_w, dim=0)
print("cosine with the true weights", round(cos.item(), 4))
