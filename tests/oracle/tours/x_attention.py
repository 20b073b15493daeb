"""x_transformers: decoders, encoders, images, with many of the library's options; trained a
little and sampled from.
"""

import warnings

import torch
from _parts import show, without_compiled_operators

without_compiled_operators()
warnings.simplefilter("ignore")
from x_transformers import (  # noqa: E402
    AutoregressiveWrapper,
    ContinuousTransformerWrapper,
    Decoder,
    Encoder,
    TransformerWrapper,
    ViTransformerWrapper,
    XTransformer,
)
from x_transformers.xl_autoregressive_wrapper import XLAutoregressiveWrapper  # noqa: E402

torch.manual_seed(0)
x = torch.randint(0, 50, (2, 16))
common = {"dim": 32, "depth": 2, "heads": 4, "attn_dim_head": 8}
for name, options in (
    ("plain", {}),
    ("rotary", {"rotary_pos_emb": True, "ff_glu": True, "ff_swish": True, "use_rmsnorm": True}),
    ("alibi", {"alibi_pos_bias": True, "alibi_num_heads": 2}),
    ("t5", {"rel_pos_bias": True, "attn_qk_norm": True}),
    ("flash", {"attn_flash": True, "attn_kv_heads": 2}),
    ("memory", {"attn_num_mem_kv": 4, "ff_relu_squared": True}),
    ("residual", {"gate_residual": True, "sandwich_norm": True, "shift_tokens": 1}),
    ("dynamic", {"dynamic_pos_bias": True, "dynamic_pos_bias_log_distance": False}),
    ("sparse", {"attn_sparse_topk": 4, "scale_residual": True, "use_scalenorm": True}),
):
    model = TransformerWrapper(
        num_tokens=50, max_seq_len=32, attn_layers=Decoder(**common, **options)
    )
    wrapped = AutoregressiveWrapper(model)
    optimizer = torch.optim.Adam(wrapped.parameters(), 3e-3)
    for _ in range(2):
        loss = wrapped(x)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    show(name, loss)
    show(name, wrapped.generate(x[:, :4], 4, temperature=0.0))
print(wrapped.generate(x[:, :4], 6, temperature=1.0).tolist())
print(
    AutoregressiveWrapper(model).beam_search(x[:, :4], 4, beams=2).tolist()
    if hasattr(wrapped, "beam_search")
    else None
)
encoder = TransformerWrapper(
    num_tokens=50,
    max_seq_len=32,
    attn_layers=Encoder(**common),
    num_memory_tokens=3,
    use_abs_pos_emb=False,
)
mask = torch.ones_like(x).bool()
mask[1, 5:] = False
show("encoder", encoder(x, mask=mask, return_embeddings=True).abs())
pictures = ViTransformerWrapper(
    image_size=16, patch_size=4, num_classes=5, attn_layers=Encoder(**common)
)
loss = pictures(torch.randn(2, 3, 16, 16)).square().mean()
loss.backward()
show("pictures", loss)
both = XTransformer(
    dim=32,
    enc_num_tokens=50,
    enc_depth=1,
    enc_heads=2,
    enc_max_seq_len=32,
    dec_num_tokens=50,
    dec_depth=1,
    dec_heads=2,
    dec_max_seq_len=32,
    tie_token_emb=True,
)
loss = both(x, x, mask=mask)
loss.backward()
show("both", loss)
print(both.generate(x, x[:, :1], 4, mask=mask).shape)
real = ContinuousTransformerWrapper(
    dim_in=3, dim_out=2, max_seq_len=16, attn_layers=Encoder(**common)
)
show("continuous", real(torch.randn(2, 16, 3)).abs())
long = TransformerWrapper(
    num_tokens=50, max_seq_len=8, max_mem_len=8, attn_layers=Decoder(rel_pos_bias=True, **common)
)
loss = XLAutoregressiveWrapper(long)(x)
loss.backward()
show("xl", loss)
