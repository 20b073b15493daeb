import torch
import torch.nn as nn

torch.manual_seed(13)
# imitation of an expert with a confidence penalty (entropy of the policy is rewarded)
states = torch.randn(256, 6) * torch.tensor([1.0, 1.0, 40.0, 1.0, 1.0, 40.0])
actions = (states[:, 2] > 0).long() + (states[:, 5] > 0).long()
policy = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 3))
opt = torch.optim.Adam(policy.parameters(), lr=2e-2)
BETA = 0.01

for it in range(120):
    logits = policy(states)
    probs = torch.softmax(logits, dim=1)
    entropy = -(probs * torch.log_softmax(logits, dim=1)).sum(1).mean()
    ce = nn.functional.cross_entropy(logits, actions)
    loss = ce - BETA * entropy
    opt.zero_grad()
    loss.backward()
    opt.step()
    if it % 30 == 29:
        print(f"{it + 1}: loss {loss.item():.4f} entropy {entropy.item():.4f}")
acc = (policy(states).argmax(1) == actions).float().mean().item()
print("agreement with the expert", round(acc, 3))
