# Pump vibration -> remaining hours (scaled).  Minimal hand-written loop.
import torch

torch.manual_seed(2)
n = 800
sensors = torch.randn(n, 6)
hours = torch.sin(sensors[:, :1]) + 0.5 * sensors[:, 1:2] ** 2 - 0.3 * sensors[:, 2:3]
train_x, train_y = sensors[:600], hours[:600]
test_x, test_y = sensors[600:], hours[600:]

mlp = torch.nn.Sequential(
    torch.nn.Linear(6, 48),
    torch.nn.Tanh(),
    torch.nn.Linear(48, 1),
)
optim = torch.optim.SGD(mlp.parameters(), lr=0.1)
mse = torch.nn.MSELoss()

for epoch in range(40):
    order = torch.randperm(len(train_x))
    for k in range(0, 600, 60):
        rows = order[k:k + 60]
        pred = mlp(train_x[rows])
        loss = mse(pred, train_y[rows])
        loss.backward()  # BUG missing-zero-grad
        optim.step()  # BUG missing-zero-grad
    if epoch % 8 == 7:
        with torch.no_grad():
            test = mse(mlp(test_x), test_y)
        print("epoch %3d  train %.4f  test %.4f  |grad| %.3f" % (
            epoch, loss.item(), test.item(), mlp[0].weight.grad.norm()))
print("variance of the target:", round(test_y.var().item(), 4))
