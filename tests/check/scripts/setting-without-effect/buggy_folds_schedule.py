import torch
from torch import nn

torch.manual_seed(17)
x = torch.randn(300, 8)
y = (x[:, :2].sum(1, keepdim=True)).sin()
folds = torch.arange(300) % 3


def make():
    model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1))
    return model, torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)


model, opt = make()
sched = torch.optim.lr_scheduler.StepLR(opt, step_size=2, gamma=0.3)
for fold in range(3):
    model, opt = make()
    train, held = (folds != fold).nonzero()[:, 0], folds == fold
    for epoch in range(5):
        for idx in train[torch.randperm(len(train))].split(20):
            loss = nn.functional.mse_loss(model(x[idx]), y[idx])
            opt.zero_grad()
            loss.backward()
            opt.step()
        sched.step()  # <- finding
    with torch.no_grad():
        print(f"fold {fold} mse {nn.functional.mse_loss(model(x[held]), y[held]).item():.4f}")
