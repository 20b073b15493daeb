"""Actor-critic on fixed-length rollouts that span several episodes."""
import torch
from torch import nn
from torch.distributions import Categorical
from torch.nn import functional as F


class Walk:
    def __init__(self, size=5):
        self.size = size
        self.reset()

    def reset(self):
        self.at, self.t = self.size // 2, 0
        return self.state()

    def state(self):
        return F.one_hot(torch.tensor(self.at), self.size).float()

    def step(self, action):
        self.at += 1 if action == 1 else -1
        self.t += 1
        self.at = max(0, min(self.size - 1, self.at))
        done = self.at in (0, self.size - 1) or self.t >= 12
        return self.state(), float(self.at == self.size - 1), done


def rollout(env, policy, state, steps):
    states, actions, rewards, dones = [], [], [], []
    for _ in range(steps):
        with torch.no_grad():
            action = Categorical(logits=policy(state)).sample()
        states.append(state)
        actions.append(action)
        state, reward, done = env.step(action.item())
        rewards.append(reward)
        dones.append(float(done))
        if done:
            state = env.reset()
    return torch.stack(states), torch.stack(actions), torch.tensor(rewards), torch.tensor(dones), state


def compute_returns(rewards, dones, last_value, gamma=0.95):
    returns = torch.zeros(len(rewards))
    running = last_value
    for t in range(len(rewards) - 1, -1, -1):
        running = rewards[t] + gamma * running  # <- finding
        returns[t] = running
    return returns


def main():
    torch.manual_seed(22)
    env = Walk()
    policy = nn.Sequential(nn.Linear(5, 24), nn.Tanh(), nn.Linear(24, 2))
    critic = nn.Sequential(nn.Linear(5, 24), nn.Tanh(), nn.Linear(24, 1))
    optimizer = torch.optim.Adam([*policy.parameters(), *critic.parameters()], lr=5e-3)
    state = env.reset()
    for update in range(25):
        states, actions, rewards, dones, state = rollout(env, policy, state, 32)
        with torch.no_grad():
            returns = compute_returns(rewards, dones, critic(state).item())
        values = critic(states).squeeze(1)
        log_probs = Categorical(logits=policy(states)).log_prob(actions)
        loss = -(log_probs * (returns - values.detach())).mean() + 0.5 * F.mse_loss(values, returns)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if update % 5 == 0:
            print(f"update {update} return {returns.mean().item():.3f}")


main()
