"""Checks many scripts, one after the other, in the same ranks: a process of two, started with RANK
and WORLD_SIZE as by torchrun.

    python batch.py ENGINE FOLDER SCRIPT [SCRIPT ...]

leaves for each script FOLDER/<number>/ with what both ranks wrote.
"""

import contextlib
import io
import os
import sys
import traceback
import warnings
from pathlib import Path


def main(engine, folder, scripts):
    from pellucid.check import Settings
    from pellucid.check.ranks import journal, merge

    if engine == "pellucid":
        import pellucid

        pellucid.interop.as_torch()
    import torch.distributed as dist

    from pellucid.check import check_script

    for number, script in enumerate(scripts):
        target = Path(folder) / str(number)
        target.mkdir(exist_ok=True)
        os.environ[journal.FOLDER] = str(target)
        os.environ["MASTER_PORT"] = str(
            int(os.environ["FIRST_PORT"]) + (number if engine == "torch" else 0)
        )
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = check_script(script, engine=engine, settings=Settings())
        merge.write(str(target), result)
        if result.failure is not None:
            (target / f"{os.getpid()}.txt").write_text(
                "".join(traceback.format_exception(result.failure))
            )
        if dist.is_initialized():
            dist.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
