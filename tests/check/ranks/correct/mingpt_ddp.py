"""Like minGPT-ddp: a small GPT with dropout, AdamW, clipped gradients, an evaluation, snapshots of rank 0."""

import io
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset, random_split
from torch.utils.data.distributed import DistributedSampler

TEXT = "the quick brown fox jumps over the lazy dog. " * 12


class CharDataset(Dataset):
    def __init__(self, text, block_size):
        chars = sorted(set(text))
        self.stoi = {c: i for i, c in enumerate(chars)}
        self.block_size, self.vocab_size, self.data = block_size, len(chars), text

    def __len__(self):
        return (len(self.data) - self.block_size) // 4

    def __getitem__(self, idx):
        chunk = self.data[4 * idx : 4 * idx + self.block_size + 1]
        ids = torch.tensor([self.stoi[s] for s in chunk], dtype=torch.long)
        return ids[:-1], ids[1:]


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attn = nn.MultiheadAttention(width, heads, dropout=0.1, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width), nn.Dropout(0.1))

    def forward(self, x, mask):
        h = self.ln1(x)
        x = x + self.attn(h, h, h, attn_mask=mask, need_weights=False)[0]
        return x + self.mlp(self.ln2(x))


class GPT(nn.Module):
    def __init__(self, vocab_size, block_size, width=16):
        super().__init__()
        self.tok = nn.Embedding(vocab_size, width)
        self.pos = nn.Parameter(torch.zeros(1, block_size, width))
        self.drop = nn.Dropout(0.1)
        self.blocks = nn.ModuleList([Block(width, 2)])
        self.ln = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocab_size, bias=False)

    def forward(self, idx, targets=None):
        t = idx.shape[1]
        mask = torch.triu(torch.ones(t, t, dtype=torch.bool), diagonal=1)
        x = self.drop(self.tok(idx) + self.pos[:, :t])
        for block in self.blocks:
            x = block(x, mask)
        logits = self.head(self.ln(x))
        loss = F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1)) if targets is not None else None
        return logits, loss


class Trainer:
    def __init__(self, model, train_dataset, test_dataset):
        self.local_rank, self.global_rank = int(os.environ["LOCAL_RANK"]), int(os.environ["RANK"])
        self.train_loader, self.test_loader = self._prepare(train_dataset), self._prepare(test_dataset)
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, betas=(0.9, 0.95), weight_decay=0.1)
        self.model = DDP(model)
        self.snapshot = io.BytesIO()

    def _prepare(self, dataset):
        return DataLoader(dataset, batch_size=8, shuffle=False, sampler=DistributedSampler(dataset))

    def _run_batch(self, source, targets, train):
        with torch.set_grad_enabled(train):
            _, loss = self.model(source, targets)
        if train:
            self.optimizer.zero_grad(set_to_none=True)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            self.optimizer.step()
        return loss.item()

    def _run_epoch(self, epoch, loader, train):
        loader.sampler.set_epoch(epoch)
        self.model.train(train)
        for i, (source, targets) in enumerate(loader):
            step_type = "Train" if train else "Eval"
            loss = self._run_batch(source, targets, train)
            if i % 4 == 0:
                print(f"[RANK{self.global_rank}] Epoch {epoch} | Iter {i} | {step_type} Loss {loss:.5f}")

    def train(self, epochs):
        for epoch in range(epochs):
            self._run_epoch(epoch, self.train_loader, train=True)
            if self.local_rank == 0:
                torch.save(self.model.module.state_dict(), self.snapshot)
            self._run_epoch(epoch, self.test_loader, train=False)


dist.init_process_group(backend="gloo")
torch.manual_seed(1337)
dataset = CharDataset(TEXT, 16)
train_len = int(len(dataset) * 0.85)
train_set, test_set = random_split(dataset, [train_len, len(dataset) - train_len])
Trainer(GPT(dataset.vocab_size, 16), train_set, test_set).train(2)
dist.destroy_process_group()
