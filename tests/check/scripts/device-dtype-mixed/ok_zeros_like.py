"""REINFORCE on a short corridor."""
import torch
from torch import nn
from torch.distributions import Categorical


class Corridor:
    def __init__(self, length=6):
        self.length = length

    def reset(self):
        self.at, self.t = 2, 0
        return self.observe()

    def observe(self):
        state = torch.zeros(self.length)
        state[self.at] = 1.0
        return state

    def step(self, action):
        self.at = max(0, min(self.length - 1, self.at + (1 if action == 1 else -1)))
        self.t += 1
        reward = 0.8 if self.at == self.length - 1 else -0.05
        return self.observe(), reward, self.at == self.length - 1 or self.t >= 20


def play(policy, env):
    states, actions, rewards = [], [], []
    state, done = env.reset(), False
    while not done:
        with torch.no_grad():
            action = Categorical(logits=policy(state)).sample()
        states.append(state)
        actions.append(action)
        state, reward, done = env.step(action.item())
        rewards.append(reward)
    return torch.stack(states), torch.stack(actions), rewards


def discounted(rewards, actions, gamma=0.95):
    returns = torch.zeros(len(actions))
    running = 0.0
    for t in reversed(range(len(rewards))):
        running = rewards[t] + gamma * running
        returns[t] = running
    return returns


def main():
    torch.manual_seed(4)
    env = Corridor()
    policy = nn.Sequential(nn.Linear(6, 32), nn.Tanh(), nn.Linear(32, 2))
    optimizer = torch.optim.Adam(policy.parameters(), lr=0.01)
    for episode in range(60):
        states, actions, rewards = play(policy, env)
        returns = discounted(rewards, actions)
        log_probs = Categorical(logits=policy(states)).log_prob(actions)
        loss = -(log_probs * returns).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if episode % 20 == 0:
            print(f"episode {episode} length {len(rewards)} reward {sum(rewards):.2f}")


main()
