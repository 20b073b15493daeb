import torch
from torch import nn

torch.manual_seed(13)
policy = nn.Sequential(nn.Linear(9, 32), nn.Tanh(), nn.Linear(32, 2))
opt = torch.optim.Adam(policy.parameters(), lr=5e-3)


def episode():
    place, logs, rewards = 4, [], []
    for _ in range(20):
        state = nn.functional.one_hot(torch.tensor(place), 9).float()
        dist = torch.distributions.Categorical(logits=policy(state))
        action = dist.sample()
        logs.append(dist.log_prob(action))
        place += 1 if action.item() == 1 else -1
        rewards.append(1.0 if place == 8 else -0.05)
        if place in (0, 8):
            break
    return torch.stack(logs), rewards


for update in range(30):
    batch, returns = [], []
    for _ in range(4):
        logs, rewards = episode()
        g = 0.0
        out = []
        for r in reversed(rewards):
            g = r + 0.95 * g
            out.insert(0, g)
        batch.append(logs)
        returns.append(torch.tensor(out))
    logs, returns = torch.cat(batch), torch.cat(returns)
    loss = -(logs * (returns - 0.2)).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if update % 10 == 0:
        print(f"update {update} mean return {returns.mean():.3f}")
