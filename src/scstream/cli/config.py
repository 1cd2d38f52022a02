"""Options of ``scstream run`` from a TOML file, and written to one."""

from __future__ import annotations

import argparse
import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from scstream.cli.errors import UsageError
from scstream.cli.files import check_apart
from scstream.cli.outputs import fields
from scstream.cli.values import listed
from scstream.support.atomic import whole_file
from scstream.support.messages import note
from scstream.support.paths import check_file

_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?(e-?[0-9]+)?")
_LISTS = (listed, fields)  # readers of options whose values stand between commas
_NOT_IN_FILES = ("config", "write_config", "help", "help_all")


def add_config(parser: Any) -> None:
    """Add the options that read and write a file of options."""
    group = parser.add_argument_group("options in a file")
    group.add_argument(
        "--config",
        metavar="FILE",
        help="a TOML file of options, such as batch-size = 500; the command line wins over it",
    )
    group.add_argument(
        "--write-config", metavar="FILE", help="write the options given to a TOML file, and stop"
    )


def with_config(
    parser: argparse.ArgumentParser, argv: Sequence[str]
) -> tuple[list[str], dict[str, Any]]:
    """Return a command line with the options of its file in it, and what else is known of it.

    Parameters
    ----------
    parser : ArgumentParser
        The parser of the command. It cannot be used again: its options lose their defaults.
    argv : sequence of str
        The command line without the command.
    """
    actions = {_key(a): a for a in parser._actions if a.dest not in _NOT_IN_FILES}
    types = {key: (action.type, action.choices) for key, action in actions.items()}
    for action in parser._actions:
        action.default, action.type, action.choices = argparse.SUPPRESS, None, None
        if not action.option_strings:  # the source, which the file may name
            action.required, action.nargs = False, "?" if action.nargs is None else "*"
    given, unknown = parser.parse_known_args(argv)
    for key, action in actions.items():
        action.type, action.choices = types[key]
    raw = vars(given)
    asked = {key: raw[action.dest] for key, action in actions.items() if action.dest in raw}
    if len(asked.get("source", ())) == 1:
        asked["source"] = asked["source"][0]
    more: dict[str, Any] = {name: raw[name] for name in ("config", "write_config") if name in raw}
    if "config" in more:
        found = _read(Path(more["config"]), parser, actions)
        for group in parser._mutually_exclusive_groups:
            either = {_key(action) for action in group._group_actions}
            if either & asked.keys():  # of which the command line has one
                found = {key: value for key, value in found.items() if key not in either}
        asked = found | asked
    more["logins"] = raw.get("logins", {})
    more["file"] = "".join(f"{k} = {_toml(actions[k], v)}\n" for k, v in asked.items())
    words = [word for key, value in asked.items() for word in _words(actions[key], value)]
    return [*words, *unknown], more


def write_config(args: argparse.Namespace) -> int:
    """Write the options of a command line to a file; return the exit status."""
    path = Path(args.write_config)
    check_apart({"--config": args.config}, {"--write-config": path})
    check_file(path, overwrite=args.overwrite)
    with whole_file(path) as part:
        part.write_text(args.file, encoding="utf-8")
    note(f"wrote {path}; to use it: scstream run --config {path}")
    return 0


def _key(action: argparse.Action) -> str:
    """Return what an option is called in a file."""
    return next((name[2:] for name in action.option_strings if name[:2] == "--"), action.dest)


def _read(
    path: Path, parser: argparse.ArgumentParser, actions: Mapping[str, argparse.Action]
) -> dict[str, Any]:
    """Return the options in a file, checked."""
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:  # of TOML, or not in UTF-8
        raise UsageError(f"{path} is not a TOML file: {error}") from None
    out = {}
    for name, value in found.items():
        key = name.replace("_", "-")
        if key not in actions:
            near = get_close_matches(key, actions, n=1)
            hint = f" Did you mean {near[0]}?" if near else ""
            raise UsageError(f"{path}: there is no option {name}.{hint}")
        action = actions[key]
        try:
            for text in _texts(action, value):
                parser._check_value(action, parser._get_value(action, text))
        except argparse.ArgumentError as error:
            raise UsageError(f"{path}: {name}: {error.message}.") from None
        except ValueError as error:
            raise UsageError(f"{path}: {name} takes {error}; got {value!r}.") from None
        out[key] = value
    return out


def _texts(action: argparse.Action, value: Any) -> list[str]:
    """Return a value as the words that the command line would have; none for a flag."""
    if isinstance(value, bool) and action.nargs in (0, "?"):
        return []
    if action.nargs == 0:
        raise ValueError("true or false")
    several = action.nargs in ("*", "+") or isinstance(action, argparse._AppendAction)
    texts = value if isinstance(value, list) and (several or action.type in _LISTS) else [value]
    if any(type(one) not in (str, int, float) for one in texts):
        raise ValueError("words or numbers" if several else "a word or a number")
    return [",".join(map(str, texts))] if action.type in _LISTS else [str(one) for one in texts]


def _words(action: argparse.Action, value: Any) -> Iterator[str]:
    """Yield an option with its value as words of a command line."""
    if not action.option_strings:
        yield from _texts(action, value)
        return
    option = f"--{_key(action)}"
    if value is True:
        yield option
    elif value is False:
        yield from [f"--no-{_key(action)}"][: isinstance(action, argparse.BooleanOptionalAction)]
    yield from (f"{option}={text}" for text in _texts(action, value))


def _toml(action: argparse.Action, value: Any) -> str:
    """Return a value in TOML: numbers as such where an option takes numbers."""
    if isinstance(value, list):
        return f"[{', '.join(_toml(action, one) for one in value)}]"
    number = action.type is not None and action.type not in _LISTS
    if isinstance(value, str) and number and _NUMBER.fullmatch(value):
        return value
    return json.dumps(value, ensure_ascii=False)
