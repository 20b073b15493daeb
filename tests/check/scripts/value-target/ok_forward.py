import torch
from torch import nn
from torch.distributions import Bernoulli


class Walk:
    """Reach +3 before -3; each step costs a little."""

    def reset(self):
        self.x = 0
        return self.obs()

    def obs(self):
        return torch.nn.functional.one_hot(torch.tensor(self.x + 3), 7).float()

    def step(self, right):
        self.x += 1 if right else -1
        done = abs(self.x) == 3
        return self.obs(), (1.0 if self.x == 3 else -0.05), done


def discounted(rewards, gamma=0.95):
    out, running = [], 0.0
    for r in reversed(rewards):
        running = r + gamma * running
        out.append(running)
    return torch.tensor(out[::-1])


torch.manual_seed(28)
policy = nn.Sequential(nn.Linear(7, 16), nn.Tanh(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(policy.parameters(), lr=0.01)
env = Walk()
lengths = []
for episode in range(80):
    obs, done, log_probs, rewards = env.reset(), False, [], []
    while not done and len(rewards) < 30:
        dist = Bernoulli(logits=policy(obs))
        action = dist.sample()
        log_probs.append(dist.log_prob(action).squeeze())
        obs, reward, done = env.step(bool(action.item()))
        rewards.append(reward)
    returns = discounted(rewards)
    loss = -(torch.stack(log_probs) * returns).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    lengths.append(len(rewards))
print("mean length", sum(lengths[-20:]) / 20)
