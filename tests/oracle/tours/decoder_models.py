"""transformers: decoders of many architectures, with their loss, gradients and greedy continuation."""

import torch
import transformers
from _parts import show, without_compiled_operators

without_compiled_operators()
transformers.logging.set_verbosity_error()
common = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "intermediate_size": 64,
    "vocab_size": 60,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
}
heads = common | {"head_dim": 8, "sliding_window": 4}
ends = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
x = torch.tensor([[5, 6, 7, 8], [9, 10, 11, 12]])
for name, options in {
    "Mistral": common | {"sliding_window": 4},
    "Mixtral": common | {"num_local_experts": 4},
    "Mamba": {"hidden_size": 32, "num_hidden_layers": 2, "vocab_size": 60, "state_size": 4},
    "Qwen2": common,
    "Qwen3Moe": common
    | {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 16, "head_dim": 8},
    "Gemma2": heads,
    "Phi3": common | ends,
    "GptOss": heads | {"num_local_experts": 4, "num_experts_per_tok": 2},
    "Olmo2": common,
    "Falcon": {
        "hidden_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "vocab_size": 60,
    },
    "Bloom": {"hidden_size": 32, "n_layer": 2, "n_head": 4, "vocab_size": 60},
    "Jamba": common
    | {
        "num_hidden_layers": 4,
        "num_experts": 2,
        "attn_layer_period": 2,
        "attn_layer_offset": 1,
        "use_mamba_kernels": False,
        "mamba_d_state": 4,
    },
}.items():
    torch.manual_seed(1)
    config = getattr(transformers, f"{name}Config")(**options)
    model = getattr(transformers, f"{name}ForCausalLM")(config)
    loss = model.train()(x, labels=x).loss
    loss.backward()
    show(name, loss)
    show(name, sum(p.grad.abs().sum() for p in model.parameters() if p.grad is not None))
    model.eval()
    show(name, model(x).logits)
    print(model.generate(x, max_new_tokens=4, do_sample=False).tolist())

torch.manual_seed(1)
llama = transformers.LlamaForCausalLM(transformers.LlamaConfig(**common, **ends)).eval()
for options in (
    {"num_beams": 3, "do_sample": True},
    {"assistant_model": llama, "do_sample": True},
    {"prompt_lookup_num_tokens": 2},
    {"cache_implementation": "static"},
    {"guidance_scale": 1.5, "repetition_penalty": 1.3},
):
    torch.manual_seed(3)
    given = x[:1] if {"assistant_model", "prompt_lookup_num_tokens"} & {*options} else x
    print(llama.generate(given, max_new_tokens=6, **options).tolist())
