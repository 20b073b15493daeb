"""transformers: the Trainer with evaluation, checkpoints and resuming; pipelines; a tokenizer trained
in the program.
"""

import logging
import tempfile
import warnings

import numpy as np
import torch
from _parts import show, without_compiled_operators

without_compiled_operators()
warnings.simplefilter("ignore")
from datasets import Dataset, disable_progress_bars  # noqa: E402
from tokenizers import Tokenizer, models, pre_tokenizers  # noqa: E402
from transformers import (  # noqa: E402
    BertConfig,
    BertForMaskedLM,
    BertForSequenceClassification,
    BertForTokenClassification,
    DataCollatorForLanguageModeling,
    DataCollatorWithPadding,
    EarlyStoppingCallback,
    GPT2Config,
    GPT2LMHeadModel,
    PreTrainedTokenizerFast,
    PrinterCallback,
    Trainer,
    TrainingArguments,
    pipeline,
    set_seed,
)

disable_progress_bars()
logging.getLogger("transformers").setLevel(logging.ERROR)
set_seed(0)
WORDS = "the cat sat on a mat dog ran to red house and saw big blue bird sing in tall tree good bad fine poor".split()
vocabulary = {
    word: i for i, word in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS])
}
inner = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
inner.pre_tokenizer = pre_tokenizers.Whitespace()
tokenizer = PreTrainedTokenizerFast(
    tokenizer_object=inner,
    pad_token="[PAD]",
    unk_token="[UNK]",
    cls_token="[CLS]",
    sep_token="[SEP]",
    mask_token="[MASK]",
    model_max_length=32,
)
drawn = np.random.default_rng(0)
texts = [" ".join(drawn.choice(WORDS, drawn.integers(4, 9))) for _ in range(48)]
labels = [int("good" in text or "fine" in text) for text in texts]
data = Dataset.from_dict({"text": texts, "label": labels})
data = data.map(
    lambda rows: tokenizer(rows["text"], truncation=True), batched=True
).train_test_split(test_size=0.25, seed=1)
sizes = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 64,
    "vocab_size": len(vocabulary),
}
quiet = {"report_to": [], "disable_tqdm": True, "use_cpu": True, "seed": 3}


def accuracy(result):
    return {"accuracy": float((result.predictions.argmax(-1) == result.label_ids).mean())}


with tempfile.TemporaryDirectory() as folder:
    model = BertForSequenceClassification(BertConfig(**sizes))
    arguments = TrainingArguments(
        folder,
        per_device_train_batch_size=8,
        num_train_epochs=2,
        learning_rate=5e-3,
        eval_strategy="epoch",
        save_strategy="epoch",
        logging_steps=2,
        load_best_model_at_end=True,
        metric_for_best_model="accuracy",
        warmup_steps=2,
        weight_decay=0.01,
        lr_scheduler_type="cosine",
        gradient_accumulation_steps=1,
        max_grad_norm=0.5,
        label_smoothing_factor=0.1,
        **quiet,
    )
    trainer = Trainer(
        model,
        arguments,
        DataCollatorWithPadding(tokenizer),
        data["train"],
        data["test"],
        tokenizer,
        compute_metrics=accuracy,
        callbacks=[EarlyStoppingCallback(3)],
    )
    trainer.remove_callback(PrinterCallback)
    trainer.train()
    for entry in trainer.state.log_history:
        print(
            {
                k: round(v, 4)
                for k, v in entry.items()
                if k in ("loss", "grad_norm", "learning_rate", "eval_loss", "eval_accuracy")
            }
        )
    show("predictions", torch.from_numpy(trainer.predict(data["test"]).predictions))
    trainer.save_model(folder + "/best")
    again = BertForSequenceClassification.from_pretrained(folder + "/best")
    classify = pipeline("text-classification", model=again, tokenizer=tokenizer, device="cpu")
    print(
        [
            (r["label"], round(r["score"], 4))
            for r in classify(["the cat sat on a good mat", "bad dog"])
        ]
    )
    print(
        [
            [round(s["score"], 4) for s in r]
            for r in classify(["a fine house", "red"], top_k=None, batch_size=2)
        ]
    )

with tempfile.TemporaryDirectory() as folder:
    gpt = GPT2LMHeadModel(
        GPT2Config(
            n_embd=32,
            n_layer=2,
            n_head=2,
            vocab_size=len(vocabulary),
            n_positions=32,
            bos_token_id=2,
            eos_token_id=3,
        )
    )
    columns = data["train"].remove_columns(["text", "label"])
    common = {
        "per_device_train_batch_size": 4,
        "logging_steps": 3,
        "save_steps": 3,
        "save_total_limit": 2,
        "learning_rate": 3e-3,
        **quiet,
    }
    arguments = TrainingArguments(
        folder, max_steps=6, gradient_accumulation_steps=2, optim="adamw_torch", **common
    )
    trainer = Trainer(
        gpt, arguments, DataCollatorForLanguageModeling(tokenizer, mlm=False), columns
    )
    trainer.remove_callback(PrinterCallback)
    result = trainer.train()
    show("language model", result.training_loss)
    arguments = TrainingArguments(folder, max_steps=9, gradient_accumulation_steps=2, **common)
    trainer = Trainer(
        gpt, arguments, DataCollatorForLanguageModeling(tokenizer, mlm=False), columns
    )
    trainer.remove_callback(PrinterCallback)
    trainer.train(resume_from_checkpoint=True)
    print([round(entry["loss"], 4) for entry in trainer.state.log_history if "loss" in entry])
    write = pipeline("text-generation", model=gpt.eval(), tokenizer=tokenizer, device="cpu")
    print(write("the cat", max_new_tokens=5, do_sample=False, pad_token_id=0))
    print(
        write("the dog", max_new_tokens=5, do_sample=True, num_return_sequences=2, pad_token_id=0)
    )

with tempfile.TemporaryDirectory() as folder:
    masked = BertForMaskedLM(BertConfig(**sizes))
    arguments = TrainingArguments(
        folder, max_steps=3, logging_steps=1, save_strategy="no", bf16=True, **quiet
    )
    trainer = Trainer(
        masked, arguments, DataCollatorForLanguageModeling(tokenizer, mlm_probability=0.3), columns
    )
    trainer.remove_callback(PrinterCallback)
    trainer.train()
    print([round(entry["loss"], 2) for entry in trainer.state.log_history if "loss" in entry])
fill = pipeline("fill-mask", model=masked.float().eval(), tokenizer=tokenizer, device="cpu")
print([r["token_str"] for r in fill("the [MASK] sat")][:1])
tags = pipeline(
    "token-classification",
    model=BertForTokenClassification(BertConfig(**sizes)),
    tokenizer=tokenizer,
    device="cpu",
)
print([(r["word"], r["entity"], round(float(r["score"]), 4)) for r in tags("the cat sat")])
