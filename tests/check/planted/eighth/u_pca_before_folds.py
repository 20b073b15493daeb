# Spectra are reduced by principal components, then classified
import torch
from torch import nn

torch.manual_seed(5)
spectra = torch.randn(260, 3) @ torch.randn(3, 60) + 0.5 * torch.randn(260, 60)
label = (spectra[:, :5].sum(1) > 0).long()
order = torch.randperm(260)
train, valid = order[:200], order[200:]
centre = spectra.mean(0)  # BUG data-leak
_, _, directions = torch.linalg.svd(spectra - centre, full_matrices=False)  # BUG data-leak
components = (spectra - centre) @ directions[:8].T

clf = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2))
optimizer = torch.optim.Adam(clf.parameters(), lr=0.01)
for epoch in range(8):
    clf.train()
    for rows in train.split(40):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(clf(components[rows]), label[rows])
        loss.backward()
        optimizer.step()
clf.eval()
with torch.no_grad():
    print("valid", (clf(components[valid]).argmax(1) == label[valid]).float().mean().item())
