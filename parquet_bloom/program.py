"""The program around the commands: signals, exit codes, and one line for whatever goes wrong, or its
traceback for who asks.

stdout has the answer, stderr the complaints. Exit codes: 0 fine or yes, 1 no, 2 trouble; 128 plus
the number of the signal that ended the program, as shells report it.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import pairwise
from types import FrameType
from typing import TYPE_CHECKING, Any, Final, NoReturn
from weakref import ReferenceType, ref

import click
from click.core import augment_usage_errors

from parquet_bloom import __version__
from parquet_bloom.errors import complaint
from parquet_bloom.interruptions import is_postponed
from parquet_bloom.render import palette, terminal
from parquet_bloom.storage.near_names import meant
from parquet_bloom.storage.notices import listening
from parquet_bloom.vocabulary import ColorChoice, words

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

FINE, NO, TROUBLE = 0, 1, 2
SIGNALLED = 128

# Whether tracebacks are wanted, in what a context shares with those of its subcommands.
_DEBUG = "parquet_bloom.debug"
# Whether all options are wanted in the help, in what belongs to a context.
_ALL = "parquet_bloom.help_all"
# What was typed behind the innermost command or group, in what contexts share.
_WORDS = "parquet_bloom.words"

# What is said of the signals that end the program in good order, if anything is.
_ENDED_BY: Final[Mapping[int, str]] = {signal.SIGTERM: "terminated", signal.SIGHUP: "hung up"}


class EndedError(KeyboardInterrupt):
    """A signal ends the program, as ^C does: no handler on the way may take it for a failure."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


def debug() -> click.Option:
    """The option that shows tracebacks; before a command and after it."""

    def remember(ctx: click.Context, param: click.Parameter, wanted: bool) -> None:
        ctx.meta[_DEBUG] = ctx.meta.get(_DEBUG, False) or wanted

    return click.Option(
        ["--debug"],
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=remember,
        envvar="PBLOOM_DEBUG",
        show_envvar=True,
        help="Show the traceback of an error.",
    )


def color() -> click.Option:
    """The option that says when verdicts and severities are in colour; before a command and after it."""

    def choose(ctx: click.Context, param: click.Parameter, choice: ColorChoice | None) -> None:
        if choice is not None:
            ctx.call_on_close(partial(palette.choose, palette.choose(choice)))

    return click.Option(
        ["--color"],
        type=click.Choice(words(ColorChoice)),
        is_eager=True,
        expose_value=False,
        callback=choose,
        help="When verdicts and severities are in colour; without this option, NO_COLOR and FORCE_COLOR in the "
        "environment decide.  [default: auto, which is on a terminal]",
    )


def help_all() -> click.Option:
    """The option that shows the help with every option; --help leaves out what few people need."""

    def all_of(ctx: click.Context) -> str:
        ctx.meta[_ALL] = True
        return ctx.get_help()

    return _says("--help-all", all_of, "Show this message with every option and exit.")


def is_all_wanted(ctx: click.Context) -> bool:
    """Whether the help shows every option."""
    return bool(ctx.meta.get(_ALL))


def remember_words(ctx: click.Context, words: Sequence[str]) -> None:
    """Keep what was typed behind a command or group: what click makes of it no longer says what stood where."""
    ctx.meta[_WORDS] = tuple(words)


def words_of(ctx: click.Context | None) -> Sequence[str]:
    """What was typed behind the innermost command or group."""
    return () if ctx is None else ctx.meta.get(_WORDS, ())


def options_again(ctx: click.Context, names: Collection[str]) -> Iterator[str]:
    """The words with which some options and their values were typed, for a command that is to judge alike."""
    words = words_of(ctx)
    flags = {name for each in ctx.command.params if _is_flag(each) for name in each.opts}
    for word, following in zip(words, (*words[1:], ""), strict=True):
        if word in names:
            yield from (word,) if word in flags else (word, following)
        elif word.partition("=")[0] in names or (word[:2] in names and word[:2] != "--"):
            yield word


def _is_flag(param: click.Parameter) -> bool:
    return isinstance(param, click.Option) and param.is_flag


def version_option() -> click.Option:
    """The option that shows the version, which the package itself knows: click's would search all
    installed packages for it."""
    return _says(
        "--version",
        lambda ctx: f"{ctx.find_root().info_name}, version {__version__}",
        "Show the version and exit.",
    )


@contextmanager
def parsing(ctx: click.Context, args: Sequence[str]) -> Iterator[None]:
    """While the words behind a command are read, some of which may have help written, which nobody need read."""
    remember_words(ctx, args)
    try:
        # An option without its value does not know of which command it is.
        with augment_usage_errors(ctx):
            yield
    except BrokenPipeError:
        with terminal.standard_output():
            raise


