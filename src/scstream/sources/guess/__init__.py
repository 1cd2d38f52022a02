"""What a table is, from a look at its first rows: its encoding, its dialect, its columns.

The own scanner reads the rows (`scstream.core.scan`): it can start at any byte, which a
resume needs, and follows a file that grows. pyarrow's and polars' readers do neither. The tests
compare what it reads with the ``csv`` module and with pandas.
"""

from scstream.sources.guess.columns import columns_of_look as columns_of_look
from scstream.sources.guess.dialect import Dialect as Dialect
from scstream.sources.guess.dialect import guess_dialect as guess_dialect
from scstream.sources.guess.looks import Look as Look
from scstream.sources.guess.looks import Role as Role
