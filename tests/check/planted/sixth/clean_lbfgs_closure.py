import torch

torch.manual_seed(3)
x = torch.randn(200, 3, dtype=torch.float64)
w_true = torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64)
y = torch.bernoulli(torch.sigmoid(x @ w_true))
w = torch.zeros(3, dtype=torch.float64, requires_grad=True)
opt = torch.optim.LBFGS([w], max_iter=20, line_search_fn="strong_wolfe")
calls = []


def closure():
    opt.zero_grad()
    loss = torch.nn.functional.binary_cross_entropy_with_logits(x @ w, y) + 1e-3 * w.pow(2).sum()
    loss.backward()
    calls.append(loss.item())
    return loss


for _ in range(3):
    opt.step(closure)
print("calls", len(calls), "loss", round(calls[-1], 5), "w", [round(v, 2) for v in w.tolist()])
