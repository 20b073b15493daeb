"""Checks many scripts, one after the other, in the same ranks: a process of two, started with RANK
and WORLD_SIZE as by torchrun.

    python batch.py ENGINE FOLDER SCRIPT [SCRIPT ...]

leaves for each script FOLDER/<number>/ with what both ranks wrote.

On PyTorch each script has a process of its own, forked from one that has imported everything: when
gloo makes and closes groups in quick succession in one process, two ranks now and then wait for
each other forever.
"""

import contextlib
import importlib
import io
import os
import sys
import traceback
import warnings
from pathlib import Path

PRELOADED = ("torch.nn.parallel", "torch._dynamo", "torch.distributed.algorithms.join")


def check(number, script, engine, folder):
    """Check one script in this process, which is a rank."""
    import torch.distributed as dist

    from pellucid.check import Settings, check_script
    from pellucid.check.ranks import journal, merge

    target = Path(folder) / str(number)
    target.mkdir(exist_ok=True)
    os.environ[journal.FOLDER] = str(target)
    if stores := os.environ.get("STORES"):
        os.environ["MASTER_PORT"] = stores.split()[number]
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = check_script(script, engine=engine, settings=Settings())
    merge.write(str(target), result)
    if result.failure is not None:
        text = "".join(traceback.format_exception(result.failure))
        (target / f"{os.getpid()}.txt").write_text(text)
    if dist.is_initialized():
        dist.destroy_process_group()


def main(engine, folder, scripts):
    if engine == "pellucid":
        import pellucid

        pellucid.interop.as_torch()
        for number, script in enumerate(scripts):
            check(number, script, engine, folder)
        return
    for name in PRELOADED:
        importlib.import_module(name)
    for number, script in enumerate(scripts):
        pid = os.fork()
        if not pid:
            status = 1
            try:
                check(number, script, engine, folder)
                status = 0
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stdout.flush()
                os._exit(status)  # a thread of gloo's that is still there makes the end an abort
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        if status:
            raise SystemExit(f"{script} ended with {status}")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
