"""A rank fails in one of many ways in the middle of training; the others say so and end."""

import datetime
import os
import signal
import sys
import time

import pellucid as torch
import pellucid.distributed as dist

rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
how = sys.argv[1] if len(sys.argv) > 1 else ""
LAST = size - 1


def fail(group):
    """What the last rank does at the fault."""
    x = torch.ones(1000)
    if how == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    elif how == "killed inside":
        dist.all_reduce(torch.ones(1 << 21), async_op=True)
        os.kill(os.getpid(), signal.SIGKILL)
    elif how == "list":
        dist.all_gather([torch.empty(1000 + k) for k in range(size)], torch.ones(1000 + rank))
    elif how == "raised":
        raise ValueError("bad sample")
    elif how == "exited":
        sys.exit(3)
    elif how == "exited at once":
        os._exit(4)
    elif how == "stopped":
        os.kill(os.getpid(), signal.SIGSTOP)
    elif how == "late":
        time.sleep(30)
    elif how == "returned":
        return True
    elif how == "terminated":
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(30)
    elif how == "interrupted":
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(30)
    elif how == "shape":
        dist.all_reduce(torch.ones(10))
    elif how == "dtype":
        dist.all_reduce(x.double())
    elif how == "op":
        dist.all_reduce(x, dist.ReduceOp.MAX)
    elif how == "call":
        dist.barrier()
    elif how == "order":
        dist.broadcast(x, 0)
        dist.all_reduce(x)
    elif how == "group":
        dist.all_reduce(x, group=group)
    elif how == "asynchronous":
        dist.all_reduce(torch.ones(10), async_op=True).wait()
    elif how == "destroyed":
        dist.destroy_process_group()
        return True
    elif how == "forked":
        child = os.fork()
        if child == 0:
            try:
                dist.all_reduce(x)
            except BaseException as error:
                print(f"child: {type(error).__name__}: {error}", flush=True)
            os._exit(0)
        os.waitpid(child, 0)
        return True
    return False


def die_while_joining():
    """The last rank is killed when all have met and MPI is about to be entered."""
    from pellucid.distributed.job import world

    def killed(*args):
        print(f"fault at {time.time()}", flush=True)
        os.kill(os.getpid(), signal.SIGKILL)

    world._library = killed


def main():
    if how == "killed in init" and rank == LAST:
        die_while_joining()
    short = datetime.timedelta(seconds=4)
    # how long starting takes depends on the machine: with a fault to come nobody looks at it
    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=50) if how else short)
    group = dist.new_group(timeout=short)
    dist.group.WORLD.set_timeout(short)
    x = torch.ones(1000)
    print("pid", os.getpid(), flush=True)
    for step in range(20):
        if step == 10 and rank == LAST:
            print(f"fault at {time.time()}", flush=True)
            if fail(group):
                return
        if step == 10 and how == "root":
            dist.broadcast(x, 1 if rank == LAST else 0)
        elif step == 10 and how == "order" and rank != LAST:
            dist.all_reduce(x)
            dist.broadcast(x, 0)
        elif step == 10 and how == "killed inside":
            dist.all_reduce(torch.ones(1 << 21))
        elif step == 10 and how == "list":
            dist.all_gather([torch.empty(1000) for _ in range(size)], x)
        elif step == 10 and how == "message" and rank != LAST:
            dist.recv(x, LAST)
        elif step == 10 and how == "rank 0 killed" and rank == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        elif step == 10 and how == "server killed":
            end = time.monotonic() + 30
            while not os.path.exists(sys.argv[2]) and time.monotonic() < end:
                time.sleep(0.05)
        else:
            x = torch.ones(1000)
            dist.all_reduce(x)
    dist.barrier()
    print("the end", flush=True)


if __name__ == "__main__":
    try:
        main()
    except BaseException:
        print(f"says so at {time.time()}", flush=True)
        raise
