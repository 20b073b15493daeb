"""transformers: pipelines over images and sound; CLIP, wav2vec 2.0, Whisper, depth, captions."""
# ruff: noqa: E402

import json
import tempfile
import warnings

import numpy as np
import torch
from _parts import show, without_compiled_operators

without_compiled_operators()
warnings.simplefilter("ignore")
import transformers
from PIL import Image
from transformers import (
    ASTConfig,
    ASTFeatureExtractor,
    ASTForAudioClassification,
    BeitImageProcessor,
    CLIPConfig,
    CLIPImageProcessor,
    CLIPModel,
    ConvNextImageProcessor,
    DeiTImageProcessor,
    DPTConfig,
    DPTForDepthEstimation,
    DPTImageProcessor,
    GPT2Config,
    GPT2LMHeadModel,
    PreTrainedTokenizerFast,
    SegformerConfig,
    SegformerForSemanticSegmentation,
    SegformerImageProcessor,
    VisionEncoderDecoderModel,
    ViTConfig,
    ViTForImageClassification,
    ViTImageProcessor,
    ViTModel,
    Wav2Vec2Config,
    Wav2Vec2CTCTokenizer,
    Wav2Vec2FeatureExtractor,
    Wav2Vec2ForCTC,
    Wav2Vec2ForSequenceClassification,
    WhisperConfig,
    WhisperFeatureExtractor,
    WhisperForConditionalGeneration,
    YolosConfig,
    YolosForObjectDetection,
    YolosImageProcessor,
    pipeline,
)

transformers.logging.set_verbosity_error()


