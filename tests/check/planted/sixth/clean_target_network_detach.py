import copy
import torch
import torch.nn as nn

torch.manual_seed(0)
N_STATES, GAMMA = 6, 0.9
q = nn.Sequential(nn.Linear(N_STATES, 32), nn.ReLU(), nn.Linear(32, 2))
target = copy.deepcopy(q).requires_grad_(False)
opt = torch.optim.Adam(q.parameters(), lr=5e-3)
eye = torch.eye(N_STATES)


def env_step(s, a):
    s2 = (s + (2 * a - 1)).clamp(0, N_STATES - 1)
    done = s2 == N_STATES - 1
    return s2, done.float(), done


for it in range(500):
    s = torch.randint(0, N_STATES - 1, (32,))
    a = torch.randint(0, 2, (32,))
    s2, r, done = env_step(s, a)
    with torch.no_grad():
        best = target(eye[s2]).max(1).values
        goal = r + GAMMA * best * (~done)
    pred = q(eye[s]).gather(1, a[:, None]).squeeze(1)
    loss = nn.functional.smooth_l1_loss(pred, goal)
    opt.zero_grad()
    loss.backward()
    opt.step()
    with torch.no_grad():
        for pt, p in zip(target.parameters(), q.parameters()):
            pt.lerp_(p, 0.05)
values = q(eye).max(1).values.detach()
print("loss", round(loss.item(), 5))
print("values", [round(v, 2) for v in values.tolist()[:-1]], "expected", [round(GAMMA ** k, 2) for k in range(4, -1, -1)])
