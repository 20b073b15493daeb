"""The same categories in all tables, and numbers looked up in those of training."""

import numpy as np
import torch
from torch import nn

torch.manual_seed(0)
rng = np.random.default_rng(0)
train, test = rng.choice(["a", "b", "c"], 60), rng.choice(["a", "b", "c"], 30)
few = rng.choice(["b", "c"], 20)
kinds, codes = np.unique(train, return_inverse=True)
test_codes = np.unique(test, return_inverse=True)[1]
few_codes = np.searchsorted(kinds, few)
print(nn.Embedding(3, 2)(torch.as_tensor(np.concatenate([codes, test_codes, few_codes]))).shape)