def rnd(o):
    if isinstance(o, dict):
        return {k: rnd(v) for k, v in o.items()}
    if isinstance(o, (list, tuple)):
        return [rnd(v) for v in o]
    if isinstance(o, (torch.Tensor, np.ndarray)):
        return round(float(np.asarray(o).astype("float64").sum()), 3)
    if isinstance(o, Image.Image):
        return (o.mode, o.size, int(np.asarray(o).astype("int64").sum() // 1000))
    if isinstance(o, float) or type(o).__name__.startswith("float"):
        return round(float(o), 4)
    return o


torch.manual_seed(0)
rs = np.random.RandomState(0)
img = Image.fromarray(rs.randint(0, 255, (40, 50, 3)).astype("uint8"))
kw = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 48,
    "image_size": 32,
    "patch_size": 8,
}
vit = ViTForImageClassification(ViTConfig(num_labels=4, **kw)).eval()
for cls in (ViTImageProcessor,):
    pr = cls(size={"height": 32, "width": 32})
    x = pr(img, return_tensors="pt")["pixel_values"]
    print(type(pr).__name__, x.shape, x.dtype)
    show("px", x)
    show("px2", (x**2))
    p = pipeline("image-classification", model=vit, image_processor=pr)
    print(rnd(p(img)))
    print(rnd(p([img, img.rotate(90)], top_k=2)))
p = pipeline("image-feature-extraction", model=ViTModel(ViTConfig(**kw)).eval(), image_processor=pr)
print(rnd(np.abs(np.array(p(img))).sum()))
for name, proc, size in (
    ("conv", ConvNextImageProcessor, {"shortest_edge": 40}),
    ("clip", CLIPImageProcessor, {"shortest_edge": 32}),
    ("deit", DeiTImageProcessor, {"height": 36, "width": 36}),
    ("beit", BeitImageProcessor, {"height": 32, "width": 32}),
    ("seg", SegformerImageProcessor, {"height": 32, "width": 32}),
):
    pr2 = proc(size=size)
    x = pr2(img, return_tensors="pt")["pixel_values"]
    print(name, type(pr2).__name__, x.shape)
    show(name, x.double().pow(2))
seg = SegformerForSemanticSegmentation(
    SegformerConfig(
        num_encoder_blocks=4,
        depths=[1, 1, 1, 1],
        hidden_sizes=[8, 8, 16, 16],
        num_attention_heads=[1, 1, 2, 2],
        decoder_hidden_size=16,
        num_labels=3,
    )
).eval()
p = pipeline(
    "image-segmentation",
    model=seg,
    image_processor=SegformerImageProcessor(size={"height": 32, "width": 32}),
)
print(rnd(p(img)))
dpt = None

yolo = YolosForObjectDetection(
    YolosConfig(
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=48,
        image_size=[32, 32],
        patch_size=8,
        num_detection_tokens=5,
        num_labels=3,
    )
).eval()
yp = YolosImageProcessor(size={"shortest_edge": 32, "longest_edge": 48})
p = pipeline("object-detection", model=yolo, image_processor=yp)
print(rnd(p(img, threshold=0.2)))
# zero-shot image classification with CLIP
from tokenizers import Tokenizer, models, pre_tokenizers

words = ["<s>", "</s>", "<unk>", "<pad>"] + "a photo of cat dog car this is .".split()
tk = Tokenizer(models.WordLevel({w: i for i, w in enumerate(words)}, unk_token="<unk>"))
tk.pre_tokenizer = pre_tokenizers.Whitespace()
from tokenizers import processors

tk.post_processor = processors.TemplateProcessing(
    single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 1)]
)
ft = PreTrainedTokenizerFast(
    tokenizer_object=tk,
    bos_token="<s>",
    eos_token="</s>",
    unk_token="<unk>",
    pad_token="<pad>",
    model_max_length=16,
)
clip = CLIPModel(
    CLIPConfig(
        text_config={
            "vocab_size": len(words),
            "hidden_size": 32,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "intermediate_size": 48,
            "max_position_embeddings": 16,
            "bos_token_id": 0,
            "eos_token_id": 1,
            "pad_token_id": 3,
        },
        vision_config=kw,
        projection_dim=24,
    )
).eval()
cp = CLIPImageProcessor(size={"shortest_edge": 32}, crop_size={"height": 32, "width": 32})
p = pipeline("zero-shot-image-classification", model=clip, tokenizer=ft, image_processor=cp)
print(rnd(p(img, candidate_labels=["cat", "dog", "car"])))
b = ft(["a photo of cat", "a dog"], return_tensors="pt", padding=True)
b["pixel_values"] = cp([img, img.rotate(180)], return_tensors="pt")["pixel_values"]
clip.train()
o = clip(**b, return_loss=True)
show("clip loss", o.loss)
o.loss.backward()
show("grad", sum(q.grad.abs().sum() for q in clip.parameters() if q.grad is not None))
show(
    "tf",
    clip.eval().get_text_features(**ft("a photo of dog", return_tensors="pt")).pooler_output.abs()
    if not isinstance(
        clip.get_text_features(**ft("a photo of dog", return_tensors="pt")), torch.Tensor
    )
    else clip.get_text_features(**ft("a photo of dog", return_tensors="pt")).abs(),
)
# audio
wave = (
    np.sin(np.arange(16000) / 16000 * 440 * 2 * np.pi).astype("float32") * 0.5
    + rs.randn(16000).astype("float32") * 0.01
)
fe = Wav2Vec2FeatureExtractor()
w2 = Wav2Vec2ForCTC(
    Wav2Vec2Config(
        vocab_size=12,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=48,
        conv_dim=(16,) * 7,
        num_conv_pos_embeddings=16,
        num_conv_pos_embedding_groups=4,
        pad_token_id=0,
    )
).eval()
with tempfile.TemporaryDirectory() as d:
    json.dump(
        {
            c: i
            for i, c in enumerate(
                ["<pad>", "<s>", "</s>", "<unk>", "|", "a", "b", "c", "d", "e", "f", "g"]
            )
        },
        open(d + "/vocab.json", "w"),
    )
    ct = Wav2Vec2CTCTokenizer(d + "/vocab.json")
    p = pipeline("automatic-speech-recognition", model=w2, tokenizer=ct, feature_extractor=fe)
    print(p(wave), p({"raw": wave, "sampling_rate": 16000}, return_timestamps="char"))
    print(p(wave, chunk_length_s=0.5, stride_length_s=0.1))
