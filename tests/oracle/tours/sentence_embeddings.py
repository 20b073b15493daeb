"""sentence_transformers: a model assembled from modules, trained by its trainer, saved, loaded,
searched; a cross encoder.
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
from sentence_transformers import (  # noqa: E402
    CrossEncoder,
    SentenceTransformer,
    SentenceTransformerTrainer,
    SentenceTransformerTrainingArguments,
    losses,
    models,
    util,
)
from sentence_transformers.evaluation import EmbeddingSimilarityEvaluator, TripletEvaluator  # noqa: E402
from tokenizers import Tokenizer, pre_tokenizers  # noqa: E402
from tokenizers import models as kinds  # noqa: E402
from transformers import (  # noqa: E402
    BertConfig,
    BertForSequenceClassification,
    BertModel,
    PreTrainedTokenizerFast,
    PrinterCallback,
)

disable_progress_bars()
for name in ("transformers", "sentence_transformers"):
    logging.getLogger(name).setLevel(logging.ERROR)
torch.manual_seed(0)
WORDS = "the cat sat on a mat dog ran to red house and saw big blue bird sing in tall tree".split()
vocabulary = {
    word: i for i, word in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS])
}
inner = Tokenizer(kinds.WordLevel(vocabulary, unk_token="[UNK]"))
inner.pre_tokenizer = pre_tokenizers.Whitespace()
tokenizer = PreTrainedTokenizerFast(
    tokenizer_object=inner,
    pad_token="[PAD]",
    unk_token="[UNK]",
    cls_token="[CLS]",
    sep_token="[SEP]",
    mask_token="[MASK]",
)
config = BertConfig(
    hidden_size=32,
    num_hidden_layers=2,
    num_attention_heads=2,
    intermediate_size=64,
    vocab_size=len(vocabulary),
)
drawn = np.random.default_rng(0)
texts = [" ".join(drawn.choice(WORDS, 5)) for _ in range(32)]
with tempfile.TemporaryDirectory() as folder:
    BertModel(config).save_pretrained(f"{folder}/base")
    tokenizer.save_pretrained(f"{folder}/base")
    word = models.Transformer(f"{folder}/base", max_seq_length=16)
    model = SentenceTransformer(
        modules=[
            word,
            models.Pooling(32, pooling_mode="mean"),
            models.Dense(32, 16),
            models.Normalize(),
        ],
        device="cpu",
    )
    show("before", torch.from_numpy(model.encode(texts, show_progress_bar=False)).abs())
    pairs = Dataset.from_dict({"anchor": texts[:16], "positive": texts[16:]})
    scored = Dataset.from_dict(
        {"sentence1": texts[:16], "sentence2": texts[16:], "score": [i / 16 for i in range(16)]}
    )
    triples = Dataset.from_dict(
        {"anchor": texts[:8], "positive": texts[8:16], "negative": texts[16:24]}
    )
    arguments = SentenceTransformerTrainingArguments(
        f"{folder}/out",
        max_steps=3,
        per_device_train_batch_size=4,
        logging_steps=1,
        save_strategy="no",
        report_to=[],
        disable_tqdm=True,
        use_cpu=True,
        learning_rate=1e-3,
    )
    for data, loss in (
        (pairs, losses.MultipleNegativesRankingLoss(model)),
        (scored, losses.CosineSimilarityLoss(model)),
        (scored, losses.CoSENTLoss(model)),
        (triples, losses.TripletLoss(model)),
        (pairs, losses.MatryoshkaLoss(model, losses.MultipleNegativesRankingLoss(model), [16, 8])),
        (pairs, losses.CachedMultipleNegativesRankingLoss(model, mini_batch_size=2)),
    ):
        trainer = SentenceTransformerTrainer(model, arguments, train_dataset=data, loss=loss)
        trainer.remove_callback(PrinterCallback)
        trainer.train()
        print(
            type(loss).__name__,
            [round(entry["loss"], 4) for entry in trainer.state.log_history if "loss" in entry],
        )
    judge = EmbeddingSimilarityEvaluator(texts[:16], texts[16:], [i / 16 for i in range(16)])
    print({k: round(float(v), 4) for k, v in judge(model).items()})
    print(
        {
            k: round(float(v), 4)
            for k, v in TripletEvaluator(texts[:8], texts[8:16], texts[16:24])(model).items()
        }
    )
    model.save_pretrained(f"{folder}/kept")
    again = SentenceTransformer(f"{folder}/kept", device="cpu")
    vectors = again.encode(texts, convert_to_tensor=True, show_progress_bar=False)
    show("vectors", vectors.abs())
    show("similar", model.similarity(vectors[:3], vectors[3:6]))
    show("cosine", util.cos_sim(vectors[:4], vectors).abs())
    print([hit["corpus_id"] for hit in util.semantic_search(vectors[:1], vectors, top_k=4)[0]])
    print(util.community_detection(vectors, threshold=0.95, min_community_size=3)[:1])
    print([[i, j] for _, i, j in util.paraphrase_mining(again, texts, show_progress_bar=False)[:3]])
    print(again.encode(texts[:2], precision="int8", show_progress_bar=False).dtype)
    BertForSequenceClassification(
        BertConfig(
            num_labels=1,
            **{
                k: getattr(config, k)
                for k in (
                    "hidden_size",
                    "num_hidden_layers",
                    "vocab_size",
                    "num_attention_heads",
                    "intermediate_size",
                )
            },
        )
    ).save_pretrained(f"{folder}/cross")
    tokenizer.save_pretrained(f"{folder}/cross")
    cross = CrossEncoder(f"{folder}/cross", device="cpu")
    show(
        "cross",
        torch.from_numpy(
            cross.predict([(texts[0], texts[1]), (texts[2], texts[3])], show_progress_bar=False)
        ),
    )
    print([entry["corpus_id"] for entry in cross.rank(texts[0], texts[1:5])])
