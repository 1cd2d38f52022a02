"""The contract of a family, and everything that follows from it for any family."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from scstream.encoders.rounding import Rounding, StepRounding
from scstream.families.division import Division
from scstream.families.gaps import Imputation, observed_scores
from scstream.families.how_many import MOST
from scstream.families.row_forms import RowForms
from scstream.families.saved import Saved
from scstream.families.scale_mixture import row_score
from scstream.families.scores import GenericScore, Labels, LinearScore, Points, Score, to_dense
from scstream.families.typical import by_column

if TYPE_CHECKING:
    from scstream.families.bursts import CountTrials
    from scstream.families.heavy_tails import Tails
    from scstream.families.subspace import Subspace

Array = NDArray[np.float64]


class GaussianPrior(NamedTuple):
    """A Gaussian prior as the numbers that steps of the core take."""

    row: Array  # (p,): the prior's tau
    more: float  # nu - kappa
    log_normaliser: float
    columns: int


class Block(NamedTuple):
    """Columns of a table that are independent of the others within a cluster, and their family."""

    family: Family
    columns: Sequence[int]  # their places in the table
    rows: slice = slice(None)  # the columns of checked rows that are its own
    part: slice | None = None  # of statistics, behind the count; None for all of them

    def statistics(self, s: Array) -> Array:
        """Return the block's part of statistics (..., p), the count in front."""
        return s if self.part is None else np.concatenate([s[..., :1], s[..., self.part]], axis=-1)

    def posterior(self, tau: Array) -> Array:
        """Return the block's part of posteriors (..., p)."""
        if self.part is None:
            return tau
        out = self.statistics(tau)
        out[..., 0] += self.family.prior[0]
        return out


