"""pbloom completion"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import click
from click.shell_completion import add_completion_class, get_completion_class

from parquet_bloom.commands.bash import Bash
from parquet_bloom.commands.sections import Command
from parquet_bloom.render.terminal import write_bytes
from parquet_bloom.vocabulary import Shell, words

add_completion_class(Bash)

# What click's scripts say, and what they should. `--format=te` is one word for zsh and fish, of which click is asked
# for what comes after the name alone. In fish, a word ends at its first comma, and columns after -c have commas.
MENDED: Final[Mapping[str, Mapping[str, str]]] = {
    "zsh": {
        "    local -a response\n": "    local -a response\n    local name\n"
        '    [[ "$words[CURRENT]" == --*=* ]] && name="${words[CURRENT]%%=*}=" && compset -P "$name"\n',
        "completions_with_descriptions -U": 'completions_with_descriptions -U -P "$name"',
        "compadd -U": 'compadd -U -P "$name"',
    },
    "fish": {
        'string split ","': 'string split -m 1 ","',
        "    for completion in": "    set -l name (string match -r -- '^--[^=]*=' (commandline -t));\n\n"
        "    for completion in",
        "__fish_complete_path $metadata[2]": '__fish_complete_path $metadata[2] | string replace -r "^" -- "$name"',
        "echo $metadata[2]": 'printf "%s\\n" "$name$metadata[2]"',
    },
}


@click.command(cls=Command)
@click.argument("shell", type=click.Choice(words(Shell)))
@click.pass_context
def completion(ctx: click.Context, shell: Shell) -> None:
    """Print the script with which a shell completes pbloom.

    It completes commands, options and the words that they take, rules, cases, file names, and columns: those of the
    file that is named before on the line, or of the first in a folder, if it is local and not encrypted.

    \b
    bash, in ~/.bashrc:
      eval "$(pbloom completion bash)"
    zsh, in ~/.zshrc, after compinit:
      eval "$(pbloom completion zsh)"
    fish, once:
      pbloom completion fish > ~/.config/fish/completions/pbloom.fish

    \b
    Examples:
      pbloom completion bash
      pbloom completion zsh
      pbloom completion fish
    """
    kind = get_completion_class(shell)
    assert kind is not None
    # The variable is the one that click looks for in a program of this name.
    script = kind(ctx.find_root().command, {}, "pbloom", "_PBLOOM_COMPLETE").source()
    for text, instead in MENDED.get(shell, {}).items():
        script = script.replace(text, instead)
    write_bytes(script.encode())
