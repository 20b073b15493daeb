# A contextual bandit; actions that are not allowed have probability zero
import torch
from torch import nn

torch.manual_seed(15)
policy = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 5))
optimizer = torch.optim.Adam(policy.parameters(), lr=5e-3)
for step in range(60):
    context = torch.randn(32, 4)
    allowed = torch.rand(32, 5) > 0.3
    allowed[:, 0] = True
    scores = policy(context).masked_fill(~allowed, float("-inf"))
    probs = torch.softmax(scores, dim=1)
    action = torch.multinomial(probs, 1).squeeze(1)
    reward = (action == (context[:, 0] > 0).long()).float()
    picked = torch.log(probs.gather(1, action[:, None]).squeeze(1))
    entropy = -(probs * probs.clamp_min(1e-9).log()).sum(1).mean()
    loss = -(picked * (reward - 0.3)).mean() - 0.01 * entropy
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("loss", loss.item(), "reward", reward.mean().item())
