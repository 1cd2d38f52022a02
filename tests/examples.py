"""Rows to try each family on, by its name: two groups, of 12 and of 18, clearly apart."""

import numpy as np


def example(name, seed=12):
    """Return the rows of two groups for the family of that name."""
    rng = seed if isinstance(seed, np.random.Generator) else np.random.default_rng(seed)
    return EXAMPLES[name](rng)


def example_rows(name, seed=12):
    """Return the rows of both groups, one below the other."""
    return np.concatenate(example(name, seed))


def changed(saved, change):
    """Return what is saved of an encoded family, some of it changed."""
    own = {name: value for name, value in change.items() if name == "_families"}
    encoder = {name: value for name, value in change.items() if name not in own}
    return {**saved, **own, "encoder": {**saved["encoder"], **encoder}}


def gaussian(rng):
    mix = np.array([[1.0, 0.8], [0.0, 0.6]])
    return rng.normal(size=(12, 2)) @ mix, rng.normal(size=(18, 2)) @ mix + 6.0


def diagonal(rng):
    groups = rng.normal(size=(12, 3)), rng.normal(size=(18, 3)) + 6.0
    for group in groups:
        group *= [0.01, 50.0, 1.0]
        group[3, 0] = group[5, 1] = np.nan
    return groups


def _heavy(rng, d):
    return rng.normal(size=(30, d)) / np.sqrt(rng.chisquare(4.0, size=(30, 1)) / 4.0)


def student(rng):
    rows = _heavy(rng, 2) @ np.array([[1.0, 0.8], [0.0, 0.6]])
    return rows[:12], rows[12:] + 9.0


def diagonal_student(rng):
    rows = _heavy(rng, 3) * np.array([0.01, 50.0, 1.0])
    return rows[:12], rows[12:] + 9.0 * np.array([0.01, 50.0, 1.0])


def directional(rng):
    centre = np.eye(6)[:2] + 0.3
    a, b = (centre[i] + 0.15 * rng.normal(size=(n, 6)) for i, n in enumerate((12, 18)))
    return a, b


def multinomial(rng):
    p, n = np.array([0.1, 0.2, 0.3, 0.4]), rng.poisson(40, 30)
    a, b = rng.multinomial(n[:12], p), rng.multinomial(n[12:], p[::-1])
    return a.astype(float), b.astype(float)


def _with_gaps(a, b):
    groups = np.array(a, dtype=float), np.array(b, dtype=float)
    groups[0][3, 0] = groups[1][5, 1] = np.nan
    return groups


def poisson(rng):
    return _with_gaps(rng.poisson([2.0, 30.0], (12, 2)), rng.poisson([20.0, 5.0], (18, 2)))


def negative_binomial(rng):
    return _with_gaps(
        *(
            rng.poisson(rng.gamma(4.0, 0.25, (n, 12)) * np.repeat(rates, 6))
            for n, rates in ((12, [2.0, 60.0]), (18, [60.0, 2.0]))
        )
    )


def bernoulli(rng):
    return _with_gaps(rng.random((12, 12)) < 0.9, rng.random((18, 12)) < 0.1)


def categorical(rng):
    common = np.array([0.88, 0.06, 0.06])
    return _with_gaps(rng.choice(3, (12, 10), p=common), rng.choice(3, (18, 10), p=common[::-1]))


def one_hot(rng):
    common = np.array([0.9, 0.05, 0.05])
    low, high = rng.choice(3, 12, p=common), 3 + rng.choice(3, 18, p=common)
    groups = np.eye(6)[low], np.eye(6)[high]
    groups[0][4] = groups[1][5] = np.nan
    return groups


def gamma(rng):
    return _with_gaps(
        rng.gamma(2.0, np.repeat([0.5, 450.0], 4), (12, 8)),
        rng.gamma(2.0, np.repeat([30.0, 4.0], 4), (18, 8)),
    )


def composition(rng):
    groups = rng.gamma([[90.0, 30.0, 10.0]] * 12), rng.gamma([[20.0, 30.0, 80.0]] * 18)
    shares = [100.0 * x / x.sum(axis=1, keepdims=True) for x in groups]
    shares[1][5, 1] = np.nan
    return shares[0], shares[1]


def count_shares(rng):
    shares = [0.5, 0.3, 0.15, 0.05], [0.1, 0.2, 0.3, 0.4]
    groups = [
        rng.poisson(np.exp(rng.uniform(4.0, 7.0, (n, 1))) * share).astype(float)
        for n, share in zip((12, 18), shares, strict=True)
    ]
    groups[1][5, 1] = np.nan
    return groups[0], groups[1]


def hurdle(rng):
    groups = []
    for n, log_mean in ((12, [1.0, 6.0, -2.0, 3.0, 9.0]), (18, [5.0, 1.0, 2.0, 8.0, 4.0])):
        spent = np.exp(rng.normal(log_mean, 0.4, (n, 5)))
        nothing = rng.permuted(np.arange(n)[:, None] < np.full(5, 0.35 * n), axis=0)
        groups.append(np.where(nothing, 0.0, spent))
        groups[-1][3, 0] = groups[-1][5, 1] = np.nan
    return groups[0], groups[1]


EXAMPLES = {
    "gaussian": gaussian, "diagonal": diagonal, "spherical": diagonal, "student": student,
    "diagonal-student": diagonal_student, "directional": directional, "multinomial": multinomial,
    "poisson": poisson, "negative-binomial": negative_binomial, "bernoulli": bernoulli,
    "categorical": categorical, "one-hot": one_hot, "gamma": gamma, "exponential": gamma,
    "composition": composition, "count-shares": count_shares, "hurdle": hurdle,
}  # fmt: skip
