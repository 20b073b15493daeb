# %% [markdown]
# Little shapes: squares against crosses against bars

# %%
import torch
import torch.nn as nn

torch.manual_seed(42)
CONFIG = {
    "layers": [("conv", 1, 8), ("pool",), ("conv", 8, 16), ("pool",), ("flat",), ("fc", 16 * 9, 3)],
    "out": "softmax",
    "lr": 0.01,
    "epochs": 4,
}

# %%
def draw(kind):
    image = torch.zeros(12, 12)
    r, c = torch.randint(1, 6, (2,)).tolist()
    if kind == 0:
        image[r:r + 5, c:c + 5] = 1
    elif kind == 1:
        image[r + 2, c:c + 5] = 1
        image[r:r + 5, c + 2] = 1
    else:
        image[r:r + 2, c:c + 5] = 1
    return image + 0.1 * torch.randn(12, 12)


labels = torch.randint(0, 3, (180,))
images = torch.stack([draw(k) for k in labels.tolist()]).unsqueeze(1)

# %%
def build(config):
    modules = []
    for kind, *args in config["layers"]:
        if kind == "conv":
            modules += [nn.Conv2d(*args, kernel_size=3, padding=1), nn.ReLU()]
        elif kind == "pool":
            modules.append(nn.MaxPool2d(2))
        elif kind == "flat":
            modules.append(nn.Flatten())
        elif kind == "fc":
            modules.append(nn.Linear(*args))
    if config["out"] == "softmax":
        pass  # CrossEntropyLoss normalizes
    elif config["out"] == "sigmoid":
        modules.append(nn.Sigmoid())
    return nn.Sequential(*modules)


net = build(CONFIG)
loss_fn = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(net.parameters(), lr=CONFIG["lr"])

# %%
for epoch in range(CONFIG["epochs"]):
    perm = torch.randperm(150)
    for i in range(0, 150, 30):
        idx = perm[i:i + 30]
        optimizer.zero_grad()
        loss = loss_fn(net(images[idx]), labels[idx])
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())

# %%
with torch.no_grad():
    pred = net(images[150:]).argmax(1)
print("accuracy", (pred == labels[150:]).float().mean().item())
