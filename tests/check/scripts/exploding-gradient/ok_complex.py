"""Complex weights and Fourier transforms."""

import torch
from torch import nn

torch.manual_seed(0)


class ComplexReLU(nn.Module):
    def forward(self, z):
        return torch.complex(torch.relu(z.real), torch.relu(z.imag))


class Spectral(nn.Module):
    def __init__(self, channels, modes):
        super().__init__()
        self.modes = modes
        self.weight = nn.Parameter(torch.rand(channels, channels, modes, dtype=torch.cfloat))

    def forward(self, x):
        spectrum = torch.fft.rfft(x)
        out = torch.zeros_like(spectrum)
        low = spectrum[:, :, : self.modes]
        out[:, :, : self.modes] = torch.einsum("bix,iox->box", low, self.weight / 4)
        return torch.fft.irfft(out, n=x.size(-1))


operator = nn.Sequential(
    nn.Conv1d(1, 4, 1), Spectral(4, 5), nn.GELU(), Spectral(4, 5), nn.Conv1d(4, 1, 1)
)
first, second = nn.Linear(3, 6, dtype=torch.cfloat), nn.Linear(6, 2, dtype=torch.cfloat)
classifier = nn.Sequential(first, ComplexReLU(), second)
second.weight.register_hook(lambda gradient: gradient * 0.5)
parameters = [*operator.parameters(), *classifier.parameters()]
optimizer = torch.optim.Adam(parameters, lr=1e-3)
for _ in range(20):
    x = torch.randn(4, 1, 16)
    z, w = torch.randn(8, 3, dtype=torch.cfloat), torch.randn(8, 2, dtype=torch.cfloat)
    made = operator(x)
    spectrum = torch.stft(
        made[:, 0] - x[:, 0], 8, window=torch.hann_window(8), return_complex=True
    )
    loss = (made - torch.cumsum(x, -1) / 4).pow(2).mean() + spectrum.abs().mean()
    loss = loss + (classifier(z) - w).abs().pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(parameters, 1.0)
    optimizer.step()
