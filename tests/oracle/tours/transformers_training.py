"""transformers: encoders of many kinds with their losses; the Trainer with its optimizers, schedules, checkpoints and callbacks."""
# ruff: noqa: E402

import os
import tempfile
import warnings

import numpy as np
import torch
from _parts import show, without_compiled_operators

without_compiled_operators()
warnings.simplefilter("ignore")
import transformers
from transformers import (
    AlbertConfig,
    AlbertForMaskedLM,
    BertConfig,
    BertForNextSentencePrediction,
    BertForPreTraining,
    BertForQuestionAnswering,
    BertForSequenceClassification,
    BigBirdConfig,
    BigBirdForMaskedLM,
    CanineConfig,
    CanineForSequenceClassification,
    ConvBertConfig,
    ConvBertForMaskedLM,
    DebertaV2Config,
    DebertaV2ForSequenceClassification,
    DistilBertConfig,
    DistilBertForSequenceClassification,
    EarlyStoppingCallback,
    ElectraConfig,
    ElectraForPreTraining,
    FNetConfig,
    FNetForMaskedLM,
    FunnelConfig,
    FunnelForMaskedLM,
    GPT2Config,
    GPT2ForSequenceClassification,
    LongformerConfig,
    LongformerForSequenceClassification,
    MobileBertConfig,
    MobileBertForMaskedLM,
    ModernBertConfig,
    ModernBertForMaskedLM,
    MPNetConfig,
    MPNetForMaskedLM,
    RobertaConfig,
    RobertaForSequenceClassification,
    RoFormerConfig,
    RoFormerForMaskedLM,
    SqueezeBertConfig,
    SqueezeBertForMaskedLM,
    Trainer,
    TrainerCallback,
    TrainingArguments,
    XLNetConfig,
    XLNetLMHeadModel,
    default_data_collator,
    get_scheduler,
    set_seed,
)
from transformers.trainer_callback import PrinterCallback

