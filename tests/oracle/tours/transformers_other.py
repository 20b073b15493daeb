"""transformers: images, sound, images with text, a state space model."""

import torch
from _parts import show, without_compiled_operators

without_compiled_operators()
from transformers import (  # noqa: E402
    CLIPConfig,
    CLIPModel,
    MambaConfig,
    MambaForCausalLM,
    ViTConfig,
    ViTForImageClassification,
    WhisperConfig,
    WhisperForConditionalGeneration,
)  # fmt: skip

torch.manual_seed(0)
x = torch.randint(2, 50, (2, 8))
sizes = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 64,
}
images = torch.randn(2, 3, 32, 32)
vit = ViTForImageClassification(ViTConfig(image_size=32, patch_size=8, num_labels=3, **sizes))
loss = vit(images, labels=torch.tensor([0, 2])).loss
loss.backward()
show("vit loss", loss)
clip = CLIPModel(
    CLIPConfig(
        text_config={"vocab_size": 50, "eos_token_id": 49, **sizes},
        vision_config={"image_size": 32, "patch_size": 8, **sizes},
        projection_dim=16,
    )
)
loss = clip(input_ids=x, pixel_values=images, return_loss=True).loss
loss.backward()
show("clip loss", loss)
whisper = WhisperForConditionalGeneration(
    WhisperConfig(
        d_model=32,
        encoder_layers=2,
        decoder_layers=2,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=64,
        decoder_ffn_dim=64,
        vocab_size=50,
        num_mel_bins=8,
        max_source_positions=20,
        max_target_positions=20,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
        decoder_start_token_id=1,
        suppress_tokens=None,
        begin_suppress_tokens=None,
    )
)
loss = whisper(input_features=torch.randn(2, 8, 40), labels=x).loss
loss.backward()
show("whisper loss", loss)
mamba = MambaForCausalLM(
    MambaConfig(hidden_size=32, num_hidden_layers=2, state_size=4, vocab_size=50, pad_token_id=0)
)
loss = mamba(x, labels=x).loss
loss.backward()
show("mamba loss", loss)
