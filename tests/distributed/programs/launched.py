"""A script that a launcher starts: it fails, waits or ends as it is told."""

import os
import sys
import time


def main():
    import pellucid as torch
    import pellucid.distributed as dist

    dist.init_process_group("gloo")
    rank, restart = dist.get_rank(), os.environ["TORCHELASTIC_RESTART_COUNT"]
    x = torch.ones(3)
    dist.all_reduce(x)
    assert x.tolist() == [dist.get_world_size()] * 3
    if "wait" in sys.argv:
        open(os.path.join(sys.argv[2], str(os.getpid())), "w").close()
        time.sleep(60)
    # One write for line and newline: print makes two where Python is unbuffered, and the ranks
    # share this stream.
    sys.stdout.write(f"rank {rank} of {dist.get_world_size()}, restart {restart}, {sys.argv[1:]}\n")
    sys.stdout.flush()
    if "fail" in sys.argv and rank == 1 and (restart == "0" or "always" in sys.argv):
        raise ValueError("bad sample")
    dist.all_reduce(x)


if __name__ == "__main__":
    main()