transformers.logging.set_verbosity_error()
set_seed(0)
kw = {
    "vocab_size": 80,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 48,
    "max_position_embeddings": 64,
}
x = torch.randint(5, 80, (3, 16))
mask = torch.ones_like(x)
mask[1, 10:] = 0
y = torch.tensor([0, 1, 1])
cases = {
    "bert": (BertForSequenceClassification(BertConfig(**kw)), {"labels": y}),
    "bert problem": (
        BertForSequenceClassification(
            BertConfig(num_labels=3, problem_type="multi_label_classification", **kw)
        ),
        {"labels": torch.rand(3, 3).round()},
    ),
    "regression": (
        BertForSequenceClassification(BertConfig(num_labels=1, **kw)),
        {"labels": torch.randn(3)},
    ),
    "qa": (
        BertForQuestionAnswering(BertConfig(**kw)),
        {"start_positions": torch.tensor([1, 2, 3]), "end_positions": torch.tensor([4, 5, 6])},
    ),
    "nsp": (BertForNextSentencePrediction(BertConfig(**kw)), {"labels": y}),
    "pre": (BertForPreTraining(BertConfig(**kw)), {"labels": x, "next_sentence_label": y}),
    "gpt2cls": (
        GPT2ForSequenceClassification(
            GPT2Config(
                vocab_size=80, n_embd=32, n_layer=2, n_head=4, n_positions=64, pad_token_id=0
            )
        ),
        {"labels": y},
    ),
    "distil": (
        DistilBertForSequenceClassification(
            DistilBertConfig(
                vocab_size=80,
                dim=32,
                n_layers=2,
                n_heads=4,
                hidden_dim=48,
                max_position_embeddings=64,
            )
        ),
        {"labels": y},
    ),
    "roberta": (RobertaForSequenceClassification(RobertaConfig(**kw)), {"labels": y}),
    "electra": (
        ElectraForPreTraining(ElectraConfig(embedding_size=16, **kw)),
        {"labels": (x > 40).long()},
    ),
    "albert": (AlbertForMaskedLM(AlbertConfig(embedding_size=16, **kw)), {"labels": x}),
    "deberta": (
        DebertaV2ForSequenceClassification(
            DebertaV2Config(
                relative_attention=True,
                pos_att_type=["p2c", "c2p"],
                position_buckets=8,
                norm_rel_ebd="layer_norm",
                share_att_key=True,
                conv_kernel_size=3,
                **kw,
            )
        ),
        {"labels": y},
    ),
    "xlnet": (
        XLNetLMHeadModel(XLNetConfig(vocab_size=80, d_model=32, n_layer=2, n_head=4, d_inner=48)),
        {"labels": x},
    ),
    "fnet": (
        FNetForMaskedLM(FNetConfig(**{k: v for k, v in kw.items() if k != "num_attention_heads"})),
        {"labels": x},
    ),
    "bigbird": (
        BigBirdForMaskedLM(
            BigBirdConfig(attention_type="block_sparse", block_size=2, num_random_blocks=1, **kw)
        ),
        {"labels": x},
    ),
    "longformer": (
        LongformerForSequenceClassification(LongformerConfig(attention_window=4, **kw)),
        {"labels": y},
    ),
    "funnel": (
        FunnelForMaskedLM(
            FunnelConfig(
                vocab_size=80, block_sizes=[1, 1], d_model=32, n_head=4, d_head=8, d_inner=48
            )
        ),
        {"labels": x},
    ),
    "mobile": (
        MobileBertForMaskedLM(
            MobileBertConfig(embedding_size=16, true_hidden_size=16, intra_bottleneck_size=16, **kw)
        ),
        {"labels": x},
    ),
    "squeeze": (SqueezeBertForMaskedLM(SqueezeBertConfig(embedding_size=32, **kw)), {"labels": x}),
    "modern": (
        ModernBertForMaskedLM(
            ModernBertConfig(
                pad_token_id=0,
                eos_token_id=1,
                bos_token_id=2,
                cls_token_id=2,
                sep_token_id=1,
                local_attention=4,
                **kw,
            )
        ),
        {"labels": x},
    ),
    "mpnet": (MPNetForMaskedLM(MPNetConfig(**kw)), {"labels": x}),
    "convbert": (
        ConvBertForMaskedLM(
            ConvBertConfig(embedding_size=16, head_ratio=2, conv_kernel_size=3, **kw)
        ),
        {"labels": x},
    ),
    "canine": (
        CanineForSequenceClassification(
            CanineConfig(
                local_transformer_stride=4,
                num_hash_buckets=20,
                hidden_size=32,
                num_hidden_layers=2,
                num_attention_heads=4,
                intermediate_size=48,
            )
        ),
        {"labels": y},
    ),
    "roformer": (RoFormerForMaskedLM(RoFormerConfig(embedding_size=16, **kw)), {"labels": x}),
}
for name, (m, more) in cases.items():
    torch.manual_seed(1)
    np.random.seed(0)
    import random

    random.seed(0)
    opt = torch.optim.AdamW(m.parameters(), 1e-3)
    m.train()
    for _ in range(2):
        a = dict(input_ids=x, **({} if name in ("fnet",) else {"attention_mask": mask}), **more)
        out = m(**a)
        opt.zero_grad()
        out.loss.backward()
        gn = torch.nn.utils.clip_grad_norm_(m.parameters(), 1.0)
        opt.step()
    show(name, out.loss)
    show(" norm", gn)
    m.eval()
    with torch.no_grad():
        o = m(**a)
        show(" eval", o.loss)
    if name != "fnet":
        o = m(**{**a, "output_hidden_states": True, "output_attentions": True})
        print(len(o))
        show(" hidden", o.hidden_states[-1].abs() if o.get("hidden_states") else 0)


class DS(torch.utils.data.Dataset):
    def __init__(self, n):
        self.g = torch.Generator().manual_seed(n)
        self.x = torch.randint(5, 80, (n, 12), generator=self.g)
        self.y = (self.x[:, 0] > 40).long()

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return {
            "input_ids": self.x[i],
            "attention_mask": torch.ones(12, dtype=torch.long),
            "labels": self.y[i],
        }


class CB(TrainerCallback):
    def on_log(self, args, state, control, logs=None, **k):
        print(
            "log",
            state.global_step,
            {
                a: (round(b, 4) if isinstance(b, float) else b)
                for a, b in logs.items()
                if "second" not in a and "runtime" not in a
            },
        )

    def on_epoch_end(self, args, state, control, **k):
        print("epoch", state.epoch)


def metrics(p):
    return {"acc": float((p.predictions.argmax(-1) == p.label_ids).mean())}


