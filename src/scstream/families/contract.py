"""The contract of a family, and everything that follows from it for any family."""

from __future__ import annotations

import copy
import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from scstream.families import rounding
from scstream.families.cutting import CERTAIN as CERTAIN
from scstream.families.cutting import Projection, Side, first_side, log_odds
from scstream.families.gaps import NO_ROWS, Completion, observed_scores
from scstream.families.saved import checked
from scstream.families.scores import GenericScore, LinearScore, Points, Score, to_dense
from scstream.families.taming import Frames
from scstream.support.memory import for_kernels

Array = NDArray[np.float64]


class GaussianPrior(NamedTuple):
    """A Gaussian prior as the numbers that compiled steps take."""

    row: Array  # (p,): the prior's tau
    more: float  # nu - kappa
    log_normaliser: float
    columns: int


class StudentPrior(NamedTuple):
    """The prior of clusters of tamed rows, and how heavy tails are."""

    gaussian: GaussianPrior
    tails: tuple[float, Array, float, float]  # see `scstream.families.taming.tails_of`


class Block(NamedTuple):
    """Columns of a table that are independent of the others within a cluster, and their family."""

    family: Family
    columns: Sequence[int]  # their places in the table


class Boundary(NamedTuple):
    """What separates two groups: a discriminant, and the log odds (k,) of the first group."""

    discriminant: Any
    log_odds: Array


