"""What an estimator shows of what it learned: clusters, groups, events, and its prior."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scstream import validation as check
from scstream.estimator.predicting import Predicting
from scstream.events import Event, Sight, events_of, group_events
from scstream.families import Family
from scstream.families.contract import Array
from scstream.groups.grouping import Grouping, records_of
from scstream.groups.lasting import Lasting
from scstream.groups.reading import group_probabilities, renamed
from scstream.groups.tree import Tree, check_groups
from scstream.records import BatchRecord, Cluster, Group
from scstream.support.arithmetic import numpy_defaults
from scstream.support.times import Moment


class Describing(Predicting):
    """The part of the estimator that people look at."""

    dates_: bool  # whether times are dates, once there was a batch
    _before: Sight | None = None  # the clusters before the last batch
    _seen: Array | None = None  # the least and the largest number (2, d) of each column

    # -- groups ---------------------------------------------------------------------------------

    @property
    @numpy_defaults
    def tree_(self) -> Tree:
        """The merges of clusters into groups, with heights: which clusters are parts of one whole.

        See docs/groups.md.
        """
        return self._groups_kept().tree(self._fitted(), self._rules, self._level)

    @property
    def groups_(self) -> list[Group]:
        """The groups at the default level, the lowest id first."""
        return self.groups()

    @numpy_defaults
    def groups(self, level: float | None = None, *, n: int | None = None) -> list[Group]:
        """Return the groups at a level, in [0, 1]: how deep a valley within a group may be.

        Or n groups, as far as there are that many clusters with recent rows. Ids persist from the
        first call with a level or an n. Each of them has its own ids.
        """
        return records_of(self._grouped(level, n), self.clusters_)

    @numpy_defaults
    def predict_group(self, X: Any, level: float | None = None, *, n: int | None = None) -> Any:
        """Return the id of the group of each row's cluster, -1 for outliers: (n,)."""
        groups = self._grouped(level, n).group
        return renamed(self.predict(X), groups)

    @numpy_defaults
    def predict_group_proba(
        self, X: Any, level: float | None = None, *, n: int | None = None
    ) -> Any:
        """Return the probability of each group for each row, (n, g), in the order of `groups`."""
        groups = self._grouped(level, n).group
        return group_probabilities(self.predict_proba(X), self._learner.state.ids, groups)

    def _groups_kept(self) -> Grouping:
        self._fitted()
        if "_grouping" not in self.__dict__:
            self._grouping = Grouping()
        return self._grouping

    def _grouped(self, level: float | None = None, n: int | None = None) -> Lasting:
        if level is not None and n is not None:
            raise ValueError("Give a level or a number of groups n, not both.")
        if n is not None:
            check_groups(n)
        asked = level if n is None else n
        level = self._level if asked is None else check.check_level(asked)
        return self._groups_kept().at(self._fitted(), self._rules, level)

    @property
    def _level(self) -> float:
        return self._rules.group_level if self.group_level is None else float(self.group_level)

    # -- the last batch -------------------------------------------------------------------------

    @property
    def n_batches_(self) -> int:
        """The number of batches seen, 0 before the first."""
        return self._learner.n_batches if hasattr(self, "_learner") else 0

    @property
    def time_(self) -> float:
        """The time of the last batch."""
        return self._fitted().time

    @property
    def history_(self) -> list[BatchRecord]:
        """What happened in the last batches."""
        self._fitted()
        return list(self._history)

    @property
    @numpy_defaults
    def events_(self) -> list[Event]:
        """What happened to clusters in the last batch."""
        learner = self._fitted()
        after = None if self._before is None else Sight.of(learner)
        found = events_of(self._history[-1], self._before, after, self._columns())
        return found + group_events(self._history[-1], self._groups_kept().changes(self._level))

    @property
    def _last_batch(self) -> Array:
        """Statistics of the last batch (k, 2, p); a model from bytes has them apart."""
        learner = self._fitted()
        here = self.__dict__.get("_last")
        current: Array = learner.state.now.current
        return here[1] if here is not None and here[0] is learner else current

    def _columns(self) -> Sequence[Any]:
        """Return the columns' names, or their numbers."""
        names = getattr(self, "feature_names_in_", None)
        return range(self.n_features_in_) if names is None else list(names)

    # -- clusters and prior ---------------------------------------------------------------------

    @property
    def n_clusters_(self) -> int:
        """The number of clusters."""
        return self._fitted().state.k

    @property
    @numpy_defaults
    def clusters_(self) -> list[Cluster]:
        """The clusters, usually the oldest ids first."""
        learner = self._fitted()
        state = learner.state
        return self._records(state.ids, state.totals, learner.shares, learner.latest, state.born)

    def _records(
        self, ids: NDArray[np.int64], totals: Array, share: Array, latest: Array, born: Array
    ) -> list[Cluster]:
        """Return clusters of these totals (k, p), or groups of clusters, as people read them."""
        learner = self._fitted()
        count = totals[:, 0] / learner.alike.weight
        posterior = learner.family.prior + totals
        parameters = learner.family.describe(posterior)
        names = self._columns()
        columns = learner.family.describe_columns(posterior, names, self._seen)
        moment = Moment if self.dates_ else float
        return [
            Cluster(
                id=int(ids[i]),
                weight=float(share[i]),
                count=float(count[i]),
                age=float(learner.time - born[i]),
                born=moment(born[i]),
                parameters={name: values[i] for name, values in parameters.items()},
                columns={name: columns[i][name] for name in names if name in columns[i]},
                rows=float(latest[i]),
            )
            for i in range(len(ids))
        ]

    @numpy_defaults
    def _wholes(self, group: Mapping[int, int]) -> list[Cluster]:
        """Return the groups of the listed clusters as if each was one cluster, by their ids."""
        learner, shown = self._fitted(), self._fitted().labelling
        state = learner.state
        ids, place = np.unique([group[i] for i in state.ids[shown].tolist()], return_inverse=True)
        member = (place == np.arange(len(ids))[:, None]).astype(np.float64)
        kept = state.totals, learner.shares, learner.latest[:-1]
        totals, share, latest = (member @ x[shown] for x in kept)
        born = np.where(member > 0, state.born[shown], np.inf).min(axis=1)
        return self._records(ids, totals, share, latest, born)

    @property
    def _listed(self) -> list[Cluster]:
        """The clusters that labelled some of the latest rows: those that people are shown."""
        shown = self._fitted().labelling
        return [c for c, one in zip(self.clusters_, shown.tolist(), strict=True) if one]

    @property
    def _latest(self) -> float:
        """How many rows shares are computed from."""
        return float(self._fitted().latest.sum())

    @property
    def family_(self) -> Family:
        """The family with its prior."""
        return self._fitted().family

    @property
    @numpy_defaults
    def prior_(self) -> dict[str, Any]:
        """The prior's hyper-parameters in the data's units."""
        return self.family_.hyperparameters()