for options in (
    {"optim": "adamw_torch", "lr_scheduler_type": "linear"},
    {"optim": "adafactor", "lr_scheduler_type": "constant_with_warmup", "warmup_steps": 2},
    {"optim": "sgd", "lr_scheduler_type": "polynomial", "learning_rate": 0.1},
    {"optim": "rmsprop", "lr_scheduler_type": "inverse_sqrt", "warmup_steps": 2},
    {"optim": "adagrad", "gradient_accumulation_steps": 2},
    {"optim": "adamw_torch_fused", "bf16": True},
    {"gradient_checkpointing": True, "max_grad_norm": 0.1, "weight_decay": 0.1},
    {"neftune_noise_alpha": 5.0, "label_smoothing_factor": 0.1},
    {
        "lr_scheduler_type": "cosine_with_restarts",
        "lr_scheduler_kwargs": {"num_cycles": 2},
    },
    {
        "torch_compile": False,
        "dataloader_drop_last": True,
        "lr_scheduler_type": "reduce_lr_on_plateau",
        "eval_strategy": "epoch",
    },
    {"auto_find_batch_size": True},
    {"average_tokens_across_devices": False, "include_num_input_tokens_seen": "all"},
):
    with tempfile.TemporaryDirectory() as d:
        set_seed(5)
        m = BertForSequenceClassification(BertConfig(**kw))
        base = {
            "output_dir": d,
            "num_train_epochs": 2,
            "per_device_train_batch_size": 4,
            "per_device_eval_batch_size": 8,
            "learning_rate": 1e-3,
            "logging_steps": 3,
            "save_strategy": "no",
            "report_to": [],
            "use_cpu": True,
            "seed": 3,
            "eval_strategy": "steps",
            "eval_steps": 4,
            "disable_tqdm": True,
        }
        t = Trainer(
            m,
            TrainingArguments(**{**base, **options}),
            train_dataset=DS(22),
            eval_dataset=DS(10),
            compute_metrics=metrics,
            callbacks=[CB()],
        )
        from transformers.trainer_callback import PrinterCallback

        t.remove_callback(PrinterCallback)
        r = t.train()
        print(sorted(options), round(r.training_loss, 4))
        show("w", sum(p.double().abs().sum() for p in m.parameters()))
with tempfile.TemporaryDirectory() as d:
    set_seed(7)
    mk = lambda: BertForSequenceClassification(BertConfig(**kw))
    args = TrainingArguments(
        output_dir=d,
        max_steps=10,
        per_device_train_batch_size=4,
        save_steps=4,
        save_total_limit=2,
        logging_steps=2,
        eval_strategy="steps",
        eval_steps=2,
        load_best_model_at_end=True,
        metric_for_best_model="acc",
        report_to=[],
        use_cpu=True,
        seed=3,
        disable_tqdm=True,
        save_strategy="steps",
    )
    t = Trainer(
        model_init=mk,
        args=args,
        train_dataset=DS(22),
        eval_dataset=DS(10),
        compute_metrics=metrics,
        callbacks=[EarlyStoppingCallback(3)],
    )
    t.remove_callback(PrinterCallback)
    r = t.train()
    print(round(r.training_loss, 4), sorted(os.listdir(d)), t.state.best_metric)
    ck = sorted(x for x in os.listdir(d) if x.startswith("checkpoint"))
    print(sorted(os.listdir(d + "/" + ck[0])))
    t2 = Trainer(
        model_init=mk, args=args, train_dataset=DS(22), eval_dataset=DS(10), compute_metrics=metrics
    )
    t2.remove_callback(PrinterCallback)
    r = t2.train(resume_from_checkpoint=d + "/" + ck[0])
    print(round(r.training_loss, 4), t2.state.global_step)
    print(
        {
            k: round(v, 4)
            for k, v in t2.evaluate().items()
            if isinstance(v, float) and "second" not in k and "runtime" not in k
        }
    )
    p = t2.predict(DS(6))
    print(p.predictions.round(3).tolist())


class MyT(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        y = inputs.pop("labels")
        o = model(**inputs)
        l = torch.nn.functional.cross_entropy(o.logits, y, weight=torch.tensor([1.0, 2.0]))
        return (l, o) if return_outputs else l


with tempfile.TemporaryDirectory() as d:
    set_seed(9)
    m = mk()
    o = torch.optim.SGD(m.parameters(), 0.05, momentum=0.9)
    s = get_scheduler("linear", o, 1, 8)
    t = MyT(
        m,
        TrainingArguments(
            d,
            max_steps=8,
            per_device_train_batch_size=3,
            report_to=[],
            use_cpu=True,
            logging_steps=4,
            disable_tqdm=True,
            dataloader_num_workers=0,
        ),
        train_dataset=DS(20),
        optimizers=(o, s),
        data_collator=default_data_collator,
    )
    t.remove_callback(PrinterCallback)
    print(
        round(t.train().training_loss, 4),
        [round(h["grad_norm"], 4) for h in t.state.log_history if "grad_norm" in h],
    )
    t.save_model(d)
    print(sorted(os.listdir(d)))
