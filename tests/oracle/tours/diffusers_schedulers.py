"""diffusers: every scheduler takes steps with one small U-Net."""

import diffusers
import torch
from _parts import show, without_compiled_operators

without_compiled_operators()
torch.manual_seed(1)
net = diffusers.UNet2DModel(
    sample_size=16,
    block_out_channels=(8, 16),
    layers_per_block=1,
    norm_num_groups=4,
    down_block_types=("DownBlock2D", "AttnDownBlock2D"),
    up_block_types=("AttnUpBlock2D", "UpBlock2D"),
).eval()
for name in (
    "DDPMScheduler DDIMScheduler DDIMInverseScheduler DDPMParallelScheduler PNDMScheduler "
    "EulerDiscreteScheduler EulerAncestralDiscreteScheduler HeunDiscreteScheduler "
    "LMSDiscreteScheduler DPMSolverMultistepScheduler DPMSolverSinglestepScheduler "
    "UniPCMultistepScheduler KDPM2DiscreteScheduler KDPM2AncestralDiscreteScheduler "
    "DEISMultistepScheduler LCMScheduler EDMEulerScheduler FlowMatchEulerDiscreteScheduler "
    "TCDScheduler SASolverScheduler IPNDMScheduler EDMDPMSolverMultistepScheduler"
).split():
    schedule = getattr(diffusers, name)()
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(1, 3, 16, 16, generator=generator)
    schedule.set_timesteps(4)
    x = x * getattr(schedule, "init_noise_sigma", 1.0)
    takes = schedule.step.__code__.co_varnames
    for t in schedule.timesteps:
        scaled = schedule.scale_model_input(x, t) if hasattr(schedule, "scale_model_input") else x
        with torch.no_grad():
            noise = net(scaled, t.clamp(max=999).float()).sample
        more = {"generator": generator} if "generator" in takes else {}
        x = schedule.step(noise, t, x, **more).prev_sample
    show(name, x)
    if hasattr(schedule, "add_noise"):
        places = schedule.timesteps[:1].repeat(2)
        show(name, schedule.add_noise(torch.ones(2, 3, 4, 4), torch.ones(2, 3, 4, 4), places))
