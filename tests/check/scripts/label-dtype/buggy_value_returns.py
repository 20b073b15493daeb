"""Monte Carlo evaluation of a fixed policy: regress the value on discounted returns."""

import torch
from torch import nn


def episodes(n, length, generator):
    """A noisy walk; the reward is small close to the origin."""
    position = torch.zeros(n, length, 2)
    rewards = torch.zeros(n, length)
    actions = torch.zeros(n, length, dtype=torch.long)
    here = torch.randn(n, 2, generator=generator)
    for t in range(length):
        position[:, t] = here
        rewards[:, t] = 0.3 * torch.exp(-here.pow(2).sum(1))
        actions[:, t] = (here[:, 0] < 0).long()
        push = 0.2 * (2.0 * actions[:, t] - 1)
        here = here + 0.1 * torch.randn(n, 2, generator=generator)
        here[:, 0] += push
    return position, actions, rewards


def discounted(actions, rewards, gamma=0.9):
    returns = torch.zeros_like(actions)  # <- finding
    running = torch.zeros(len(rewards))
    for t in reversed(range(rewards.shape[1])):
        running = rewards[:, t] + gamma * running
        returns[:, t] = running
    return returns.float()


def main():
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(0)
    position, actions, rewards = episodes(64, 30, generator)
    # the last steps have no full horizon and are left out
    x = position[:, :10].flatten(0, 1)
    target = discounted(actions, rewards)[:, :10].flatten()
    value = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 1), nn.Flatten(0))
    opt = torch.optim.Adam(value.parameters(), lr=1e-2)
    for step in range(150):
        idx = torch.randint(0, len(x), (64,))
        loss = nn.functional.mse_loss(value(x[idx]), target[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 50 == 49:
            print(f"step {step + 1} loss {loss.item():.4f}")
    with torch.no_grad():
        print("value at the origin", value(torch.zeros(1, 2)).item(), "far away", value(torch.full((1, 2), 3.0)).item())


if __name__ == "__main__":
    main()
