"""Sequence autoencoder with separate optimizers for encoder and decoder."""
import torch
import torch.nn as nn

torch.manual_seed(0)
encoder = nn.Sequential(nn.Linear(20, 48), nn.Tanh(), nn.Linear(48, 4))
decoder = nn.Sequential(nn.Linear(4, 48), nn.Tanh(), nn.Linear(48, 20))
enc_opt = torch.optim.Adam(encoder.parameters(), lr=3e-3)
dec_opt = torch.optim.Adam(decoder.parameters(), lr=3e-3)
basis = torch.randn(4, 20)


def train_step(x):
    enc_opt.zero_grad()
    dec_opt.zero_grad()
    loss = nn.functional.mse_loss(decoder(encoder(x)), x)
    loss.backward()
    enc_opt.step()
    dec_opt.step()
    return loss.item()


hist = [train_step(torch.randn(64, 4) @ basis) for _ in range(250)]
print(f"mse {hist[0]:.3f} -> {sum(hist[-10:]) / 10:.3f}")
