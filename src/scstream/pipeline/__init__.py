"""A stream in practice: a source, a model, outputs and checkpoints, run together.

Rows have an effect exactly once, on the model and in every output, however often the run is cut
off: a checkpoint holds the model, the place in the source and the lengths of the outputs, which
are on the disk before it is. After a crash everything goes back to it.
"""

from scstream.pipeline.assess import Assessment as Assessment
from scstream.pipeline.assess import assess as assess
from scstream.pipeline.assess import learner_of as learner_of
from scstream.pipeline.folder import CheckpointFolder as CheckpointFolder
from scstream.pipeline.folder import find_checkpoint as find_checkpoint
from scstream.pipeline.interrupt import Interrupt as Interrupt
from scstream.pipeline.loop import RunResult as RunResult
from scstream.pipeline.loop import needed as needed
from scstream.pipeline.loop import run as run
from scstream.pipeline.resume import Totals as Totals
