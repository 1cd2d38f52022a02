"""Texts without the users and passwords of the URLs in them."""

from __future__ import annotations

import re

_LOGIN = re.compile(r"(?<=://)[^\s'\"]*@")
# The same with a slash too few, or without a scheme: user:password@server.
_LIKE_A_LOGIN = re.compile(r"((?:[A-Za-z]+:?/+)?)[^\s'\"]*:[^\s'\"]*@")
# A path has no double slash.
_PATH_LIKE_A_URL = re.compile(r"\b((?:kafka|rediss?):/)[^\s'\"]*@")


def hidden(text: str) -> str:
    """Return a text without the users and passwords of the URLs in it.

    Rather too much is left out than too little: all up to the last @ of a URL.

    Examples
    --------
    >>> from scstream.support.secrets import hidden
    >>> hidden("no answer from redis://reader:secret@server:6379/rows")
    'no answer from redis://server:6379/rows'
    """
    text = _PATH_LIKE_A_URL.sub(r"\1", _LOGIN.sub("", text))
    return _LIKE_A_LOGIN.sub(r"\1", text)


def hidden_url(url: str) -> str:
    """Return a URL without user and password, whatever characters these hold."""
    before, mark, rest = url.partition("://")
    return before + mark + rest.rpartition("@")[2]
