import torch
import torch.nn as nn

torch.manual_seed(42)

# three flower species, four measurements each
means = torch.tensor([[5.0, 3.4, 1.5, 0.2], [5.9, 2.8, 4.3, 1.3], [6.6, 3.0, 5.5, 2.0]])
species = torch.arange(3).repeat_interleave(100)
flowers = means[species] + 0.4 * torch.randn(300, 4)
perm = torch.randperm(300)
flowers, species = flowers[perm], species[perm]
mu, sd = flowers[:240].mean(0), flowers[:240].std(0)
flowers = (flowers - mu) / sd

model = nn.Sequential(
    nn.Linear(4, 16),
    nn.Tanh(),
    nn.Linear(16, 3),
)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)

for epoch in range(80):
    optimizer.zero_grad()
    loss = criterion(model(flowers[:240]), species[:240])
    loss.backward()
    optimizer.step()
    if epoch % 20 == 19:
        print(f"epoch {epoch + 1}: loss = {loss.item():.4f}")

with torch.no_grad():
    predicted = model(flowers[240:]).argmax(dim=1)
print("accuracy", (predicted == species[240:]).float().mean().item())
