"""transformers: encoders with decoders of many kinds trained, decoded by beams and by sampling; the Seq2SeqTrainer."""
# ruff: noqa: E402

import tempfile
import warnings

import torch
from _parts import show, without_compiled_operators

without_compiled_operators()
warnings.simplefilter("ignore")
import transformers
from transformers import (
    BartConfig,
    BartForConditionalGeneration,
    BlenderbotSmallConfig,
    BlenderbotSmallForConditionalGeneration,
    DataCollatorForSeq2Seq,
    LEDConfig,
    LEDForConditionalGeneration,
    LongT5Config,
    LongT5ForConditionalGeneration,
    M2M100Config,
    M2M100ForConditionalGeneration,
    MarianConfig,
    MarianMTModel,
    MBartConfig,
    MBartForConditionalGeneration,
    MT5Config,
    MT5ForConditionalGeneration,
    PegasusConfig,
    PegasusForConditionalGeneration,
    PegasusXConfig,
    PegasusXForConditionalGeneration,
    PreTrainedTokenizerFast,
    ProphetNetConfig,
    ProphetNetForConditionalGeneration,
    Seq2SeqTrainer,
    Seq2SeqTrainingArguments,
    T5Config,
    T5ForConditionalGeneration,
    UMT5Config,
    UMT5ForConditionalGeneration,
)
from transformers.trainer_callback import PrinterCallback

transformers.logging.set_verbosity_error()

torch.manual_seed(0)
ids = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 0}
small = {
    "d_model": 32,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 48,
    "decoder_ffn_dim": 48,
    "vocab_size": 60,
    "max_position_embeddings": 40,
}
ms = {
    "t5": T5ForConditionalGeneration(
        T5Config(
            vocab_size=60,
            d_model=32,
            d_kv=8,
            d_ff=48,
            num_layers=2,
            num_heads=4,
            **dict(ids.items()),
        )
    ),
    "t5gated": T5ForConditionalGeneration(
        T5Config(
            vocab_size=60,
            d_model=32,
            d_kv=8,
            d_ff=48,
            num_layers=2,
            num_heads=4,
            feed_forward_proj="gated-gelu",
            tie_word_embeddings=False,
            **ids,
        )
    ),
    "mt5": MT5ForConditionalGeneration(
        MT5Config(vocab_size=60, d_model=32, d_kv=8, d_ff=48, num_layers=2, num_heads=4, **ids)
    ),
    "bart": BartForConditionalGeneration(BartConfig(forced_eos_token_id=2, **small, **ids)),
    "mbart": MBartForConditionalGeneration(MBartConfig(forced_eos_token_id=2, **small, **ids)),
    "pegasus": PegasusForConditionalGeneration(
        PegasusConfig(forced_eos_token_id=2, **small, **ids)
    ),
    "marian": MarianMTModel(MarianConfig(forced_eos_token_id=2, **small, **ids)),
    "m2m": M2M100ForConditionalGeneration(M2M100Config(**small, **ids)),
    "blenderbot": BlenderbotSmallForConditionalGeneration(BlenderbotSmallConfig(**small, **ids)),
    "led": LEDForConditionalGeneration(
        LEDConfig(
            attention_window=4,
            max_encoder_position_embeddings=40,
            max_decoder_position_embeddings=40,
            **{k: v for k, v in small.items() if k != "max_position_embeddings"},
            **ids,
        )
    ),
    "pegasus_x": PegasusXForConditionalGeneration(
        PegasusXConfig(block_size=4, num_global_tokens=2, **dict(small.items()), **ids)
    ),
    "longt5": LongT5ForConditionalGeneration(
        LongT5Config(
            vocab_size=60,
            d_model=32,
            d_kv=8,
            d_ff=48,
            num_layers=2,
            num_heads=4,
            local_radius=3,
            **ids,
        )
    ),
    "prophet": ProphetNetForConditionalGeneration(
        ProphetNetConfig(
            vocab_size=60,
            hidden_size=32,
            encoder_ffn_dim=48,
            num_encoder_layers=2,
            num_encoder_attention_heads=4,
            decoder_ffn_dim=48,
            num_decoder_layers=2,
            num_decoder_attention_heads=4,
            max_position_embeddings=40,
            **ids,
        )
    ),
    "umt5": UMT5ForConditionalGeneration(
        UMT5Config(vocab_size=60, d_model=32, d_kv=8, d_ff=48, num_layers=2, num_heads=4, **ids)
    ),
}
x = torch.randint(3, 60, (3, 12))
mask = torch.ones_like(x)
mask[1, 8:] = 0
mask[2, 5:] = 0
y = torch.randint(3, 60, (3, 7))
y[1, 5:] = -100
for name, m in ms.items():
    m.train()
    torch.manual_seed(1)
    opt = torch.optim.AdamW(m.parameters(), 1e-3)
    for _i in range(3):
        l = m(input_ids=x, attention_mask=mask, labels=y).loss
        opt.zero_grad()
        l.backward()
        gn = torch.nn.utils.clip_grad_norm_(m.parameters(), 1.0)
        opt.step()
    show(name, l)
    show("norm", gn)
    m.eval()
    g = {"input_ids": x, "attention_mask": mask, "max_new_tokens": 8}
    print(m.generate(**g, num_beams=1, do_sample=False).tolist())
    print(
        m.generate(
            **g, num_beams=4, num_return_sequences=2, length_penalty=0.8, no_repeat_ngram_size=2
        ).tolist()
    )
    torch.manual_seed(2)
    print(m.generate(**g, do_sample=True, top_p=0.9, temperature=1.3).tolist())
    o = m.generate(**g, num_beams=2, output_scores=True, return_dict_in_generate=True)
    show("scores", o.sequences_scores)
    o = m(input_ids=x, attention_mask=mask, labels=y.clamp(min=0), output_hidden_states=True)
    show("enc", o.encoder_last_hidden_state.abs())


