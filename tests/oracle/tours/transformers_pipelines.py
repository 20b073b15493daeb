"""transformers: pipelines over text, with tokenizers made on the spot; streams; chats; saving and loading."""
# ruff: noqa: E402

import os
import tempfile
import warnings

import torch
from _parts import show, without_compiled_operators

without_compiled_operators()
warnings.simplefilter("ignore")
import transformers
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    BertConfig,
    BertForMaskedLM,
    BertForSequenceClassification,
    BertForTokenClassification,
    BertModel,
    GPT2Config,
    GPT2LMHeadModel,
    PreTrainedTokenizerFast,
    TextIteratorStreamer,
    TextStreamer,
    pipeline,
    set_seed,
)

transformers.logging.set_verbosity_error()
text = [
    "the quick brown fox jumps over the lazy dog",
    "a movie about love and war in paris",
    "john lives in berlin and works at acme",
    "this film was great",
    "this film was terrible and boring",
    "what is the capital of france",
    "sports politics science music",
]
words = sorted({w for t in text for w in t.split()})
pieces = ["##" + c for c in "abcdefghijklmnopqrstuvwxyz"] + list("abcdefghijklmnopqrstuvwxyz")[1:]
vocab = {
    w: i
    for i, w in enumerate(
        dict.fromkeys(
            ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
            + [w for w in words if w not in ("brown", "works", "terrible")]
            + pieces
            + ["##ing", "ing", "##ble", "work"]
        )
    )
}
tok = Tokenizer(models.WordPiece(vocab, unk_token="[UNK]"))
tok.pre_tokenizer = pre_tokenizers.Whitespace()
tok.post_processor = processors.TemplateProcessing(
    single="[CLS] $A [SEP]",
    pair="[CLS] $A [SEP] $B:1 [SEP]:1",
    special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
)
tok.decoder = decoders.WordPiece()
fast = PreTrainedTokenizerFast(
    tokenizer_object=tok,
    unk_token="[UNK]",
    pad_token="[PAD]",
    cls_token="[CLS]",
    sep_token="[SEP]",
    mask_token="[MASK]",
    model_max_length=64,
)
print(len(fast), fast("john lives in paris", return_tensors="pt"))
torch.manual_seed(0)
kw = {
    "vocab_size": len(fast),
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 48,
    "max_position_embeddings": 64,
}


def rnd(o):
    if isinstance(o, dict):
        return {k: rnd(v) for k, v in o.items()}
    if isinstance(o, (list, tuple)):
        return [rnd(v) for v in o]
    if isinstance(o, torch.Tensor):
        return round(float(o.double().sum()), 3)
    if isinstance(o, float) or type(o).__name__.startswith("float"):
        return round(float(o), 4)
    return o


bert = BertForMaskedLM(BertConfig(**kw)).eval()
p = pipeline("fill-mask", model=bert, tokenizer=fast)
print(rnd(p("the quick [MASK] fox")))
print(rnd(p(["a movie about [MASK]", "[MASK] lives in berlin"], top_k=2)))
print(rnd(p("the [MASK] brown fox", targets=["quick", "dog"])))
cls = BertForSequenceClassification(
    BertConfig(
        num_labels=3,
        id2label={0: "neg", 1: "neu", 2: "pos"},
        label2id={"neg": 0, "neu": 1, "pos": 2},
        **kw,
    )
).eval()
p = pipeline("text-classification", model=cls, tokenizer=fast)
print(rnd(p(text)))
print(rnd(p(text, top_k=None, batch_size=3)))
print(rnd(p({"text": "this film was great", "text_pair": "a movie about love"})))
p = pipeline("sentiment-analysis", model=cls, tokenizer=fast, function_to_apply="sigmoid")
print(rnd(p("this film was terrible")))
ner = BertForTokenClassification(
    BertConfig(
        num_labels=5, id2label={0: "O", 1: "B-PER", 2: "I-PER", 3: "B-LOC", 4: "I-LOC"}, **kw
    )
).eval()
for s in ("none", "simple", "first", "average", "max"):
    p = pipeline("token-classification", model=ner, tokenizer=fast, aggregation_strategy=s)
    print(s, rnd(p("john lives in berlin and works at acme")))
