"""`torch._inductor.config`: the settings that scripts make. They are kept, and none changes anything: there are no GPU kernels to choose
among, code is kept on disk in any case, and products are tuned for the processor at hand.
"""

from __future__ import annotations

import sys

from ..compiler.options import Config

config = Config(
    "torch._inductor.config",
    {
        "allow_buffer_reuse": True, "autotune_local_cache": True, "benchmark_fusion": False, "benchmark_kernel": False,
        "bfloat16_atomic_adds_enabled": True, "comment_origin": False, "compile_threads": 1, "conv_1x1_as_mm": False,
        "coordinate_descent_check_all_directions": False, "coordinate_descent_tuning": False, "cpp_wrapper": False, "dce": False,
        "debug": False, "emulate_precision_casts": False, "epilogue_fusion": True, "fallback_random": False,
        "force_disable_caches": False, "force_fuse_int_mm_with_mul": False, "force_layout_optimization": False, "freezing": False,
        "fx_graph_cache": True, "fx_graph_remote_cache": None, "graph_partition": True, "implicit_fallbacks": True,
        "inplace_buffers": True, "joint_graph_constant_folding": True, "keep_output_stride": True, "layout_optimization": True,
        "max_autotune": False, "max_autotune_gemm": False, "max_autotune_gemm_backends": "ATEN,TRITON,CPP",
        "max_autotune_pointwise": False, "memory_planning": False, "nan_asserts": False, "pattern_matcher": True,
        "permute_fusion": False, "realize_reads_threshold": 4, "reorder_for_locality": True, "shape_padding": True,
        "size_asserts": True, "split_cat_fx_passes": True, "split_reductions": True, "static_weight_shapes": True,
        "unroll_reductions_threshold": 8, "use_mixed_mm": True, "verbose_progress": False, "worker_start_method": "subprocess",
        "aot_inductor": {"debug_compile": False, "output_path": "", "package": False},
        "cpp": {
            "cxx": (None, "g++"), "dynamic_threads": False, "enable_kernel_profile": False, "min_chunk_size": 512, "simdlen": None,
            "threads": -1, "weight_prepack": True,
        },
        "cuda": {"arch": None, "compile_opt_level": "-O1", "enable_cuda_lto": False, "version": None},
        "trace": {
            "compile_profile": False, "debug_log": False, "enabled": False, "fx_graph": True, "graph_diagram": False,
            "output_code": True,
        },
        "triton": {
            "autotune_cublasLt": True, "autotune_pointwise": True, "cudagraph_skip_dynamic_graphs": False,
            "cudagraph_support_input_mutation": True, "cudagraph_trees": True, "cudagraphs": False, "debug_sync_graph": False,
            "debug_sync_kernel": False, "dense_indexing": False, "descriptive_names": "original_aten", "divisible_by_16": True,
            "fast_path_cudagraph_asserts": False, "max_tiles": None, "multi_kernel": 0, "persistent_reductions": True,
            "prefer_nd_tiling": False, "skip_cudagraph_warmup": False, "slow_path_cudagraph_asserts": True,
            "store_cubin": False, "tiling_prevents_pointwise_fusion": True, "tiling_prevents_reduction_fusion": True,
            "unique_kernel_names": True,
        },
    },
)  # fmt: skip
for _name in ("__doc__", "__file__", "__loader__", "__package__", "__spec__"):
    setattr(config, _name, globals()[_name])
sys.modules[__name__] = config
