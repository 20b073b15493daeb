"""peft: LoRA and related adapters trained, merged, saved, loaded and switched on tiny models."""

import tempfile
import warnings

import torch
from _parts import show, without_compiled_operators

without_compiled_operators()
warnings.simplefilter("ignore")
from peft import (  # noqa: E402
    AdaLoraConfig,
    IA3Config,
    LoHaConfig,
    LoKrConfig,
    LoraConfig,
    OFTConfig,
    PeftModel,
    PrefixTuningConfig,
    PromptEncoderConfig,
    PromptTuningConfig,
    TaskType,
    VeraConfig,
    get_peft_model,
    get_peft_model_state_dict,
    prepare_model_for_kbit_training,
)
from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM, logging  # noqa: E402

logging.set_verbosity_error()
torch.manual_seed(0)
x = torch.randint(3, 60, (2, 6))
sizes = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "intermediate_size": 64,
    "vocab_size": 60,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
}


def llama():
    torch.manual_seed(1)
    return LlamaForCausalLM(LlamaConfig(bos_token_id=1, eos_token_id=2, pad_token_id=0, **sizes))


def train(model, steps=2):
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], 1e-2)
    model.train()
    for _ in range(steps):
        loss = model(input_ids=x, labels=x).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    return model(input_ids=x, labels=x).loss


lora = {
    "r": 4,
    "lora_alpha": 8,
    "target_modules": ["q_proj", "v_proj"],
    "lora_dropout": 0.1,
    "task_type": TaskType.CAUSAL_LM,
}
model = get_peft_model(llama(), LoraConfig(**lora))
model.print_trainable_parameters()
show("lora", train(model, 3))
print(sorted(get_peft_model_state_dict(model))[:3])
with tempfile.TemporaryDirectory() as folder:
    model.eval()
    expected = model(input_ids=x).logits
    model.save_pretrained(folder)
    again = PeftModel.from_pretrained(llama(), folder, is_trainable=True).eval()
    print(torch.equal(again(input_ids=x).logits, expected))
    again.load_adapter(folder, adapter_name="second")
    again.set_adapter("second")
    again.add_weighted_adapter(["default", "second"], [0.5, 0.5], "both", combination_type="linear")
    again.set_adapter("both")
    show("weighted", again(input_ids=x).logits.abs())
    with again.disable_adapter():
        print(torch.equal(again(input_ids=x).logits, llama().eval()(input_ids=x).logits))
    print(again.generate(input_ids=x, max_new_tokens=4, do_sample=False).tolist())
    merged = model.merge_and_unload()
    print(type(merged).__name__, torch.allclose(merged(input_ids=x).logits, expected, atol=1e-5))

causal = {"task_type": TaskType.CAUSAL_LM}
targets = {"target_modules": ["q_proj", "v_proj"]}
for name, config in (
    ("rslora", LoraConfig(use_rslora=True, **lora)),
    ("dora", LoraConfig(use_dora=True, **lora)),
    ("pissa", LoraConfig(**lora | {"lora_dropout": 0.0}, init_lora_weights="pissa")),
    ("olora", LoraConfig(**lora | {"lora_dropout": 0.0}, init_lora_weights="olora")),
    ("all linear", LoraConfig(r=2, target_modules="all-linear", bias="lora_only", **causal)),
    (
        "ia3",
        IA3Config(
            target_modules=["k_proj", "down_proj"], feedforward_modules=["down_proj"], **causal
        ),
    ),
    ("loha", LoHaConfig(r=2, **targets, **causal)),
    ("lokr", LoKrConfig(r=2, **targets, **causal)),
    ("vera", VeraConfig(r=4, target_modules=["q_proj"], **causal)),
    ("oft", OFTConfig(r=0, oft_block_size=4, **targets, **causal)),
    ("adalora", AdaLoraConfig(init_r=4, target_r=2, total_step=10, **targets, **causal)),
    ("prompt", PromptTuningConfig(num_virtual_tokens=3, **causal)),
    ("prefix", PrefixTuningConfig(num_virtual_tokens=3, **causal)),
    ("p-tuning", PromptEncoderConfig(num_virtual_tokens=3, encoder_hidden_size=16, **causal)),
):
    made = get_peft_model(llama(), config)
    show(name, train(made))
    print(made.get_nb_trainable_parameters())
gpt = GPT2LMHeadModel(
    GPT2Config(
        n_embd=32,
        n_layer=2,
        n_head=2,
        vocab_size=60,
        n_positions=32,
        bos_token_id=1,
        eos_token_id=2,
    )
)
show(
    "gpt2",
    train(
        get_peft_model(
            prepare_model_for_kbit_training(gpt),
            LoraConfig(r=2, fan_in_fan_out=True, target_modules=["c_attn"]),
        )
    ),
)
