"""``scstream completion``: what a shell needs to complete commands and options."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

from scstream.cli.values import add_command

_EPILOG = """\
examples:
  scstream completion bash > ~/.local/share/bash-completion/completions/scstream
  scstream completion fish > ~/.config/fish/completions/scstream.fish
  scstream completion zsh > ~/.scstream-completion    # and in ~/.zshrc: source this file
"""
_ZSH = "autoload -U +X compinit && compinit\nautoload -U +X bashcompinit && bashcompinit\n"
_BASH = """\
_scstream() {{
    local cur="${{COMP_WORDS[COMP_CWORD]}}" words=""
    case "${{COMP_CWORD}} ${{COMP_WORDS[1]}} ${{COMP_WORDS[COMP_CWORD-1]}} $cur" in
        "1 "*) words="{commands}" ;;
{cases}
    esac
    COMPREPLY=($(compgen -W "$words" -- "$cur"))
}}
complete -o default -F _scstream scstream
"""


def add_parser(subparsers: Any) -> None:
    """Add the command."""
    parser = add_command(
        subparsers,
        "completion",
        main,
        "Print a script with which a shell completes commands, options and their values.",
        _EPILOG,
    )
    parser.add_argument("shell", choices=("bash", "zsh", "fish"), help="the shell")


def main(args: argparse.Namespace) -> int:
    """Print the script."""
    from scstream.cli import COMMANDS, command_of, make_parser

    options = {name: _options(command_of(make_parser(name), name)) for name in COMMANDS}
    if args.shell == "fish":
        print("\n".join(_fish(COMMANDS, options)))
        return 0
    cases = "\n".join(line for name, found in options.items() for line in _cases(name, found))
    script = _BASH.format(commands=" ".join(COMMANDS), cases=cases)
    print(f"{_ZSH if args.shell == 'zsh' else ''}{script}", end="")
    return 0


def _options(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    return [action for action in parser._actions if action.help != argparse.SUPPRESS]


def _cases(command: str, actions: list[argparse.Action]) -> Iterator[str]:
    """Yield what bash offers after a command: the values of the option before, else options."""
    names = " ".join(name for action in actions for name in action.option_strings)
    by_values: dict[str, list[str]] = {}
    for action in actions:
        if action.option_strings and action.nargs != 0:
            by_values.setdefault(_values(action), []).extend(action.option_strings)
    for values, options in by_values.items():  # without values bash offers files
        where = "|".join(f'*" {command} {option} "*' for option in options)
        yield f'        {where}) words="{values}" ;;'
    yield f'        *" {command} "*" -"*) words="{names}" ;;'
    free = " ".join(_values(action) for action in actions if not action.option_strings)
    yield f'        *" {command} "*) words="{free.strip()}" ;;'


def _values(action: argparse.Action) -> str:
    return " ".join(map(str, action.choices or ()))


def _fish(commands: dict[str, str], options: dict[str, list[argparse.Action]]) -> Iterator[str]:
    """Yield the lines for fish."""
    for name, about in commands.items():
        yield f"complete -c scstream -n __fish_use_subcommand -f -a {name} -d {_quoted(about)}"
    for name, actions in options.items():
        start = f"complete -c scstream -n '__fish_seen_subcommand_from {name}'"
        for action in actions:
            choices = f" -x -a {_quoted(_values(action))}" if action.choices else ""
            takes = "" if action.nargs == 0 else choices or " -r"
            about = _quoted((action.help or "").partition(";")[0].partition(". ")[0])
            if not action.option_strings:
                yield f"{start}{choices or ' -F'}"
                continue
            names = (
                f"-l {n[2:]}" if n[:2] == "--" else f"-s {n[1:]}" for n in action.option_strings
            )
            yield f"{start} {' '.join(names)}{takes} -d {about}"


def _quoted(text: str) -> str:
    """Return a text as fish takes it."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
