"""Log-probabilities of an episode are kept until its end and differentiated together; so are losses of micro-batches."""

import torch
from torch import nn

torch.manual_seed(0)
policy, value = nn.Linear(4, 2), nn.Linear(4, 1)
optimizer = torch.optim.Adam(policy.parameters(), lr=0.01)
critic = torch.optim.SGD(value.parameters(), lr=0.01)
for episode in range(5):
    log_probs, rewards = [], []
    state = torch.randn(4)
    for t in range(6):
        choice = torch.distributions.Categorical(logits=policy(state))
        action = choice.sample()
        log_probs.append(choice.log_prob(action))
        rewards.append(float(action))
        critic.zero_grad()
        (value(state) - rewards[-1]).pow(2).sum().backward()
        critic.step()
        state = torch.randn(4)
    loss = -(torch.stack(log_probs) * torch.tensor(rewards)).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

for step in range(5):
    total = 0
    for _ in range(4):
        total = total + policy(torch.randn(8, 4)).pow(2).mean() / 4
    optimizer.zero_grad()
    total.backward()
    optimizer.step()
print(total.item())
