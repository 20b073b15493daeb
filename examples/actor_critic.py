"""Actor-critic reinforcement learning on a pole that must be balanced (the equations of Barto,
Sutton, Anderson, 1983).

python actor_critic.py [--episodes N] [--quick]
"""

import argparse
import math
import time
from collections import namedtuple

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.distributions import Categorical

SavedAction = namedtuple("SavedAction", ["log_prob", "value"])


class CartPole:
    """State: position, velocity, angle, angular velocity; actions push left (0) or right (1)."""

    def __init__(self, generator):
        self.generator = generator

    def reset(self):
        self.state = (torch.rand(4, generator=self.generator) * 0.1 - 0.05).tolist()
        return self.state

    def step(self, action):
        x, x_dot, theta, theta_dot = self.state
        force = 10.0 if action == 1 else -10.0
        temp = (force + 0.05 * theta_dot**2 * math.sin(theta)) / 1.1
        theta_acc = (9.8 * math.sin(theta) - math.cos(theta) * temp) / (
            0.5 * (4.0 / 3.0 - 0.1 * math.cos(theta) ** 2 / 1.1)
        )
        x_acc = temp - 0.05 * theta_acc * math.cos(theta) / 1.1
        self.state = [
            x + 0.02 * x_dot,
            x_dot + 0.02 * x_acc,
            theta + 0.02 * theta_dot,
            theta_dot + 0.02 * theta_acc,
        ]
        return self.state, 1.0, abs(self.state[0]) > 2.4 or abs(self.state[2]) > 12 * math.pi / 180


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.affine1 = nn.Linear(4, 128)
        self.action_head = nn.Linear(128, 2)
        self.value_head = nn.Linear(128, 1)
        self.saved_actions, self.rewards = [], []

    def forward(self, x):
        x = F.relu(self.affine1(x))
        return F.softmax(self.action_head(x), dim=-1), self.value_head(x)


def select_action(model, state):
    probs, state_value = model(torch.tensor(state))
    m = Categorical(probs)
    action = m.sample()
    model.saved_actions.append(SavedAction(m.log_prob(action), state_value))
    return action.item()


def finish_episode(model, optimizer, gamma=0.99):
    R, returns = 0, []
    for r in model.rewards[::-1]:
        R = r + gamma * R
        returns.insert(0, R)
    returns = torch.tensor(returns)
    returns = (returns - returns.mean()) / (returns.std() + 1e-8)
    policy_losses, value_losses = [], []
    for (log_prob, value), R in zip(model.saved_actions, returns):
        policy_losses.append(-log_prob * (R - value.item()))
        value_losses.append(F.smooth_l1_loss(value, torch.tensor([R])))
    optimizer.zero_grad()
    loss = torch.stack(policy_losses).sum() + torch.stack(value_losses).sum()
    loss.backward()
    optimizer.step()
    del model.rewards[:], model.saved_actions[:]
    return loss.item()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--episodes", type=int, default=100)
    parser.add_argument("--seed", type=int, default=543)
    parser.add_argument("--quick", action="store_true", help="20 episodes")
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    env, model = CartPole(torch.Generator().manual_seed(1)), Policy()
    optimizer = optim.Adam(model.parameters(), lr=3e-2)
    running, start = 10.0, time.time()
    for episode in range(1, (20 if args.quick else args.episodes) + 1):
        state, total = env.reset(), 0
        for _ in range(500):
            state, reward, done = env.step(select_action(model, state))
            model.rewards.append(reward)
            total += reward
            if done:
                break
        running = 0.05 * total + 0.95 * running
        loss = finish_episode(model, optimizer)
        if args.quick or episode % 10 == 0:
            print(f"episode {episode:3d} reward {total:5.0f} average {running:.2f} loss {loss:.4f}")
    print(f"{episode} episodes in {time.time() - start:.1f} s")


if __name__ == "__main__":
    main()
