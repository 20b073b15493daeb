"""Many calls in one graph that a backward goes through: an episode of a policy, an unrolled series, many micro-batches."""

import torch
from torch import nn

torch.manual_seed(0)
policy, cell = nn.Linear(3, 2), nn.GRUCell(2, 3)
optimizer = torch.optim.Adam([*policy.parameters(), *cell.parameters()], lr=0.01)
for _ in range(4):
    chosen, rewards = [], []
    for _ in range(10):
        draw = torch.distributions.Categorical(logits=policy(torch.randn(3)))
        action = draw.sample()
        chosen.append(draw.log_prob(action))
        rewards.append(float(action))
    loss = -(torch.stack(chosen) * torch.tensor(rewards)).mean()
    print(loss.item(), torch.stack(chosen).mean().item())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    state, total = torch.zeros(4, 3), 0.0
    for x in torch.randn(10, 4, 2):
        state = cell(x, state)
        total = total + state.pow(2).mean()
    optimizer.zero_grad()
    total.backward()
    optimizer.step()
    print(total.item())
    with torch.no_grad():
        state = torch.zeros(4, 3)
        for x in torch.randn(10, 4, 2):
            state = cell(x, state)
    print(state.mean().item())
