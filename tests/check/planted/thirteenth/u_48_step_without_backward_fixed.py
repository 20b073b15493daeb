"""Meta-learning of sine curves: one inner step, outer update through it."""
import torch
import torch.nn.functional as F

torch.manual_seed(70)
INNER_LR, TASKS, SHOTS = 0.02, 8, 10


def init_params(width=32):
    shapes = [(width, 1), (width,), (width, width), (width,), (1, width), (1,)]
    params = []
    for shape in shapes:
        if len(shape) == 2:
            params.append((torch.randn(shape) / shape[1] ** 0.5).requires_grad_())
        else:
            params.append(torch.zeros(shape).requires_grad_())
    return params


def forward(params, x):
    w1, b1, w2, b2, w3, b3 = params
    h = torch.tanh(F.linear(x, w1, b1))
    h = torch.tanh(F.linear(h, w2, b2))
    return F.linear(h, w3, b3)


def task():
    amplitude, phase = torch.rand(1) * 2 + 0.5, torch.rand(1) * 1.5

    def draw(n):
        x = torch.rand(n, 1) * 6 - 3
        return x, amplitude * torch.sin(x + phase)

    return draw


def adapt(params, x, y, create_graph):
    loss = F.mse_loss(forward(params, x), y)
    grads = torch.autograd.grad(loss, params, create_graph=create_graph)
    return [p - INNER_LR * g for p, g in zip(params, grads)]


params = init_params()
optimizer = torch.optim.Adam(params, lr=5e-3)
for it in range(200):
    optimizer.zero_grad()
    outer = 0.0
    for _ in range(TASKS):
        draw = task()
        fast = adapt(params, *draw(SHOTS), create_graph=True)
        x, y = draw(SHOTS)
        outer = outer + F.mse_loss(forward(fast, x), y) / TASKS
    outer.backward()
    optimizer.step()
    if it % 50 == 49:
        losses = []
        for _ in range(50):
            draw = task()
            fast = adapt(params, *draw(SHOTS), create_graph=False)
            with torch.no_grad():
                x, y = draw(50)
                losses.append(F.mse_loss(forward(fast, x), y).item())
        print(f"iteration {it + 1} outer loss {outer.item():.3f} adapted test loss {sum(losses) / 50:.3f}")
