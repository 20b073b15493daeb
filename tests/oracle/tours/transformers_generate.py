"""transformers: ways of generating, caches, logits processors, streaming, hidden
states and attentions.
"""

import warnings

import torch
from _parts import show, without_compiled_operators

without_compiled_operators()
warnings.simplefilter("ignore")
from transformers import (  # noqa: E402
    BartConfig,
    BartForConditionalGeneration,
    GenerationConfig,
    LlamaConfig,
    LlamaForCausalLM,
    LogitsProcessor,
    LogitsProcessorList,
    MistralConfig,
    MistralForCausalLM,
    Qwen2Config,
    Qwen2ForCausalLM,
    StoppingCriteria,
    StoppingCriteriaList,
    WhisperConfig,
    WhisperForConditionalGeneration,
    logging,
)

logging.set_verbosity_error()
torch.manual_seed(0)
sizes = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "intermediate_size": 64,
    "vocab_size": 60,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
}
model = LlamaForCausalLM(
    LlamaConfig(bos_token_id=1, eos_token_id=2, pad_token_id=0, **sizes)
).eval()
small = LlamaForCausalLM(
    LlamaConfig(bos_token_id=1, eos_token_id=2, pad_token_id=0, **sizes | {"num_hidden_layers": 1})
).eval()
x = torch.randint(3, 60, (2, 6))
mask = torch.ones_like(x)
mask[1, :2] = 0
common = {"attention_mask": mask, "max_new_tokens": 8}
print("greedy", model.generate(x, do_sample=False, **common).tolist())
for name, options in (
    ("temperature", {"do_sample": True, "temperature": 0.7}),
    ("top_p", {"do_sample": True, "top_p": 0.8, "top_k": 0}),
    ("min_p", {"do_sample": True, "min_p": 0.02}),
    ("typical", {"do_sample": True, "typical_p": 0.9}),
    ("beams", {"num_beams": 3, "num_return_sequences": 2}),
    ("beam sampling", {"num_beams": 2, "do_sample": True}),
    ("penalty", {"do_sample": False, "repetition_penalty": 1.3, "no_repeat_ngram_size": 2}),
    (
        "lengths",
        {"num_beams": 2, "min_new_tokens": 4, "length_penalty": 0.5, "early_stopping": True},
    ),
    ("bad words", {"do_sample": False, "bad_words_ids": [[5], [7, 8]], "suppress_tokens": [9, 10]}),
    ("static cache", {"do_sample": False, "cache_implementation": "static"}),
    ("no cache", {"do_sample": False, "use_cache": False}),
):
    print(name, model.generate(x, **common, **options).tolist())
print(
    "assisted",
    model.generate(x[:1], assistant_model=small, do_sample=False, max_new_tokens=8).tolist(),
)
model.set_attn_implementation("eager")
out = model.generate(
    x,
    do_sample=True,
    return_dict_in_generate=True,
    output_scores=True,
    output_attentions=True,
    output_hidden_states=True,
    **common,
)
show("scores", torch.stack(out.scores).softmax(-1).max(-1).values)
show(
    "transitions", model.compute_transition_scores(out.sequences, out.scores, normalize_logits=True)
)
show("attention", out.attentions[0][-1])


class Even(LogitsProcessor):
    def __call__(self, input_ids, scores):
        scores = scores.clone()
        scores[:, 1::2] = -float("inf")
        return scores


class Long(StoppingCriteria):
    def __call__(self, input_ids, scores, **options):
        return torch.full((input_ids.shape[0],), input_ids.shape[1] >= 10)


config = GenerationConfig(
    max_new_tokens=20, do_sample=True, top_k=5, pad_token_id=0, eos_token_id=2
)
print(
    model.generate(
        x,
        config,
        logits_processor=LogitsProcessorList([Even()]),
        stopping_criteria=StoppingCriteriaList([Long()]),
    ).tolist()
)
for kind in (torch.bfloat16, torch.float16):
    half = LlamaForCausalLM(LlamaConfig(**sizes)).to(kind).eval()
    show(kind, half(x).logits.float().softmax(-1).max(-1).values.round(decimals=1))

for made in (
    MistralForCausalLM(MistralConfig(sliding_window=4, **sizes)),
    Qwen2ForCausalLM(Qwen2Config(**sizes)),
):
    made.gradient_checkpointing_enable()
    made.train()
    loss = made(x, attention_mask=mask, labels=x).loss
    loss.backward()
    show(type(made).__name__, loss)
    show("gradients", sum(p.grad.abs().sum() for p in made.parameters()))
    made.eval().set_attn_implementation("eager")
    show("eager", made(x, attention_mask=mask).logits.abs())
    print(made.generate(x, do_sample=False, pad_token_id=0, **common).tolist())
bart = BartForConditionalGeneration(
    BartConfig(
        d_model=32,
        encoder_layers=2,
        decoder_layers=2,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=64,
        decoder_ffn_dim=64,
        vocab_size=60,
        max_position_embeddings=40,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
        decoder_start_token_id=2,
        forced_eos_token_id=2,
    )
)
loss = bart(x, labels=x).loss
loss.backward()
show("bart loss", loss)
print(bart.eval().generate(x, num_beams=3, max_new_tokens=6).tolist())
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
).eval()
print(whisper.generate(torch.randn(1, 8, 40), max_new_tokens=5).tolist())
