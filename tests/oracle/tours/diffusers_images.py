"""diffusers: a small U-Net learns to remove noise; schedulers sample; autoencoders, conditioning
and pipelines save and load.
"""

import tempfile
import warnings

import torch
from _parts import show, without_compiled_operators

without_compiled_operators()
warnings.simplefilter("ignore")
from diffusers import (  # noqa: E402
    AutoencoderKL,
    ControlNetModel,
    DDIMPipeline,
    DDIMScheduler,
    DDPMPipeline,
    DDPMScheduler,
    DPMSolverMultistepScheduler,
    EulerAncestralDiscreteScheduler,
    EulerDiscreteScheduler,
    FlowMatchEulerDiscreteScheduler,
    HeunDiscreteScheduler,
    LMSDiscreteScheduler,
    PNDMScheduler,
    StableDiffusionPipeline,
    Transformer2DModel,
    UNet2DConditionModel,
    UNet2DModel,
    UniPCMultistepScheduler,
    logging,
)
from diffusers.optimization import get_cosine_schedule_with_warmup  # noqa: E402
from diffusers.training_utils import EMAModel  # noqa: E402
from transformers import CLIPTextConfig, CLIPTextModel  # noqa: E402

logging.set_verbosity_error()
torch.manual_seed(0)
images = torch.randn(4, 3, 16, 16)
unet = UNet2DModel(
    sample_size=16,
    layers_per_block=1,
    block_out_channels=(16, 32),
    norm_num_groups=8,
    down_block_types=("DownBlock2D", "AttnDownBlock2D"),
    up_block_types=("AttnUpBlock2D", "UpBlock2D"),
    attention_head_dim=8,
)
noise_schedule = DDPMScheduler(num_train_timesteps=50)
optimizer = torch.optim.AdamW(unet.parameters(), 1e-3)
rates = get_cosine_schedule_with_warmup(optimizer, 1, 4)
average = EMAModel(unet.parameters(), decay=0.9)
for _ in range(3):
    noise = torch.randn_like(images)
    steps = torch.randint(0, 50, (4,))
    loss = torch.nn.functional.mse_loss(
        unet(noise_schedule.add_noise(images, noise, steps), steps).sample, noise
    )
    loss.backward()
    torch.nn.utils.clip_grad_norm_(unet.parameters(), 1.0)
    optimizer.step()
    rates.step()
    optimizer.zero_grad()
    average.step(unet.parameters())
    show("loss", loss)
show("average", sum(p.abs().mean() for p in average.shadow_params))
unet.eval()
with tempfile.TemporaryDirectory() as folder:
    DDPMPipeline(unet, noise_schedule).save_pretrained(folder)
    pipe = DDPMPipeline.from_pretrained(folder)
    pipe.set_progress_bar_config(disable=True)
    made = pipe(
        batch_size=1, generator=torch.manual_seed(1), num_inference_steps=4, output_type="np"
    ).images
    show("ddpm", float(made.sum().round(2)))
pipe = DDIMPipeline(unet, DDIMScheduler(num_train_timesteps=50))
pipe.set_progress_bar_config(disable=True)
picture = pipe(batch_size=1, generator=torch.manual_seed(1), num_inference_steps=4).images[0]
print(picture.size, picture.mode)
for kind in (
    DPMSolverMultistepScheduler,
    EulerAncestralDiscreteScheduler,
    EulerDiscreteScheduler,
    FlowMatchEulerDiscreteScheduler,
    HeunDiscreteScheduler,
    LMSDiscreteScheduler,
    PNDMScheduler,
    UniPCMultistepScheduler,
):
    torch.manual_seed(2)
    schedule = kind(num_train_timesteps=50)
    schedule.set_timesteps(4)
    sample = torch.randn(1, 3, 16, 16) * getattr(schedule, "init_noise_sigma", 1.0)
    with torch.no_grad():
        for t in schedule.timesteps:
            given = (
                schedule.scale_model_input(sample, t)
                if hasattr(schedule, "scale_model_input")
                else sample
            )
            sample = schedule.step(unet(given, t).sample, t, sample).prev_sample
    show(kind.__name__, sample.abs().mean())

vae = AutoencoderKL(
    block_out_channels=(16, 32),
    down_block_types=("DownEncoderBlock2D",) * 2,
    up_block_types=("UpDecoderBlock2D",) * 2,
    latent_channels=4,
    norm_num_groups=8,
    sample_size=16,
)
spread = vae.encode(images).latent_dist
z = spread.sample()
loss = torch.nn.functional.mse_loss(vae.decode(z).sample, images) + 1e-3 * spread.kl().mean()
loss.backward()
show("autoencoder", loss)
vae.eval()
vae.enable_tiling()
vae.enable_slicing()
show("tiled", vae.decode(z).sample.abs().mean())
conditions = {
    "block_out_channels": (16, 32),
    "layers_per_block": 1,
    "norm_num_groups": 8,
    "cross_attention_dim": 32,
    "attention_head_dim": 4,
    "down_block_types": ("DownBlock2D", "CrossAttnDownBlock2D"),
}
conditional = UNet2DConditionModel(
    sample_size=8, up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"), **conditions
)
text = torch.randn(4, 5, 32)
loss = conditional(z.detach(), torch.tensor([1, 2, 3, 4]), text).sample.square().mean()
loss.backward()
show("conditional", loss)
control = ControlNetModel.from_unet(
    conditional, conditioning_channels=3, load_weights_from_unet=False
)
down, middle = control(z.detach(), 3, text, torch.randn(4, 3, 64, 64), return_dict=False)
show(
    "control",
    conditional(
        z.detach(),
        3,
        text,
        down_block_additional_residuals=down,
        mid_block_additional_residual=middle,
    )
    .sample.abs()
    .mean(),
)
flat = Transformer2DModel(
    num_attention_heads=2,
    attention_head_dim=8,
    in_channels=4,
    norm_num_groups=2,
    cross_attention_dim=32,
)
show("transformer", flat(z.detach(), text).sample.abs().mean())
words = CLIPTextModel(
    CLIPTextConfig(
        hidden_size=32,
        intermediate_size=37,
        num_attention_heads=4,
        num_hidden_layers=2,
        vocab_size=100,
    )
).eval()
pipe = StableDiffusionPipeline(
    vae=vae,
    text_encoder=words,
    tokenizer=None,
    unet=conditional.eval(),
    scheduler=DDIMScheduler(num_train_timesteps=50),
    safety_checker=None,
    feature_extractor=None,
    requires_safety_checker=False,
)
pipe.set_progress_bar_config(disable=True)
pipe.enable_attention_slicing()
prompt = words(torch.randint(0, 100, (1, 7))).last_hidden_state
made = pipe(
    prompt_embeds=prompt,
    negative_prompt_embeds=torch.zeros_like(prompt),
    height=16,
    width=16,
    num_inference_steps=3,
    generator=torch.manual_seed(0),
    output_type="np",
).images
print(made.shape)
show("stable diffusion", float(made.mean().round(3)))