def _says(name: str, text: Callable[[click.Context], str], help: str) -> click.Option:
    """An option with which a command says this, and ends."""

    def show(ctx: click.Context, param: click.Parameter, wanted: bool) -> None:
        if wanted and not ctx.resilient_parsing:
            click.echo(text(ctx), color=ctx.color)
            ctx.exit()

    return click.Option(
        [name], is_flag=True, is_eager=True, expose_value=False, callback=show, help=help
    )


def show_traceback(error: BaseException) -> None:
    """Write the traceback of an error to stderr, if the user wants to see it."""
    context = click.get_current_context(silent=True)
    if context is not None and context.meta.get(_DEBUG):
        terminal.write_traceback(error)


@contextmanager
def in_order() -> Iterator[None]:
    """Turn what goes wrong into one line on stderr and an exit code; click shows the help that is an
    answer to no arguments at all."""
    try:
        try:
            yield
        finally:
            terminal.flush()
    except (click.exceptions.NoArgsIsHelpError, click.exceptions.Exit, SystemExit):
        raise
    except click.UsageError as error:
        from parquet_bloom.render.usage import in_one_line

        terminal.complain(in_one_line(error, words_of(error.ctx)))
        sys.exit(TROUBLE)
    except EndedError as ended:
        _complain_of(ended, _ENDED_BY[ended.number])
        sys.exit(SIGNALLED + ended.number)
    except (KeyboardInterrupt, click.Abort) as ended:
        _complain_of(ended, "interrupted", is_told=True)
        sys.exit(SIGNALLED + signal.SIGINT)
    except terminal.NobodyReadsError:
        sys.exit(SIGNALLED + signal.SIGPIPE)
    except BaseException as error:  # noqa: BLE001 -- the last resort: no traceback reaches a user
        if (interruption := _interruption_behind(error)) is not None:
            with in_order():
                raise interruption from None
        show_traceback(error)
        terminal.complain(complaint(error) + meant(error))
        sys.exit(TROUBLE)


def _complain_of(ended: BaseException, word: str, is_told: bool = False) -> None:
    """Say what has ended the program, with what was noted on the way, or if it `is_told` anyway."""
    terminal.show_cursor()
    notes = getattr(ended, "__notes__", ())
    if notes or is_told:
        terminal.complain("; ".join([word, *notes]))


def _interruption_behind(error: BaseException | None) -> KeyboardInterrupt | None:
    """What a RuntimeError followed: a lock that was interrupted at a bad moment raises one, as it is
    released without having been had again."""
    while isinstance(error, RuntimeError):
        behind = error.__context__
        if isinstance(behind, KeyboardInterrupt):
            return behind
        error = behind
    return None


# Longer than the first sentence of any command's help.
_LONGEST_HELP: Final = 1_000


def strict(parser: Any, check: Callable[[str, str | None], None]) -> Any:
    """A parser of click that refuses what click takes for something else than was meant: the name of a long option
    after one dash, as `-fpp` for `-f pp`, and `-column` for the column `olumn`; another option where the value of one
    is left out; and a second file or folder of an option that takes one, of which it would drop the first. `check`:
    of any other name, and the value after its =, before the parser looks for it."""
    match_long: Any = getattr(parser, "_match_long_opt", None)
    parse: Any = parser.parse_args

    def match(name: str, value: str | None, state: Any) -> None:
        if (meant := f"-{name}") in parser._long_opt:
            raise click.UsageError(f"{name}: no such option; did you mean {meant}?", parser.ctx)
        check(name, value)
        match_long(name, value, state)

    def parse_args(args: list[str]) -> tuple[dict[str, Any], list[str], list[click.Parameter]]:
        known = {} if match_long is None else {**parser._short_opt, **parser._long_opt}
        words = args[: args.index("--")] if "--" in args else args
        for name, value in pairwise(words):
            if name in known and known[name].takes_value and value in known:
                way = f"{max(known[name].obj.opts, key=len)}={value}"
                raise click.UsageError(
                    f"{name}: expected a value, found {value}; {way} takes it for one", parser.ctx
                )
        found, rest, given = parse(args)
        for option, times in Counter(given).items():
            if times > 1 and isinstance(option, click.Option) and _is_single(option):
                name = max(option.opts, key=len)
                raise click.UsageError(f"{name}: expected once, found {times} times", parser.ctx)
        return found, rest, given

    if match_long is not None:
        parser._match_long_opt = match
    parser.parse_args = parse_args
    return parser


def _is_single(option: click.Option) -> bool:
    """Whether it takes one file or folder. Other options may be given again,
    as what follows a script's own decides."""
    is_place = isinstance(option.type, click.Path) or option.metavar in ("DIR", "FILE")
    return is_place and not option.multiple