p = pipeline("feature-extraction", model=BertModel(BertConfig(**kw)).eval(), tokenizer=fast)
f = p(text[:2])
print(len(f), len(f[0][0]), rnd(sum(map(abs, f[0][0][0]))))
f = p(text[0], return_tensors=True)
print(f.shape)
show("f", f.abs())
nli = BertForSequenceClassification(
    BertConfig(
        num_labels=3,
        id2label={0: "contradiction", 1: "neutral", 2: "entailment"},
        label2id={"contradiction": 0, "neutral": 1, "entailment": 2},
        **kw,
    )
).eval()
p = pipeline("zero-shot-classification", model=nli, tokenizer=fast)
print(rnd(p("this film was great", candidate_labels=["sports", "politics", "music"])))
print(
    rnd(
        p(
            ["this film was great", "what is love"],
            candidate_labels="sports, politics",
            multi_label=True,
        )
    )
)
# generation with byte-level BPE
alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
merges = [
    ("t", "h"),
    ("th", "e"),
    ("\u0120", "the"),
    ("i", "n"),
    ("\u0120", "q"),
    ("o", "v"),
    ("e", "r"),
    ("\u0120", "a"),
    ("i", "s"),
]
bv = {
    w: i for i, w in enumerate(["<|endoftext|>", "<pad>"] + alphabet + [x + y for x, y in merges])
}
bt = Tokenizer(models.BPE(bv, merges))
bt.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
bt.decoder = decoders.ByteLevel()
gt = PreTrainedTokenizerFast(
    tokenizer_object=bt,
    bos_token="<|endoftext|>",
    eos_token="<|endoftext|>",
    pad_token="<pad>",
    padding_side="left",
)
gpt = GPT2LMHeadModel(
    GPT2Config(
        vocab_size=len(gt),
        n_embd=32,
        n_layer=2,
        n_head=4,
        n_positions=64,
        bos_token_id=0,
        eos_token_id=0,
        pad_token_id=1,
    )
).eval()
p = pipeline("text-generation", model=gpt, tokenizer=gt)
print(p("the quick", max_new_tokens=8, do_sample=False))
set_seed(3)
print(
    p(
        ["the quick brown", "a movie"],
        max_new_tokens=6,
        do_sample=True,
        top_k=20,
        num_return_sequences=2,
    )
)
set_seed(3)
print(p("john", max_new_tokens=5, num_beams=3, return_full_text=False))
print(p(["the quick brown", "a", "this film was"], max_new_tokens=4, batch_size=2, do_sample=False))
gt.chat_template = "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}"
print(p([{"role": "user", "content": "what is love"}], max_new_tokens=4, do_sample=False))
with tempfile.TemporaryDirectory() as d:
    gpt.save_pretrained(d)
    gt.save_pretrained(d)
    print(sorted(os.listdir(d)))
    p2 = pipeline("text-generation", d)
    print(p2("the quick", max_new_tokens=8, do_sample=False))
    m = AutoModelForCausalLM.from_pretrained(d)
    t = AutoTokenizer.from_pretrained(d)
    e = t(["the quick", "john lives in"], return_tensors="pt", padding=True)
    show("loss", m(**e, labels=e["input_ids"]).loss)
    st = TextStreamer(t, skip_prompt=True)
    m.generate(**t("the", return_tensors="pt"), streamer=st, max_new_tokens=5, do_sample=False)
    it = TextIteratorStreamer(t)
    from threading import Thread

    th = Thread(
        target=m.generate,
        kwargs=dict(
            **t("a movie", return_tensors="pt"), streamer=it, max_new_tokens=5, do_sample=False
        ),
    )
    th.start()
    print(list(it))
    th.join()
