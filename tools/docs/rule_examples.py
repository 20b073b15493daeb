"""Write the "Example" section of each page in docs/checks: a script with the bug, and what
`pellucid check` prints for it.

    python tools/docs/rule_examples.py

The scripts are those of tests/check/scripts, which the tests run anyway; tests/check/test_rules.py
compares the pages with that run.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PAGES = ROOT / "docs" / "checks"
SCRIPTS = ROOT / "tests" / "check" / "scripts"
MARK = re.compile(r"\s*# <- finding.*")

# The script shown on the page of each rule: buggy_NAME.py in the rule's folder.
SHOWN = {
    "accuracy-denominator": "batches",
    "accumulation-not-scaled": "counted",
    "activation-missing": "forward",
    "argument-absurd": "label_smoothing",
    "average-incomplete": "buffers",
    "average-swapped": "lerp",
    "backward-by-hand": "sign",
    "backward-without-step": "forgotten",
    "batch-first": "lstm",
    "batchnorm-batch-of-one": "last_batch",
    "batchnorm-momentum": "other_convention",
    "box-format": "coco_boxes",
    "class-attribute-shared": "meter",
    "class-dim-misplaced": "language_model",
    "class-weights-inverted": "counts",
    "classes-in-order": "sorted_rows",
    "clipping-without-effect": "before_backward",
    "closure-of-the-last": "lambda",
    "codes-apart": "unique",
    "columns-scaled-together": "helper",
    "data-leak": "scaled_before_the_split",
    "dataset-shared": "transform",
    "dead-units": "bias_far_below",
    "decay-groups-swapped": "dimensions",
    "device-dtype-mixed": "integers_wrap",
    "eval-in-train-mode": "validation_no_grad",
    "exhausted-iterator": "filter",
    "exploding-gradient": "standard_normal_weights",
    "functional-dropout-always-on": "forward",
    "generator-labels": "zeros",
    "gradient-cut": "mean_of_numbers",
    "graph-kept": "list_of_losses",
    "hook-of-the-last": "names",
    "hooks-pile-up": "each_epoch",
    "inplace-breaks-backward": "write_after_sigmoid",
    "keys-ignored": "prefix",
    "label-dtype": "float_class_numbers",
    "label-range": "classes_from_one",
    "leftover-gradients": "fakes",
    "logits-as-probs": "bce_on_scores",
    "loss-at-chance": "zero_initialised",
    "loss-formula": "focal",
    "loss-of-a-mean": "focal",
    "loss-shape-mismatch": "mse_column",
    "loss-sign": "policy",
    "lr-absurd": "adam_of_ten",
    "mask-inverted": "attention",
    "mask-without-effect": "small_fill",
    "memory-growth": "outputs",
    "memory-shared": "expanded_mask",
    "missing-zero-grad": "plain_loop",
    "mutual-broadcast": "regression",
    "nan-born": "log_of_negative",
    "nll-without-log-softmax": "scores_from_linear",
    "nondeterminism": "seed_after_the_model",
    "norm-wrong-axis": "layer_norm",
    "optimizer-recreated": "each_step",
    "output-range": "relu",
    "padding-read": "hidden",
    "param-frozen": "all_frozen",
    "param-not-in-optimizer": "encoder_forgotten",
    "param-replaced": "new_head",
    "param-shared": "appended",
    "param-unused": "layer_left_out",
    "partial-batch-mean": "evaluate_function",
    "partners-apart": "two_losses",
    "positions-of-the-batch": "buffer",
    "probs-as-logits": "policy_distribution",
    "ratio-always-one": "detached",
    "repeated-index": "messages",
    "reshape-not-transpose": "image_channels",
    "result-dropped": "mask",
    "running-sum": "overwritten",
    "same-batch": "next_of_iter",
    "same-mask": "seed_in_the_loop",
    "same-worker-seed": "stream_of_the_data_set",
    "sample-changed-in-place": "noise",
    "sampler-weights": "class_weights",
    "samples-missing": "two_processes",
    "samples-repeated": "shuffled",
    "scaled-twice": "in_the_loop",
    "scheduler-before-optimizer": "epoch_start",
    "scores-compared": "probabilities",
    "setting-without-effect": "attribute",
    "several-labels-softmax": "function",
    "sigmoid-before-bce-logits": "sequential",
    "similarity-wrong": "diagonal",
    "snapshot-aliased": "anchor",
    "softmax-before-ce": "sequential",
    "softmax-wrong-dim": "over_the_batch",
    "state-carried-over": "attribute",
    "state-not-saved": "statistics",
    "step-without-backward": "forgotten",
    "target-in-input": "windows",
    "target-not-detached": "target",
    "target-visible": "not_shifted",
    "terminal-not-masked": "q_learning",
    "terms-reduced-apart": "mean_of_pixels",
    "train-in-eval-mode": "train_only_before_the_loop",
    "validation-augmented": "split",
    "validation-statistics": "tensors",
    "value-changed-in-place": "sequential",
    "value-target": "same_state",
    "vanishing-gradient": "deep_sigmoids",
    "variance-as-deviation": "latent",
    "weights-out-of-order": "most_common",
    "zero-between-backward-and-step": "order",
}


def script(slug: str) -> Path:
    return SCRIPTS / slug / f"buggy_{SHOWN[slug]}.py"


def section(slug: str, findings: list[dict[str, Any]]) -> str:
    """The section of a page, from the findings of its script."""
    source = [MARK.sub("", line) for line in script(slug).read_text(encoding="utf-8").splitlines()]
    lines = ["## Example", "", "```python", "# train.py", *source, "```", "", "```text"]
    for found in findings:
        line = found["line"] + 1  # below the name of the file
        said = re.sub(
            r"\b(?:line|in line) (\d+)\b",
            lambda m: m[0].replace(m[1], str(int(m[1]) + 1)),
            found["message"],
        )
        lines += ["$ pellucid check train.py"] if found is findings[0] else []
        lines += [
            f"train.py:{line}: {found['severity']} {found['rule']} [{found['name']}]",
            f"    > {source[line - 2].strip()}",
        ]
        lines += textwrap.wrap(said, 84, initial_indent="    ", subsequent_indent="    ")
        lines += textwrap.wrap(
            found["fix"], 84, initial_indent="    fix: ", subsequent_indent="         "
        )
    return "\n".join([*lines, "```", ""])


def main() -> None:
    environment = {
        **os.environ,
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "PYTHONHASHSEED": "0",
    }
    command = [
        sys.executable,
        str(ROOT / "tests" / "check" / "batch.py"),
        "pellucid",
        *(str(script(slug)) for slug in SHOWN),
    ]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    results = json.loads(done.stdout.splitlines()[-1])
    for slug in SHOWN:
        page = PAGES / f"{slug}.md"
        text = page.read_text(encoding="utf-8")
        made = section(slug, results[str(script(slug))]["findings"])
        before, _, after = text.partition("## Example\n")
        page.write_text(before + made + after[after.index("\n## ") :], encoding="utf-8")


if __name__ == "__main__":
    main()
