import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
T = 3.0
x = torch.randn(500, 10)
y = (x[:, 0] + x[:, 1] * x[:, 2]).gt(0).long() + x[:, 3].gt(1).long()
dl = DataLoader(TensorDataset(x, y), batch_size=50, shuffle=True)

teacher = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 3))
student = nn.Sequential(nn.Linear(10, 16), nn.ReLU(), nn.Linear(16, 3))


def fit_teacher():
    opt = torch.optim.Adam(teacher.parameters(), lr=1e-2)
    for _ in range(10):
        for xb, yb in dl:
            opt.zero_grad()
            F.cross_entropy(teacher(xb), yb).backward()
            opt.step()


def distill_loss(s_logits, t_logits):
    s = F.softmax(s_logits / T, dim=1)  # BUG kl-div-log|loss-input|probs-as-logits
    t = F.softmax(t_logits / T, dim=1)
    return F.kl_div(s, t, reduction="batchmean") * T * T


fit_teacher()
teacher.eval()
opt = torch.optim.Adam(student.parameters(), lr=1e-2)
for epoch in range(8):
    tot, agree = 0.0, 0
    for xb, yb in dl:
        with torch.no_grad():
            t_logits = teacher(xb)
        s_logits = student(xb)
        loss = distill_loss(s_logits, t_logits)
        opt.zero_grad()
        loss.backward()
        opt.step()
        tot += loss.item()
        agree += (s_logits.argmax(1) == t_logits.argmax(1)).sum().item()
    print(f"epoch {epoch} kd {tot / len(dl):.4f} agreement {agree / 500:.3f}")
