"""`pbloom`, again and again from the opening of its source on.

    python tests/fuzz/forking.py cold|warm ANSWERS ARGUMENTS

Runs the command up to where it opens the file `in`, or one in the folder `in`. Each byte of stdin makes a child that
goes on from there as the command would, once it gets SIGUSR1. To the descriptor ANSWERS go a line when this can
begin, and then for each child its process id, and its exit code at its end. Cold, its children still have to import
what a command imports after that; warm, it is there already, as one child went on at once and told.
"""

import os
import signal
import sys
from importlib import import_module

SOURCE = "in"


def warm_up() -> bool:
    """Import what the command imports to its end; True in the child that is the command."""
    names, told = os.pipe()
    if os.fork() == 0:
        leave = os._exit

        def tell(code: int) -> None:
            # Some, such as what Cython's modules share, are made and not imported.
            found = [
                name for name, module in sys.modules.items() if getattr(module, "__spec__", None)
            ]
            os.write(told, " ".join(found).encode())
            leave(code)

        os._exit = tell
        return True
    os.close(told)
    with open(names) as file:
        wanted = file.read().split()
    os.wait()
    for name in wanted:
        if name not in sys.modules:
            import_module(name)
    return False


def go_on(answers: int) -> None:
    """Returns in each child."""
    assert len(os.listdir("/proc/self/task")) == 1, "threads do not survive a fork"
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
    os.write(answers, b"ready\n")
    while os.read(0, 1):
        child = os.fork()
        if child == 0:
            signal.sigwait({signal.SIGUSR1})
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGUSR1})
            return
        os.write(answers, b"%d\n" % child)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        os.write(answers, b"%d\n" % code)
    os._exit(0)


def main() -> None:
    start, answers, *arguments = sys.argv[1:]
    real = os.open

    def opening(path, *more, **named):
        if os.fspath(path).partition("/")[0] == SOURCE:
            os.open = real
            if start == "cold" or not warm_up():
                go_on(int(answers))
        return real(path, *more, **named)

    os.open = opening
    sys.argv = ["pbloom", *arguments]
    # As `python -m` has it.
    sys.path[0] = os.getcwd()
    from parquet_bloom.cli import main

    main()


if __name__ == "__main__":
    main()
