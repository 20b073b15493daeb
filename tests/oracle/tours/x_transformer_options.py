"""x-transformers: the options of its decoder."""

import torch
from _parts import show
from x_transformers import AutoregressiveWrapper, Decoder, TransformerWrapper

for options in (
    {},
    {"rotary_pos_emb": True},
    {"alibi_pos_bias": True},
    {"rel_pos_bias": True},
    {"use_rmsnorm": True, "ff_swish": True, "ff_glu": True},
    {"attn_one_kv_head": True},
    {"attn_num_mem_kv": 2},
    {"macaron": True},
    {"residual_attn": True},
    {"attn_qk_norm": True},
    {"shift_tokens": 1},
    {"attn_flash": True},
    {"attn_sparse_topk": 2},
    {"gate_residual": True},
    {"sandwich_norm": True},
    {"attn_on_attn": True},
    {"dynamic_pos_bias": True},
    {"attn_gate_values": True},
    {"use_dynamic_tanh": True},
):
    torch.manual_seed(0)
    layers = Decoder(dim=16, depth=2, heads=2, attn_dim_head=8, **options)
    model = TransformerWrapper(num_tokens=20, max_seq_len=16, attn_layers=layers)
    trained = AutoregressiveWrapper(model)
    x = torch.randint(0, 20, (2, 10))
    loss = trained(x)
    loss.backward()
    show(str(options), loss)
    show("gradient", model.token_emb.emb.weight.grad.abs())
    print(trained.eval().generate(x[:, :3], 4, temperature=0.0).tolist())
