"""Readers of brokers' streams in processes of their own, which die without a word."""

import multiprocessing
import os
import signal

# One process loads the package; readers are copies of it, which start at once.
_PROCESSES = multiprocessing.get_context("forkserver")
_PROCESSES.set_forkserver_preload(["scstream.pipeline", "scstream.model"])


def read_and_die(url, path):
    """Read in another process, which kills itself; return its status and the last row it used."""
    here, there = _PROCESSES.Pipe(duplex=False)
    reader = _PROCESSES.Process(target=_read, args=(url, str(path), there))
    reader.start()
    there.close()
    last = here.recv() if here.poll(120) else None
    reader.join(30)
    return reader.exitcode, last


def _read(url, path, told):
    """Read two batches, keep model and place, learn from a third, and die."""
    from scstream import ScStream
    from scstream.sources import SourceOptions, open_source

    model = ScStream(random_state=0)
    for i, batch in enumerate(open_source(url, SourceOptions(batch_size=50, follow=True))):
        model.partial_fit(batch.X)
        if i == 1:
            model.save(path, extra={"place": batch.place})
        if i == 2:
            told.send(batch.keys[-1])
            os.kill(os.getpid(), signal.SIGKILL)
