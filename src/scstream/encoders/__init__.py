"""Encoders: columns of a table in another form, in which clusters are simpler, and back.

Each is a transformer of scikit-learn, too.
"""

from scstream.encoders.amounts import ScaleEncoder as ScaleEncoder
from scstream.encoders.base import Encoder as Encoder
from scstream.encoders.count_shares import CountSharesEncoder as CountSharesEncoder
from scstream.encoders.flags import FlagsEncoder as FlagsEncoder
from scstream.encoders.hurdle import HurdleEncoder as HurdleEncoder
from scstream.encoders.shares import SharesEncoder as SharesEncoder