class Ordered(click.Group):
    """Commands, listed in the order in which they are given. All of its options are in --help."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        everything = help_all()
        everything.hidden = True
        self.params.append(everything)

    def make_parser(self, ctx: click.Context) -> Any:
        return strict(super().make_parser(ctx), lambda name, value: None)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """What each does, on as many lines as that takes."""
        with formatter.section("Commands"):
            formatter.write_dl(self._abouts(ctx))

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """The same of those that begin so; click would cut it short."""
        from click.shell_completion import CompletionItem

        found = [(name, about) for name, about in self._abouts(ctx) if name.startswith(incomplete)]
        commands = [CompletionItem(name, help=about) for name, about in found]
        return commands + click.Command.shell_complete(self, ctx, incomplete)

    def _abouts(self, ctx: click.Context) -> list[tuple[str, str]]:
        """The commands, and what each does."""
        named = ((name, self.get_command(ctx, name)) for name in self.list_commands(ctx))
        return [
            (name, command.get_short_help_str(_LONGEST_HELP).rstrip("."))
            for name, command in named
            if command is not None and not command.hidden
        ]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        with parsing(ctx, args):
            return super().parse_args(ctx, args)


class Program(Ordered):
    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.params += [version_option(), color(), debug()]

    def make_context(self, *args: Any, **settings: Any) -> click.Context:
        with in_order():
            try:
                return super().make_context(*args, **settings)
            except BaseException:
                _settle()
                raise

    def invoke(self, ctx: click.Context) -> Any:
        with in_order(), listening(terminal.complain):
            try:
                return super().invoke(ctx)
            finally:
                _settle()

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        return super().get_command(ctx, {"inject": "build"}.get(name, name))


def _interrupt(number: int, frame: FrameType | None) -> None:
    """As Python does, but not where a file has taken its name and nobody has counted it."""
    end = KeyboardInterrupt()
    if not is_postponed(end):
        raise end


class _Ending:
    """The end that a signal has asked for, as long as it is on its way."""

    known: ReferenceType[EndedError] | None = None

    @classmethod
    def is_on_its_way(cls) -> bool:
        if cls.known is None or cls.known() is None:
            return False
        # A frame that it came through may refer to it.
        gc.collect()
        return cls.known() is not None


def _leave(number: int, frame: FrameType | None) -> None:
    """End in good order, as after ^C: first remove what is temporary, undisturbed by more signals."""
    if _Ending.is_on_its_way():
        return
    end = EndedError(number)
    _Ending.known = ref(end)
    try:
        if not is_postponed(end):
            raise end
    finally:
        # Its traceback has this frame.
        del end


# What is raised there is over by then, or dropped again.
_SOON_SECONDS: Final = 0.01


def _raise_again(told: sys.UnraisableHookArgs) -> None:
    """Python drops what is raised in a destructor, a hook of fork, or by a lock of an import. What a signal has asked
    for still has to end the program: it is sent again once that is over."""
    end = told.exc_value
    if not isinstance(end, KeyboardInterrupt):
        sys.__unraisablehook__(told)
        return
    number = end.number if isinstance(end, EndedError) else signal.SIGINT
    signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(number))
    signal.setitimer(signal.ITIMER_REAL, _SOON_SECONDS)


def _settle() -> None:
    """Once a command has done what it does, or is refused, there is nothing to remove: a signal ends the program at
    once. What it raised between the commands and the end, click would take for its own, or nobody would."""
    if _Ending.known is not None and _Ending.known() is not None:
        return
    for number in (signal.SIGINT, *_ENDED_BY):
        if signal.getsignal(number) in (_interrupt, _leave):
            signal.signal(number, signal.SIG_DFL)


def run(commands: click.Group) -> NoReturn:
    """Be the program `pbloom`.

    Everything is written and closed when the commands are done. Taking the interpreter apart would
    add 15 ms to a command that takes 90, so this is left out.
    """
    try:
        _run(commands)
    except SystemExit as end:
        # Without a stderr there is nothing to flush.
        if sys.stderr is not None:
            sys.stderr.flush()
        _exit(end.code if isinstance(end.code, int) else TROUBLE)
    _exit(FINE)


def _exit(code: int) -> NoReturn:
    """After ^C, of that signal: a shell then ends the loop that it runs, as it does not for an exit code."""
    if code == SIGNALLED + signal.SIGINT:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    os._exit(code)


def _run(commands: click.Group) -> None:
    with in_order():
        terminal.prepare()
        sys.unraisablehook = _raise_again
        # A shell that runs it in the background has it ignored.
        if callable(signal.getsignal(signal.SIGINT)):
            signal.signal(signal.SIGINT, _interrupt)
        for number in _ENDED_BY:
            # nohup ignores SIGHUP.
            if signal.getsignal(number) is signal.SIG_DFL:
                signal.signal(number, _leave)
        commands.main(prog_name="pbloom")
