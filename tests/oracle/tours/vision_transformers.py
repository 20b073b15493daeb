"""vit-pytorch: vision transformers of many kinds, trained for two steps; self-supervised training, distillation, attention maps."""

import warnings

import torch
from _parts import part, show, without_compiled_operators

without_compiled_operators()
warnings.simplefilter("ignore")
img = lambda n=2, s=32: torch.randn(n, 3, s, s)


def go(model, *args, steps=2, name=None):
    opt = torch.optim.Adam(model.parameters(), 1e-3)
    for _ in range(steps):
        o = model(*args)
        o = o if isinstance(o, torch.Tensor) else o[0]
        l = o.square().mean() if o.ndim else o
        opt.zero_grad()
        l.backward()
        opt.step()
    print(tuple(o.shape))
    show("loss", l)
    show("w", sum(p.detach().double().abs().sum() for p in model.parameters()))


@part
def vit():
    from vit_pytorch import ViT

    go(
        ViT(
            image_size=32,
            patch_size=8,
            num_classes=5,
            dim=32,
            depth=2,
            heads=4,
            mlp_dim=48,
            dropout=0.1,
            emb_dropout=0.1,
        ),
        img(),
    )


@part
def simple():
    from vit_pytorch import SimpleViT

    go(
        SimpleViT(image_size=32, patch_size=8, num_classes=5, dim=32, depth=2, heads=4, mlp_dim=48),
        img(),
    )


@part
def navit():
    from vit_pytorch.na_vit import NaViT

    go(
        NaViT(
            image_size=32,
            patch_size=8,
            num_classes=5,
            dim=32,
            depth=2,
            heads=4,
            mlp_dim=48,
            token_dropout_prob=0.1,
        ),
        [[img()[0], torch.randn(3, 16, 32)], [torch.randn(3, 24, 16)]],
    )


@part
def distill():
    from vit_pytorch.distill import DistillableViT, DistillWrapper

    t = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(3072, 5))
    v = DistillableViT(
        image_size=32, patch_size=8, num_classes=5, dim=32, depth=2, heads=4, mlp_dim=48
    )
    go(
        DistillWrapper(student=v, teacher=t, temperature=3, alpha=0.5, hard=False),
        img(),
        torch.randint(0, 5, (2,)),
    )


@part
def deepvit():
    from vit_pytorch.deepvit import DeepViT

    go(
        DeepViT(image_size=32, patch_size=8, num_classes=5, dim=32, depth=2, heads=4, mlp_dim=48),
        img(),
    )


@part
def cait():
    from vit_pytorch.cait import CaiT

    go(
        CaiT(
            image_size=32,
            patch_size=8,
            num_classes=5,
            dim=32,
            depth=2,
            cls_depth=1,
            heads=4,
            mlp_dim=48,
            layer_dropout=0.05,
        ),
        img(),
    )


@part
def t2t():
    from vit_pytorch.t2t import T2TViT

    go(
        T2TViT(
            image_size=32,
            num_classes=5,
            dim=32,
            depth=1,
            heads=4,
            mlp_dim=48,
            t2t_layers=((3, 2), (3, 2)),
        ),
        img(),
    )


@part
def cct():
    from vit_pytorch.cct import CCT

    go(
        CCT(
            img_size=32,
            embedding_dim=32,
            n_conv_layers=1,
            kernel_size=3,
            stride=2,
            padding=1,
            pooling_kernel_size=3,
            pooling_stride=2,
            pooling_padding=1,
            num_layers=2,
            num_heads=4,
            mlp_ratio=2.0,
            num_classes=5,
            positional_embedding="learnable",
        ),
        img(),
    )


@part
def crossvit():
    from vit_pytorch.cross_vit import CrossViT

    go(
        CrossViT(
            image_size=32,
            num_classes=5,
            depth=1,
            sm_dim=16,
            sm_patch_size=8,
            sm_enc_depth=1,
            sm_enc_heads=2,
            sm_enc_mlp_dim=32,
            lg_dim=24,
            lg_patch_size=16,
            lg_enc_depth=1,
            lg_enc_heads=2,
            lg_enc_mlp_dim=32,
            cross_attn_depth=1,
            cross_attn_heads=2,
        ),
        img(),
    )


@part
def pit():
    from vit_pytorch.pit import PiT

    go(
        PiT(image_size=32, patch_size=8, dim=32, num_classes=5, depth=(1, 1), heads=4, mlp_dim=48),
        img(),
    )


