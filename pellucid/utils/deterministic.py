"""`torch.utils.deterministic`: a setting that is kept.

New tensors without values hold whatever was in memory, unless deterministic algorithms are asked
for.
"""

fill_uninitialized_memory = True
