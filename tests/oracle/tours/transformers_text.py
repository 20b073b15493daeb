"""transformers: a language model trained, sampled from, saved and loaded; a classifier; an encoder
with a decoder.
"""

import tempfile

import torch
from _parts import show, without_compiled_operators

without_compiled_operators()
from transformers import (  # noqa: E402
    BertConfig,
    BertForSequenceClassification,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    MixtralConfig,
    MixtralForCausalLM,
    T5Config,
    T5ForConditionalGeneration,
)  # fmt: skip

torch.manual_seed(0)
x = torch.randint(2, 50, (2, 8))
model = GPT2LMHeadModel(
    GPT2Config(
        n_embd=32,
        n_layer=2,
        n_head=2,
        vocab_size=50,
        n_positions=32,
        bos_token_id=0,
        eos_token_id=1,
    )
)
optimizer = torch.optim.AdamW(model.parameters(), 1e-2)
model.train()
for _ in range(3):
    loss = model(x, labels=x).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    show("gpt2 loss", loss)
model.eval()
print(model.generate(x[:, :4], max_new_tokens=6, do_sample=False, pad_token_id=0).tolist())
print(model.generate(x[:, :4], max_new_tokens=6, do_sample=True, top_k=10, pad_token_id=0).tolist())
print(model.generate(x[:, :4], max_new_tokens=6, num_beams=3, pad_token_id=0).tolist())
with tempfile.TemporaryDirectory() as folder:
    model.save_pretrained(folder)
    again = GPT2LMHeadModel.from_pretrained(folder)
show("loaded", again.eval()(x, labels=x).loss)

sizes = {"hidden_size": 32, "num_hidden_layers": 2, "intermediate_size": 64, "vocab_size": 50}
bert = BertForSequenceClassification(BertConfig(num_attention_heads=2, **sizes))
loss = bert(x, attention_mask=torch.ones_like(x), labels=torch.tensor([0, 1])).loss
loss.backward()
show("bert loss", loss)
show("bert gradients", sum(p.grad.abs().sum() for p in bert.parameters() if p.grad is not None))
for name, made in (
    ("llama", LlamaForCausalLM(LlamaConfig(num_attention_heads=4, num_key_value_heads=2, **sizes))),
    (
        "mixtral",
        MixtralForCausalLM(
            MixtralConfig(
                num_attention_heads=4, num_key_value_heads=2, num_local_experts=4, **sizes
            )
        ),
    ),
):
    loss = made(x, labels=x).loss
    loss.backward()
    show(f"{name} loss", loss)
    print(
        made.eval().generate(x[:, :4], max_new_tokens=6, do_sample=False, pad_token_id=0).tolist()
    )
t5 = T5ForConditionalGeneration(
    T5Config(
        d_model=32,
        d_kv=8,
        d_ff=64,
        num_layers=2,
        num_heads=4,
        vocab_size=50,
        decoder_start_token_id=0,
    )
)
loss = t5(input_ids=x, labels=x).loss
loss.backward()
show("t5 loss", loss)
print(t5.eval().generate(x, max_new_tokens=5).tolist())
