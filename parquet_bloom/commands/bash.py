"""What bash is told to complete a word with.

bash puts what it is told onto the line as it is, and runs the line: names of columns are quoted here, for the place
where they go. As it cuts words at = and :, too, it sends the line up to the cursor, and the end of it that goes.

pbloom inspect m.parquet -c 'my      the line      becomes  pbloom inspect m.parquet -c 'my col'
                             my      what goes
"""

from __future__ import annotations

import os
import re
from typing import Final

from click.shell_completion import BashComplete, split_arg_string

_SCRIPT: Final = """\
%(complete_func)s() {
    local each
    while IFS= read -r each; do
        case "$each" in
            file,*) compopt -o default ;;
            plain,*) COMPREPLY+=("${each#*,}") ;;
        esac
    done <<< "$(env COMP_LINE="${COMP_LINE:0:COMP_POINT}" COMP_WORD="$2" %(complete_var)s=bash_complete "$1")"
}

complete -o nosort -F %(complete_func)s %(prog_name)s
"""

# What is quoted, to its end.
_CLOSED: Final = re.compile(r"""\\.|\$'(?:\\.|[^'\\])*'|'[^']*'|"(?:\\.|[^"\\])*\"""", re.DOTALL)
_OPENING: Final = re.compile(r"\$?'|\"")
# What has a meaning where no quotes are open, and in those that can be, be it in backquotes around the command only.
# In double quotes, a ! is of the history, with a backslash or without.
_MEANT: Final = {
    "": re.compile(r"[^\w@%+=:,./-]"),
    "'": re.compile(r"['`]"),
    '"': re.compile(r'["\\$`!]'),
}
# A backslash before these would go in backquotes around the command.
_ALONE: Final = {"\\": r"'\'", "$": "'$'", "`": r"$'\140'"}


class Bash(BashComplete):
    """click's, but for what it asks and how it answers."""

    source_template = _SCRIPT

    def complete(self) -> str:
        line, going = os.environ["COMP_LINE"], os.environ["COMP_WORD"]
        opening = _opening(line.removesuffix(going))
        if opening not in _MEANT:
            return ""
        (_, *args), word = _words(line)
        staying = word.removesuffix(_words(opening + going)[1])
        # click itself takes the option from before a = to complete what is behind it.
        option = word[: word.find("=") + 1] if word.startswith("--") else ""
        found = [(item.type, option + item.value) for item in self.get_completions(args, word)]
        return "\n".join(
            f"{kind},{_quoted(text.removeprefix(staying), opening)}"
            for kind, text in found
            if text.startswith(staying)
        )


def _quoted(text: str, opening: str) -> str:
    """A text as bash takes it for itself, behind the quotes that are open, if any are. It takes quotes at the start
    for these, so that they are there; and closes them itself, unless it finds some at the end."""
    inside = _MEANT[opening].sub(lambda found: opening + _alone(found[0]) + opening, text)
    return opening + inside + opening * inside.endswith(opening)


def _alone(character: str) -> str:
    return _ALONE.get(character, f"\\{character}")


def _opening(line: str) -> str:
    """The quotes that are open at the end of a line; empty if none are."""
    found = _OPENING.search(_CLOSED.sub(" ", line))
    return found[0] if found else ""


def _words(line: str) -> tuple[list[str], str]:
    """The complete words of a line, and the last, which may have nothing yet."""
    *words, last = split_arg_string(f"{line}.")
    return words, last[:-1]