@part
def levit():
    from vit_pytorch.levit import LeViT

    go(
        LeViT(
            image_size=64, num_classes=5, stages=2, dim=(16, 24), depth=1, heads=(2, 2), mlp_mult=2
        ),
        img(2, 64),
    )


@part
def cvt():
    from vit_pytorch.cvt import CvT

    go(
        CvT(
            num_classes=5,
            s1_emb_dim=16,
            s1_depth=1,
            s2_emb_dim=24,
            s2_heads=2,
            s2_depth=1,
            s3_emb_dim=32,
            s3_heads=2,
            s3_depth=1,
        ),
        img(2, 64),
    )


@part
def twins():
    from vit_pytorch.twins_svt import TwinsSVT

    go(
        TwinsSVT(
            num_classes=5,
            s1_emb_dim=16,
            s1_patch_size=4,
            s1_local_patch_size=4,
            s1_global_k=4,
            s1_depth=1,
            s2_emb_dim=16,
            s2_patch_size=2,
            s2_local_patch_size=2,
            s2_global_k=2,
            s2_depth=1,
            s3_emb_dim=16,
            s3_patch_size=1,
            s3_local_patch_size=2,
            s3_global_k=2,
            s3_depth=1,
            s4_emb_dim=16,
            s4_patch_size=2,
            s4_local_patch_size=2,
            s4_global_k=2,
            s4_depth=1,
        ),
        img(2, 32),
    )


@part
def nest():
    from vit_pytorch.nest import NesT

    go(
        NesT(
            image_size=32,
            patch_size=4,
            dim=16,
            heads=2,
            num_hierarchies=2,
            block_repeats=(1, 1),
            num_classes=5,
        ),
        img(),
    )


@part
def mobile():
    from vit_pytorch.mobile_vit import MobileViT

    go(
        MobileViT(
            image_size=(64, 64),
            dims=[24, 32, 40],
            channels=[8, 8, 16, 16, 16, 16, 16, 16, 16, 16, 32],
            num_classes=5,
        ),
        img(2, 64),
    )


@part
def xcit():
    from vit_pytorch.xcit import XCiT

    go(
        XCiT(
            image_size=32,
            patch_size=8,
            num_classes=5,
            dim=32,
            depth=2,
            cls_depth=1,
            heads=4,
            mlp_dim=48,
            local_patch_kernel_size=3,
        ),
        img(),
    )


@part
def maxvit():
    from vit_pytorch.max_vit import MaxViT

    go(
        MaxViT(
            num_classes=5,
            dim_conv_stem=16,
            dim=16,
            dim_head=8,
            depth=(1, 1),
            window_size=4,
            mbconv_expansion_rate=2,
            mbconv_shrinkage_rate=0.25,
            dropout=0.1,
        ),
        img(2, 32),
    )


@part
def dino():
    import random

    from vit_pytorch import Dino, ViT

    random.seed(0)  # which the constructor draws from, too
    l = Dino(
        ViT(image_size=32, patch_size=8, num_classes=5, dim=32, depth=1, heads=4, mlp_dim=48),
        image_size=32,
        hidden_layer="to_latent",
        projection_hidden_size=16,
        projection_layers=2,
        num_classes_K=20,
    )
    opt = torch.optim.Adam(l.parameters(), lr=3e-4)
    for _ in range(2):
        loss = l(img(4))
        opt.zero_grad()
        loss.backward()
        opt.step()
        l.update_moving_average()
        show("dino", loss)


@part
def extractor():
    from vit_pytorch import ViT
    from vit_pytorch.extractor import Extractor
    from vit_pytorch.recorder import Recorder

    v = ViT(image_size=32, patch_size=8, num_classes=5, dim=32, depth=2, heads=4, mlp_dim=48)
    p, a = Recorder(v)(img())
    print(a.shape)
    show("a", a)
    show("a2", a.square())
    p, e = Extractor(v)(img())
    show("e", e.abs())


@part
def three():
    from vit_pytorch.vit_3d import ViT

    go(
        ViT(
            image_size=16,
            frames=4,
            image_patch_size=8,
            frame_patch_size=2,
            num_classes=5,
            dim=32,
            depth=1,
            heads=4,
            mlp_dim=48,
        ),
        torch.randn(1, 3, 4, 16, 16),
    )


@part
def scalable():
    from vit_pytorch.scalable_vit import ScalableViT

    go(
        ScalableViT(
            num_classes=5,
            dim=16,
            heads=(2, 2),
            depth=(1, 1),
            ssa_dim_key=(8, 8),
            reduction_factor=(2, 1),
            window_size=(4, None),
            dropout=0.1,
        ),
        img(2, 32),
    )
