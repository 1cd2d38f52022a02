"""Errors of the command line."""


class UsageError(Exception):
    """The command was used in a way that cannot be; the message says what to do instead."""
