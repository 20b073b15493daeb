import os
import tempfile

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()

torch.manual_seed(0)
model = DDP(nn.Linear(6, 3))
names = [tempfile.mkdtemp()]
dist.broadcast_object_list(names)
path = os.path.join(names[0], "model.pt")
if rank == 0:
    torch.save(model.module.state_dict(), path)
dist.barrier()
model.module.load_state_dict(torch.load(path))
dist.destroy_process_group()