class Family(ABC):
    """A conjugate exponential family together with its prior.

    A point enters the sampler as its statistics ``T(x)``, a vector of length ``p`` whose first
    entry is 1, so that a sum of them carries its own count. A cluster is such a sum ``s``, and
    its posterior is ``tau = prior + s``. Log densities under drawn parameters are
    ``T(x) @ eta``, where ``eta[0]`` holds minus the log-normaliser.

    A family as the user makes it may leave hyper-parameters open; `prepare` returns a copy that
    has them all. The methods that compute need such a copy. A new family gives the abstract
    methods; the rest follows from them and may be overridden by something faster or finer.
    ``scstream.families.check_family`` tests whether what it gives fits together.

    Attributes
    ----------
    name : str
        What the family is called.
    missing : bool
        Whether NaN is accepted as missing: it adds nothing to the statistics.
    completes : bool
        Whether the statistics of a missing entry are NaN instead, and are completed once the row
        has a label, see `completion`.
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
    tames : bool
        Whether rows enter statistics tamed, see `scstream.families.taming`: they then depend on
        the label, and `part_score` and `label_score` are other scores than those of rows.
    kept : dict
        What a checkpoint saves of a prepared copy beyond the constructor's arguments: names of
        attributes and their forms, see `scstream.families.saved`.
    alone : bool
        False in a `Product`, where other columns separate clusters too.
    """

    name: ClassVar[str]
    missing: ClassVar[bool] = False
    completes: ClassVar[bool] = False
    sparse: ClassVar[bool] = False
    positive_only: ClassVar[bool] = False
    tabular: ClassVar[bool] = False
    text: ClassVar[bool] = False
    real: ClassVar[bool] = False
    tames: ClassVar[bool] = False
    kept: ClassVar[Mapping[str, str]] = {}

    alone: bool = True

    def __repr__(self) -> str:
        given = ((k, getattr(self, k)) for k in _parameters(self))
        parts = ", ".join(f"{k}={v!r}" for k, v in given if v is not None)
        return f"{type(self).__name__}({parts})"

    # -- set-up ---------------------------------------------------------------------------------

    def meet(self, X: Points, before: Family | None) -> Family:
        """Return a copy that knows the words of a new batch, such as its categories.

        Called with every batch as it came, before `check`. ``before`` is the family that has
        learned from the batches so far, None if there were none.
        """
        return self

    def check(self, X: Points) -> Points:
        """Return numeric rows in the form that the family uses, or raise `ValueError`."""
        rows: Points = for_kernels(np.ascontiguousarray(X, dtype=np.float64))
        return rows

    def refusal(self, x: Array) -> str | None:
        """Return what is wrong with the numbers of a column, None if nothing is.

        Called for each column of a data frame, whose name goes before it in the error.
        """
        return None

    def prepare(self, X: Points) -> Self:
        """Return a copy whose prior and frame of reference are set, from ``X`` if they are open."""
        return copy.copy(self)

    def adapt(self, clusters: Array) -> Self:
        """Return a copy whose open hyper-parameters suit the given clusters (k, p).

        Called while the first batch converges. A family whose prior is given returns itself.
        """
        return self

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

    def with_tails(self, X: Points, totals: Array, memory: float, *, first: bool = False) -> Self:
        """Return a copy whose tails suit checked rows of clusters (k, p), if it learns them.

        Called for families that tame rows. What was known before counts as so many rows; what is
        usual does where these are the ``first``.
        """
        return self

    def started_again(self, learned: Family) -> Self | None:
        """Return a better copy with which the first batch should start again.

        The argument is what this copy became in that batch. None, as here, if that is not needed.
        """
        return None

    def has_heavy_tails(self) -> bool:
        """Whether tails are so heavy that clusters reach each other at any distance."""
        return False

    def tails_differ(self, before: Family) -> bool:
        """Whether the tails clearly differ from those before."""
        return False

    def alike(self) -> Self:
        """Return a copy that adapts to clusters of one common shape, for few points."""
        return self

    def settled(self, k: int) -> Self:
        """Return the copy for the rest of the stream, from a first batch with k clusters."""
        return self

    def enough_rows(self, d: int) -> int:
        """Return how many rows of d columns set the prior for good."""
        return max(20, 4 * d)

    # -- checkpoints ----------------------------------------------------------------------------

    def to_saved(self) -> dict[str, Any]:
        """Return what a prepared copy knows: numbers, text, lists, arrays, families by name.

        Empty for a family that is not prepared. What follows from the rest is left out.
        """
        mine = vars(self)
        return {name: mine[name] for name in self.kept if name in mine}

    def from_saved(self, saved: Mapping[str, Any]) -> Self:
        """Return the prepared copy that `to_saved` describes, or raise `ValueError`.

        Called on a family as its constructor makes it. The values come from a file: they are
        checked before use.
        """
        new = copy.copy(self)
        vars(new).update(checked(saved, self.kept))
        return new.remade()

    def check_given(self) -> None:
        """Raise `ValueError` if the constructor's arguments, perhaps from a file, are invalid."""
        return

    def remade(self) -> Self:
        """Return a copy with everything that follows from the saved attributes."""
        return self

    # -- rows -----------------------------------------------------------------------------------

    @property
    def cell_widths(self) -> Array:
        """Widths (d,) of the cells that numbers of coarse columns stand for; 0 for others."""
        return np.zeros(0)

    def is_coarse(self) -> bool:
        """Whether the numbers of some column stand for cells, see `unrounded`."""
        widths = self.cell_widths
        return len(widths) > 0 and bool(widths.any())

    def unrounded(self, X: Points, batch: int, first_row: int = 0) -> Points:
        """Return checked rows with each number of a coarse column moved to a place near its cell.

        The places depend on nothing but the numbers of the batch and of the rows, of which the
        first one's is given.
        """
        return rounding.unrounded(X, self.cell_widths, batch, first_row)

    def again(self, before: Family) -> Self:
        """Return a copy to be prepared like an earlier one, from its rows and further ones."""
        return self

    @property
    def narrows(self) -> bool:
        """Whether rows of many columns are described by a few coordinates."""
        return False

    def narrowed(self, X: Points) -> Points:
        """Return checked rows by the coordinates that engines are given; once is enough."""
        return X

    def turned(self, X: Points, past: float) -> tuple[Self, Callable[[Array], Array] | None]:
        """Return a copy whose coordinates describe some further rows too, beside ``past`` others.

        Also returns what carries statistics (..., p) over to them, None if they stay the same.
        """
        return self, None

    def columns_taken(self) -> int | None:
        """Return how many columns checked rows have, None if the family does not know."""
        return None

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

    def split_posterior(self, tau: Array) -> list[Array]:
        """Return the posteriors (..., p) of each block of `independent_blocks`."""
        return [tau]

    @property
    def quadratic_rows(self) -> bool:
        """Whether ``T(x)`` is ``(1, z, upper triangle of z z')``, z being x in the `frame`.

        Engines may then compute it themselves, and take rows that are on a device already.
        """
        return False

    def small_gaussian(self) -> GaussianPrior | None:
        """Return the prior for the compiled steps on small Gaussian batches.

        None where a family is not a plain Gaussian, whose methods those steps replace. How many
        columns they take is a rule of the sampler, which looks at `GaussianPrior.columns`.
        """
        return None

    def small_student(self) -> StudentPrior | None:
        """Return the same for the compiled steps on small batches of Student-t clusters."""
        return None

    @property
    def frame(self) -> tuple[Array, Array]:
        """Centre and scale of the columns in which the family computes: by default 0 and 1.

        (d,) each, or (1,) where all columns have the same.
        """
        return np.zeros(1), np.ones(1)

    def reframed(self, sums: Array, before: Family) -> Array | None:
        """Return statistics (m, p) that ``before`` summed up as this family sums them up.

        None, as here, if it cannot: clusters from before are then not recognised.
        """
        return None

    def sound(self, X: Points) -> bool:
        """Whether rows have the form that `check` returns."""
        if not isinstance(X, np.ndarray):
            return False
        return bool(np.all(np.isfinite(X) | (np.isnan(X) & self.missing)))

    # -- missing entries that are completed -----------------------------------------------------

    def gaps(self, X: Points) -> NDArray[np.int64]:
        """Return the checked rows whose statistics have gaps (NaN), in ascending order."""
        return NO_ROWS

    def completed_rows(self, X: Points) -> NDArray[np.int64]:
        """Return the checked rows whose statistics depend on their labels, in ascending order.

        Those with gaps; all of them in a family that tames rows, see `scstream.families.taming`.
        """
        return self.gaps(X)

    def filled(self, X: Points) -> Points:
        """Return checked rows with a first guess in place of such gaps, for seeding."""
        return X

    def completion(self, score: Score) -> Completion:
        """Return what scores rows with gaps as ``score`` does others, and completes them."""
        raise NotImplementedError(
            f"{type(self).__name__} does not support missing values in its statistics."
        )

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

    def describe_columns(self, tau: Array, names: Sequence[Any]) -> list[dict[Any, Any]]:
        """Return for each cluster what is known of each of the data's columns, by its name."""
        described = self.describe(tau)
        d = len(names)
        by_column = {key: value for key, value in described.items() if value.shape[1:] == (d,)}
        if "covariance" in described:
            by_column["variance"] = np.diagonal(described["covariance"], axis1=1, axis2=2)
        keys, k = list(by_column), len(tau)
        table = np.stack([np.zeros((k, d)), *by_column.values()], axis=-1)[..., 1:].tolist()
        return [
            {name: dict(zip(keys, row, strict=True)) for name, row in zip(names, rows, strict=True)}
            for rows in table
        ]

    def hyperparameters(self) -> dict[str, Any]:
        """Return the prior's hyper-parameters in the user's terms and units."""
        return {name: getattr(self, name) for name in _parameters(self)}

    def example(self, rng: np.random.Generator) -> tuple[Any, Any]:
        """Return rows to try the family on: two groups, of 12 and of 18, clearly apart."""
        raise NotImplementedError(f"{type(self).__name__} has no example: give rows of your own")

    # -- what follows ---------------------------------------------------------------------------

    def embed(self, X: Points) -> Array:
        """Return points (n, q) of a Euclidean space in which near means alike, for seeding."""
        return to_dense(self.statistics(X))[:, 1:]

    def quadratic_frame(self) -> tuple[Array, Array] | None:
        """Return the shift and scale (d,) of rows whose statistics are ``(1, z, z z')``, if so.

        That is of ``z = (x - shift) / scale``. Products with such statistics then bend down, and
        those that are in the logarithm of a Student-t density bend up: engines may rely on it.
        """
        return None

    def log_marginal(self, s: Array) -> Array:
        """Return the log marginal likelihood of clusters ``s`` (..., p), base measure aside."""
        return self.log_partition(self.prior + s) - self.log_partition(self.prior)

    def log_predictive(self, X: Points, s: Array) -> Array:
        """Return the log predictive density of each row under each cluster ``s`` (k, p): (n, k)."""
        score = self.predictive_score(s, np.zeros(len(s)))
        return observed_scores(self, score, X) + self.log_base(X)[:, None]

    def sampled_score(self, rng: np.random.Generator, s: Array, log_weight: Array) -> LinearScore:
        """Score points by parameters drawn from the posteriors of ``s`` (k, p)."""
        eta = self.draw(rng, self.prior + s)
        eta[:, 0] += log_weight
        return LinearScore(eta)

    def predictive_score(self, s: Array, log_weight: Array) -> Score:
        """Score points by the posterior predictives of ``s`` (k, p), base measure aside."""
        return GenericScore(self.log_partition, self.prior + s, log_weight)

    def part_score(self, s: Array, log_weight: Array) -> Score:
        """Score rows as statistics hold them by the predictives of ``s`` (k, p): sub-clusters.

        This is the ratio of partitions. `predictive_score` is the density of rows as they came,
        which is another one in a family that tames rows.
        """
        return self.predictive_score(s, log_weight)

    def label_score(self, score: LinearScore, s: Array) -> Score:
        """Return the score of rows as they came, for parameters drawn from ``s`` (k, p)."""
        return score

    def frames(self, s: Array) -> Frames:
        """Return the frames of clusters (k, p), in a family that tames rows."""
        raise NotImplementedError(f"{type(self).__name__} does not tame rows.")

    def needs_members(self, attempt: NDArray[np.int64]) -> bool:
        """Whether `directions` looks at the members, given how often each was tried (k,)."""
        return True

    def directions(self, s: Array, member: Array, attempt: NDArray[np.int64]) -> Array:
        """Return functionals (k, p) of ``T`` whose sign proposes a division of each cluster.

        Parameters
        ----------
        s : ndarray (k, p)
            The clusters' statistics of this batch.
        member : ndarray (k, p)
            The statistics of one random point of each.
        attempt : ndarray (k,)
            How often each was tried before, for families that have several proposals.
        """
        mean = s / np.maximum(s[:, :1], 1e-300)
        spread = np.abs(mean) + 1e-12
        return _through(mean, (member - mean) / spread)

    def discriminant(self, first: Array, second: Array) -> Any:
        """Return the log ratio of the densities of the second group and the first, (k, p) each.

        It is a function of a point, in the form that `project` and `cut` take. The sizes of the
        groups do not matter. None if the family has no discriminant.
        """
        return None

    def project(self, past: Array, discriminant: Any) -> Projection:
        """Return the discriminant's mean and variance (..., k) over the past (..., k, p)."""
        return Projection(np.zeros(past.shape[:-1]), np.zeros(past.shape[:-1]))

    def cut(self, past: Array, discriminant: Any, side: Side) -> Array:
        """Return the part of the past (..., k, p) on a side: by default a share of everything."""
        out: Array = past * side.share[..., None]
        return out

    def boundary(self, first: Array, second: Array) -> Any:
        """Return what separates two groups with statistics (k, p) each, for `divide`."""
        return Boundary(self.discriminant(first, second), log_odds(first, second))

    def divide(self, past: Array, boundary: Any) -> Array:
        """Return the part of ``past`` (..., k, p) on the first side of the boundary.

        The rest belongs to the other side: the two parts add up to the whole. The discriminant is
        assumed to be normal over the past. Without one the past is divided in proportion to the two
        groups' present counts.
        """
        side = first_side(boundary.log_odds, self.project(past, boundary.discriminant))
        return self.cut(past, boundary.discriminant, side)


def _parameters(family: Family) -> list[str]:
    """Return the names of what the family's constructor takes."""
    return list(inspect.signature(type(family)).parameters)


def _through(mean: Array, normal: Array) -> Array:
    """Return the functionals (k, p) with the given normals that vanish at the means (k, p)."""
    out = normal.copy()
    out[:, 0] = -(normal[:, 1:] * mean[:, 1:]).sum(axis=1)
    return out