class Family(Saved, RowForms, ABC):
    """A conjugate exponential family together with its prior.

    A point enters the sampler as its statistics ``T(x)``, a vector of length ``p`` whose first
    entry is 1, so that a sum of them carries its own count. A cluster is such a sum ``s``, and
    its posterior is ``tau = prior + s``. Log densities under drawn parameters are
    ``T(x) @ eta``, where ``eta[0]`` holds minus the log-normaliser.

    A family as the user makes it may leave hyper-parameters open; `prepare` returns a copy that
    has them all. The methods that compute need such a copy. A new family gives the abstract
    methods; the rest follows from them and may be overridden by something faster or finer. What is
    about rows, checkpoints and the division of clusters is in the classes above this one.
    ``scstream.families.check_family`` tests whether what it gives fits together.

    Attributes
    ----------
    name : str
        What the family is called.
    missing : bool
        Whether NaN is accepted as missing: it adds nothing to the statistics.
    imputation : Imputation or None
        For statistics of missing entries that are NaN instead, completed once the row has a label.
    sparse : bool
        Whether rows may be sparse (CSR).
    positive_only : bool
        Whether negative numbers are refused.
    tabular : bool
        Whether `check` is given a table's columns as they are, text included, see
        `scstream.families.columns.Columns`, rather than a matrix of numbers.
    text : bool
        Whether columns may hold words.
    real : bool
        Whether columns are real numbers in which clusters are dense places.
    tails : Tails or None
        The heavy tails of clusters, see `scstream.families.scale_mixture`: statistics are then of
        rows with weights that depend on their labels.
    kept : dict
        What a checkpoint saves of a prepared copy beyond the constructor's arguments: names of
        attributes and their forms, see `scstream.families.saved`.
    alone : bool
        False in a `Product`, where other columns separate clusters too.
    most_directions : int
        By which rows of many columns may be described, see `scstream.families.subspace`.
    """

    name: ClassVar[str]
    alone: bool = True
    most_directions: int = MOST

    # -- set-up ---------------------------------------------------------------------------------

    def meet(self, X: Points, before: Family | None) -> Family:
        """Return a copy that knows the words of a new batch, such as its categories.

        Called with every batch as it came, before `check`. ``before`` is the family that has
        learned from the batches so far, None if there were none.
        """
        return self

    def prepare(self, X: Points) -> Self:
        """Return a copy whose prior and frame of reference are set, from ``X`` if they are open."""
        return copy.copy(self)

    def adapt(self, clusters: Array) -> Self:
        """Return a copy whose open hyper-parameters suit the given clusters (k, p).

        Called while the first batch converges. A family whose prior is given returns itself.
        """
        return self

    @property
    def prior_trials(self) -> CountTrials | None:
        """Priors that are tried on some rows of a first batch, None if there are none."""
        return None

    def follow(self, clusters: Array, latest: Array) -> Self:
        """Return a copy whose open hyper-parameters follow the clusters as they are now.

        Parameters
        ----------
        clusters : ndarray (k, p)
            Their statistics, the past included.
        latest : ndarray (k, p)
            Those of the batch that was just learned alone.
        """
        return self

    def alike(self) -> Self:
        """Return a copy that adapts to clusters of one common shape, for few points."""
        return self

    def simplified(self, on: bool) -> Self:
        """Return a copy by which clusters are told apart more simply, or one as it is in full.

        A first batch converges with the former, then with the latter: groups of few rows look
        denser than clusters are, and entries that rows lack like clusters of their own. Returns
        itself where that makes no difference.
        """
        return self

    def settled(self, k: int) -> Self:
        """Return the copy for the rest of the stream, from a first batch with k clusters."""
        return self

    def enough_rows(self, d: int) -> int:
        """Return how many rows of d columns set the prior for good."""
        return max(20, 4 * d)

    # -- what the sampler asks ------------------------------------------------------------------

    def is_faint(self) -> bool:
        """Whether rows say little about clusters: these are mixed at first, and purer in time.

        Clusters then stay apart that predict a batch better so, see `split_merge.better_apart`.
        """
        return False

    def points_for_a_shape(self) -> int:
        """Return how many points a cluster needs to show its shape, 0 if that does not matter.

        A later batch with fewer for each cluster founds clusters on trial.
        """
        return 0

    def independent_blocks(self, d: int) -> list[Block]:
        """Return the independent blocks of a table with d columns: one, except for `Product`.

        Columns in no block are left out.
        """
        return [Block(self, range(d))]

    @property
    def imputation(self) -> Imputation | None:
        """How missing entries are completed given a label; None if they are not observed."""
        return None

    @property
    def rounding(self) -> Rounding | None:
        """How numbers that stand for cells are spread over these; None if there are none."""
        return StepRounding(self._step) if self._step.any() else None

    @property
    def space(self) -> Subspace | None:
        """The directions by which rows of many columns are described; None if by all columns."""
        return None

    @property
    def division(self) -> Division:
        """How clusters are divided."""
        return Division()

    @property
    def tails(self) -> Tails | None:
        """The tails of clusters, None for a family without."""
        return None

    @property
    def weighs_rows(self) -> bool:
        """Whether statistics are of rows with weights, see `scstream.families.scale_mixture`."""
        return self.tails is not None and self.tails.active

    def small_gaussian(self) -> GaussianPrior | None:
        """Return the prior for steps that the core takes with Gaussian clusters of few columns.

        None where a family is not a plain Gaussian, whose methods those steps replace.
        """
        return None

    def aware_of(self, other: Family) -> Self:
        """Return a copy that also knows the words that another family of the kind has met."""
        return self

    def reframed(self, sums: Array, before: Family) -> Array | None:
        """Return statistics (m, p) that ``before`` summed up as this family sums them up.

        None, as here, if it cannot: clusters from before are then not recognised.
        """
        return None

    def difference(self, before: Family) -> str:
        """Return why `reframed` cannot, for the user."""
        return "their columns, categories or directions differ"

    # -- the family proper ----------------------------------------------------------------------

    @abstractmethod
    def statistics(self, X: Points) -> Points:
        """Return ``T(x)`` of each row, (n, p); the first column is 1."""

    @abstractmethod
    def log_base(self, X: Points) -> Array:
        """Return ``log h(x)`` of each row, (n,)."""

    @property
    @abstractmethod
    def prior(self) -> Array:
        """The prior's ``tau`` (p,); its first entry is the prior's pseudo-count."""

    @abstractmethod
    def log_partition(self, tau: Array) -> Array:
        """Return the log-normaliser of the conjugate density at ``tau``, (..., p) -> (...)."""

    @abstractmethod
    def draw(self, rng: np.random.Generator, tau: Array) -> Array:
        """Draw natural parameters ``eta`` (k, p) from the posteriors at ``tau`` (k, p)."""

    # -- how it shows itself --------------------------------------------------------------------

    def describe(self, tau: Array) -> dict[str, Array]:
        """Return the posteriors' parameters in the user's terms and units, (k, ...) each."""
        return {"statistics": tau / np.maximum(tau[:, :1], 1e-300)}

    def describe_columns(
        self, tau: Array, names: Sequence[Any], seen: Array | None = None
    ) -> list[dict[Any, Any]]:
        """Return for each cluster what is known of each of the data's columns, by its name.

        ``seen`` (2, d) holds the least and the largest number of each column, NaN if it has none.
        """
        return by_column(self.describe(tau), names, seen)

    # -- what follows ---------------------------------------------------------------------------

    def embed(self, X: Points) -> Array:
        """Return points (n, q) of a Euclidean space in which near means alike, for seeding."""
        return to_dense(self.statistics(X))[:, 1:]

    def log_marginal(self, s: Array) -> Array:
        """Return the log marginal likelihood of clusters ``s`` (..., p), base measure aside."""
        return self.log_partition(self.prior + s) - self.log_partition(self.prior)

    def joined_log_marginal(self, s: Array, a: Labels, b: Labels) -> Array:
        """Return the log marginals (m,) of pairs of clusters (k, p) taken together."""
        return self.log_marginal(s[a] + s[b])

    def log_predictive(self, X: Points, s: Array) -> Array:
        """Return the log predictive density of each row under each cluster ``s`` (k, p): (n, k)."""
        score = row_score(self, s, np.zeros(len(s)))
        return observed_scores(self, score, X) + self.log_base(X)[:, None]

    def sampled_score(self, rng: np.random.Generator, s: Array, log_weight: Array) -> LinearScore:
        """Score points by parameters drawn from the posteriors of ``s`` (k, p)."""
        eta = self.draw(rng, self.prior + s)
        eta[:, 0] += log_weight
        return LinearScore(eta)

    def predictive_score(self, s: Array, log_weight: Array) -> Score:
        """Score points by the posterior predictives of ``s`` (k, p), base measure aside."""
        return GenericScore(self.log_partition, self.prior + s, log_weight)
