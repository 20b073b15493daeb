# REINFORCE on a walk that can end after a single step
import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(15)
policy = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 2))
optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)


def episode():
    position, log_probs, rewards = 0.0, [], []
    for t in range(20):
        state = torch.tensor([position, t / 20])
        dist = Categorical(logits=policy(state))
        action = dist.sample()
        log_probs.append(dist.log_prob(action))
        position += 1.0 if action.item() == 1 else -1.0
        rewards.append(position)
        if position < 0 or position > 3:
            break
    return torch.stack(log_probs), torch.tensor(rewards)


for update in range(30):
    log_probs, rewards = episode()
    returns = rewards.flip(0).cumsum(0).flip(0)
    returns = (returns - returns.mean()) / (returns.std(correction=0) + 1e-8)
    loss = -(log_probs * returns).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
