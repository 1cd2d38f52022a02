"""Errors of the command line."""


class UsageError(Exception):
    """The command was used wrongly; the message says what to do instead."""
