"""What the package says goes through logging, and a command prints it."""

import logging

import pytest

from scstream.support.messages import logger, note, printed, warn


def test_notes_are_quiet_unless_someone_listens_or_asks(capsys, caplog):
    note("nothing")
    assert capsys.readouterr().err == ""
    note("asked for", shown=True)
    assert capsys.readouterr().err == "scstream: asked for\n"
    caplog.set_level(logging.INFO, logger="scstream")
    note("logged", shown=True)
    assert caplog.messages == ["scstream: logged"]
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("quiet", [False, True])
def test_a_command_prints_messages(quiet, capsys):
    before = (logger.level, logger.propagate, list(logger.handlers))
    with printed(quiet=quiet):
        note("a note")
        warn("a warning")
    told = capsys.readouterr().err.splitlines()
    assert told == ["scstream: a warning"] if quiet else ["scstream: a note", "scstream: a warning"]
    assert (logger.level, logger.propagate, list(logger.handlers)) == before


def test_warnings_can_be_silenced(caplog):
    logger.setLevel(logging.ERROR)
    try:
        warn("nothing")
    finally:
        logger.setLevel(logging.NOTSET)
    assert caplog.messages == []