class DS(torch.utils.data.Dataset):
    def __len__(self):
        return 12

    def __getitem__(self, i):
        return {
            "input_ids": [3 + (i * 7 + j) % 50 for j in range(4 + i % 3)],
            "labels": [3 + (i * 5 + j) % 50 for j in range(3 + i % 2)],
        }


from tokenizers import Tokenizer, models

tk = PreTrainedTokenizerFast(
    tokenizer_object=Tokenizer(models.WordLevel({str(i): i for i in range(60)}, unk_token="3")),
    pad_token="0",
    eos_token="2",
    unk_token="3",
)
m = ms["bart"]
with tempfile.TemporaryDirectory() as d:
    a = Seq2SeqTrainingArguments(
        d,
        num_train_epochs=2,
        per_device_train_batch_size=4,
        predict_with_generate=True,
        generation_max_length=8,
        generation_num_beams=2,
        report_to=[],
        seed=0,
        use_cpu=True,
        logging_steps=2,
        eval_strategy="epoch",
        save_strategy="no",
        label_smoothing_factor=0.1,
        lr_scheduler_type="cosine",
        warmup_steps=1,
        disable_tqdm=True,
    )
    t = Seq2SeqTrainer(
        model=m,
        args=a,
        train_dataset=DS(),
        eval_dataset=DS(),
        data_collator=DataCollatorForSeq2Seq(tk, m),
        processing_class=tk,
        compute_metrics=lambda p: {"n": int((p.predictions != 0).sum())},
    )
    t.remove_callback(PrinterCallback)
    r = t.train()
    show("trained", r.training_loss)
    for h in t.state.log_history:
        print(
            {
                k: (round(v, 4) if isinstance(v, float) else v)
                for k, v in h.items()
                if "second" not in k and "runtime" not in k and "flos" not in k
            }
        )
    print(t.predict(DS()).predictions.tolist()[:3])