x = fe(wave, sampling_rate=16000, return_tensors="pt").input_values
show("wave", x.abs())
show("ctc", w2(x).logits.abs())
w2.train()
w2.config.mask_time_prob = 0
l = w2(x, labels=torch.tensor([[5, 6, 7]])).loss
show("ctc loss", l)
l.backward()
show("g", w2.wav2vec2.feature_projection.projection.weight.grad.abs())
ac = Wav2Vec2ForSequenceClassification(
    Wav2Vec2Config(
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=4,
        intermediate_size=48,
        conv_dim=(16,) * 7,
        num_labels=3,
        num_conv_pos_embeddings=16,
        num_conv_pos_embedding_groups=4,
    )
).eval()
p = pipeline("audio-classification", model=ac, feature_extractor=fe)
print(rnd(p(wave)))
wf = WhisperFeatureExtractor(feature_size=16, chunk_length=1)
f = wf(wave, sampling_rate=16000, return_tensors="pt").input_features
print(f.shape)
show("mel", f.abs())
wh = WhisperForConditionalGeneration(
    WhisperConfig(
        vocab_size=60,
        d_model=32,
        encoder_layers=2,
        decoder_layers=2,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        encoder_ffn_dim=48,
        decoder_ffn_dim=48,
        num_mel_bins=16,
        max_source_positions=50,
        max_target_positions=30,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
        decoder_start_token_id=1,
        suppress_tokens=None,
        begin_suppress_tokens=None,
    )
).eval()
print(wh.generate(f, max_new_tokens=8).tolist())
print(wh.generate(f, max_new_tokens=8, num_beams=3).tolist())
lo = wh(f, labels=torch.tensor([[5, 6, 7, 2]]))
show("whisper", lo.loss)
am = ASTFeatureExtractor(num_mel_bins=32, max_length=64)
f = am(wave, sampling_rate=16000, return_tensors="pt").input_values
print(f.shape)
show("ast", f.abs())
ast = ASTForAudioClassification(
    ASTConfig(
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=4,
        intermediate_size=48,
        num_mel_bins=32,
        max_length=64,
        num_labels=3,
    )
).eval()
p = pipeline("audio-classification", model=ast, feature_extractor=am)
print(rnd(p(wave)))
vd = VisionEncoderDecoderModel(
    encoder=ViTModel(ViTConfig(**kw)),
    decoder=GPT2LMHeadModel(
        GPT2Config(
            vocab_size=len(words),
            n_embd=32,
            n_layer=1,
            n_head=4,
            n_positions=32,
            add_cross_attention=True,
            bos_token_id=0,
            eos_token_id=1,
            pad_token_id=3,
        )
    ),
).eval()
vd.config.decoder_start_token_id = 0
vd.generation_config.decoder_start_token_id = 0
vd.generation_config.pad_token_id = 3
vd.generation_config.eos_token_id = 1
pr = ViTImageProcessor(size={"height": 32, "width": 32})
g = vd.generate(pr(img, return_tensors="pt")["pixel_values"], max_new_tokens=6, num_beams=2)
print(g.tolist(), ft.batch_decode(g))
dp = DPTForDepthEstimation(
    DPTConfig(
        hidden_size=32,
        num_hidden_layers=4,
        num_attention_heads=4,
        intermediate_size=48,
        image_size=32,
        patch_size=8,
        backbone_out_indices=[0, 1, 2, 3],
        neck_hidden_sizes=[8, 8, 16, 16],
        fusion_hidden_size=16,
        is_hybrid=False,
    )
).eval()
p = pipeline(
    "depth-estimation",
    model=dp,
    image_processor=DPTImageProcessor(size={"height": 32, "width": 32}),
)
o = p(img)
show("depth", o["predicted_depth"])
print(rnd(o["depth"]))
