"""Tensors, modules, optimizers and files that several ranks share: what `torch.distributed` has
beyond collectives.

`placements`, `redistribute`, `propagate`, `rules` and `dtensor` are DTensor; on it stand `parallel`
(tensor parallel), `fsdp` and `checkpoint`. `torch.distributed` lends these modules under PyTorch's
names (`distributed/_identities.py`) when they are first asked.
"""
