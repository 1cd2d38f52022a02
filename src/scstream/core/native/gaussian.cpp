// A matrix alone waits for each quotient before it can go on. So clusters are taken some at a time,
// each in a lane. No sum runs across lanes: a cluster gives the same bits wherever it stands.
#include "gaussian.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "elementary.hpp"

namespace scstream {

namespace {

constexpr int SIDE = 8;
constexpr double NONE = std::numeric_limits<double>::quiet_NaN(), TINY = 1e-300;

struct alignas(64) Lanes {
    double at[SIDE];
};

// What is computed in each lane alone.
template <typename Of>
inline Lanes each(Of of) {
    Lanes out;
    for (int r = 0; r < SIDE; ++r) out.at[r] = of(r);
    return out;
}

inline Lanes all(double x) {
    return each([=](int) { return x; });
}
inline Lanes operator+(const Lanes &a, const Lanes &b) {
    return each([&](int r) { return a.at[r] + b.at[r]; });
}
inline Lanes operator-(const Lanes &a, const Lanes &b) {
    return each([&](int r) { return a.at[r] - b.at[r]; });
}
inline Lanes operator*(const Lanes &a, const Lanes &b) {
    return each([&](int r) { return a.at[r] * b.at[r]; });
}
inline Lanes operator/(const Lanes &a, const Lanes &b) {
    return each([&](int r) { return a.at[r] / b.at[r]; });
}
inline Lanes operator*(double a, const Lanes &b) {
    return each([&](int r) { return a * b.at[r]; });
}
inline Lanes logarithms(const Lanes &x) {
    return each([&](int r) { return logarithm(x.at[r]); });
}

inline Lanes log_gammas(const Lanes &x) {
    bool few = false;
    for (int r = 0; r < SIDE; ++r) few |= x.at[r] < STIRLING;
    if (few) return each([&](int r) { return log_gamma(x.at[r]); });
    return each([&](int r) { return stirling(x.at[r]); });
}

constexpr std::int64_t diagonal(std::int64_t i) { return i * (i + 3) / 2; }
constexpr std::int64_t below(std::int64_t i, std::int64_t j) { return i * (i + 1) / 2 + j; }

// Some rows of a table from one on, each in a lane. Where there are no more, it is the last again.
struct Side {
    const double *row[SIDE];
    std::int64_t m;

    Side(const double *table, std::int64_t first, std::int64_t k, std::int64_t width)
        : m(std::min<std::int64_t>(k - first, SIDE)) {
        for (int r = 0; r < SIDE; ++r)
            row[r] = table + (first + std::min<std::int64_t>(r, m - 1)) * width;
    }

    Lanes operator[](std::int64_t column) const {
        return each([&](int r) { return row[r][column]; });
    }
};

inline void write(const Lanes &x, std::int64_t m, double *to, std::int64_t stride) {
    for (std::int64_t r = 0; r < m; ++r) to[r * stride] = x.at[r];
}

inline std::int64_t failures(const Lanes &x, std::int64_t m) {
    std::int64_t out = 0;
    for (std::int64_t r = 0; r < m; ++r) out += x.at[r] != x.at[r];
    return out;
}

// Logarithms of products.
class Product {
  public:
    void multiply(const Lanes &x) {
        of_ = each([&](int r) { return of_.at[r] * mantissa(x.at[r]); });
        power_ = each([&](int r) { return power_.at[r] + exponent(x.at[r]); });
    }

    Lanes log() const {
        const Lanes rest = logarithms(of_);
        return each([&](int r) {
            return power_.at[r] * LN2_HIGH + (rest.at[r] + power_.at[r] * LN2_LOW);
        });
    }

  private:
    Lanes of_ = all(1.0), power_ = all(0.0);
};

// Posteriors of clusters, or of groups of which scatters are summed and the first one counts.
struct Posterior {
    const std::int64_t d;
    Lanes kappa, log_det;
    std::vector<Lanes> mean, sum, inverse, L;  // `inverse` of L's diagonal

    explicit Posterior(std::int64_t columns)
        : d(columns), mean(d), sum(d), inverse(d), L(below(d, 0)) {}

    // Fill all but the factor.
    void add_up(const Side &s, std::int64_t groups, const Prior &prior) {
        for (std::int64_t g = groups - 1; g >= 0; --g) {
            const std::int64_t at = g * prior.p();
            kappa = s[at] + all(prior.row[0]);
            for (std::int64_t i = 0; i < d; ++i) {
                sum[i] = s[at + 1 + i] + all(prior.row[1 + i]);
                mean[i] = sum[i] / kappa;
            }
            std::int64_t q = 1 + d;
            for (std::int64_t i = 0; i < d; ++i)
                for (std::int64_t j = i; j < d; ++j, ++q) {
                    const Lanes x = s[at + q] + all(prior.row[q]) - mean[i] * sum[j];
                    Lanes &to = L[below(j, i)];
                    to = g == groups - 1 ? x : to + x;
                }
        }
    }

    // Factor the scatters; log determinants are NaN where these are not positive definite.
    void factor() {
        Product pivots;
        log_det = all(0.0);
        for (std::int64_t i = 0; i < d; ++i) {
            for (std::int64_t j = 0; j <= i; ++j) {
                Lanes x = L[below(i, j)];
                for (std::int64_t a = 0; a < j; ++a) x = x - L[below(i, a)] * L[below(j, a)];
                L[below(i, j)] = j < i ? x * inverse[j] : x;
            }
            const Lanes pivot = L[diagonal(i)];
            constexpr double least = std::numeric_limits<double>::min();
            log_det = each([&](int r) {
                return pivot.at[r] >= least && pivot.at[r] < 1e300 ? log_det.at[r] : NONE;
            });
            pivots.multiply(pivot);
            L[diagonal(i)] = each([&](int r) { return std::sqrt(pivot.at[r]); });
            inverse[i] = all(1.0) / L[diagonal(i)];
        }
        log_det = log_det + pivots.log();
    }

    // Solve L x = x, of which the first entries are 0.
    void solve(Lanes *x, std::int64_t first = 0) const {
        for (std::int64_t i = first; i < d; ++i) {
            for (std::int64_t j = first; j < i; ++j) x[i] = x[i] - L[below(i, j)] * x[j];
            x[i] = x[i] * inverse[i];
        }
    }

    // Solve L' x = x.
    void solve_back(Lanes *x) const {
        for (std::int64_t i = d - 1; i >= 0; --i) {
            for (std::int64_t j = i + 1; j < d; ++j) x[i] = x[i] - L[below(j, i)] * x[j];
            x[i] = x[i] * inverse[i];
        }
    }

    // Read rows (kappa, L^-1 mean, L).
    void read(const Side &factors) {
        kappa = factors[0];
        for (std::int64_t i = 0; i < d; ++i) mean[i] = factors[1 + i];
        for (std::int64_t q = 0; q < below(d, 0); ++q) L[q] = factors[1 + d + q];
        for (std::int64_t i = 0; i < d; ++i) inverse[i] = all(1.0) / L[diagonal(i)];
    }
};

}  // namespace

SCSTREAM_BEST_PROCESSOR
std::int64_t factor(const double *s, std::int64_t k, std::int64_t groups, const Prior &prior,
                    const double *vector, double *out, double *log_det) {
    const std::int64_t p = prior.p(), d = prior.d;
    std::int64_t failed = 0;
    Posterior post(d);
    for (std::int64_t c = 0; c < k; c += SIDE) {
        const Side some(s, c, k, groups * p);
        post.add_up(some, groups, prior);
        post.factor();
        if (vector) {
            const Side aim(vector, c, k, d);
            for (std::int64_t i = 0; i < d; ++i) post.mean[i] = aim[i];
        }
        post.solve(post.mean.data());
        double *to = out + c * p;
        write(post.kappa, some.m, to, p);
        for (std::int64_t i = 0; i < d; ++i) write(post.mean[i], some.m, to + 1 + i, p);
        for (std::int64_t q = 0; q < below(d, 0); ++q) write(post.L[q], some.m, to + 1 + d + q, p);
        write(post.log_det, some.m, log_det + c, 1);
        failed += failures(post.log_det, some.m);
    }
    return failed;
}

SCSTREAM_BEST_PROCESSOR
std::int64_t log_normalisers(const double *s, std::int64_t k, const Prior &prior, double *out) {
    const auto d = static_cast<double>(prior.d);
    std::int64_t failed = 0;
    Posterior post(prior.d);
    for (std::int64_t c = 0; c < k; c += SIDE) {
        const Side some(s, c, k, prior.p());
        post.add_up(some, 1, prior);
        post.factor();
        const Lanes nu = post.kappa + all(prior.more);
        Lanes level = 0.5 * (nu * (all(d * (LN2_HIGH + LN2_LOW)) - post.log_det) -
                             d * logarithms(post.kappa));
        for (std::int64_t j = 0; j < prior.d; ++j)
            level = level + log_gammas(0.5 * (nu - all(static_cast<double>(j))));
        write(level, some.m, out + c, 1);
        failed += failures(level, some.m);
    }
    return failed;
}

SCSTREAM_BEST_PROCESSOR
void drawn_scores(const Matrix &factors, const Matrix &chis, const Matrix &lows,
                  const Matrix &noises, const Vector &log_weight, const Table<double> &out) {
    const std::int64_t k = length(factors), p = length(factors, 1), d = columns_of(p);
    for (const auto *of : {&chis, &noises}) require_shape(*of, k, d);
    require_shape(lows, k, below(d - 1, 0));
    require_rows(k, log_weight);
    require_shape(out, k, p);
    Posterior post(d);
    std::vector<Lanes> z(d), M(d * d);  // B' L^-1 mean with the noise, and L'^-1 B
    for (std::int64_t c = 0; c < k; c += SIDE) {
        const Side some(factors.data(), c, k, p), chi(chis.data(), c, k, d),
            noise(noises.data(), c, k, d), low(lows.data(), c, k, below(d - 1, 0)),
            weight(log_weight.data(), c, k, 1);
        Product scale;
        post.read(some);
        const Lanes size = each([&](int r) { return 1.0 / std::sqrt(post.kappa.at[r]); });
        for (std::int64_t j = 0; j < d; ++j) {
            z[j] = noise[j] * size;
            for (std::int64_t i = 0; i < d; ++i) {
                const Lanes b = i > j ? low[below(i - 1, j)] : i == j ? chi[j] : all(0.0);
                M[i * d + j] = b;
                if (i >= j) z[j] = z[j] + b * post.mean[i];
            }
            scale.multiply(M[j * d + j] * post.inverse[j]);
        }
        for (std::int64_t j = 0; j < d; ++j)
            for (std::int64_t i = d - 1; i >= 0; --i) {
                Lanes x = M[i * d + j];
                for (std::int64_t a = i + 1; a < d; ++a) x = x - post.L[below(a, i)] * M[a * d + j];
                M[i * d + j] = x * post.inverse[i];
            }
        Lanes square = all(0.0);
        for (std::int64_t j = 0; j < d; ++j) square = square + z[j] * z[j];
        double *to = out.data() + c * p;
        write(weight[0] + scale.log() - 0.5 * square, some.m, to, p);
        std::int64_t q = 1 + d;
        for (std::int64_t i = 0; i < d; ++i) {
            Lanes x = all(0.0);
            for (std::int64_t a = 0; a < d; ++a) x = x + M[i * d + a] * z[a];
            write(x, some.m, to + 1 + i, p);
            for (std::int64_t j = i; j < d; ++j, ++q) {
                x = all(0.0);
                for (std::int64_t a = 0; a < d; ++a) x = x - M[i * d + a] * M[j * d + a];
                write(i == j ? 0.5 * x : x, some.m, to + q, p);
            }
        }
    }
}

SCSTREAM_BEST_PROCESSOR
void student_forms(const double *factors, std::int64_t k, std::int64_t d, double *out) {
    const std::int64_t p = (d + 1) * (d + 2) / 2;
    Posterior post(d);
    std::vector<Lanes> V(d * d), &t = post.mean;
    for (std::int64_t c = 0; c < k; c += SIDE) {
        const Side some(factors, c, k, p);
        post.read(some);
        const Lanes g = post.kappa / (post.kappa + all(1.0));
        for (std::int64_t j = 0; j < d; ++j) {  // columns of L^-1, one after the other
            for (std::int64_t i = 0; i < d; ++i) V[j * d + i] = all(i == j ? 1.0 : 0.0);
            post.solve(V.data() + j * d, j);
        }
        Lanes square = all(0.0);
        for (std::int64_t i = 0; i < d; ++i) square = square + t[i] * t[i];
        double *to = out + c * p;
        write(all(1.0) + g * square, some.m, to, p);
        std::int64_t q = 1 + d;
        for (std::int64_t i = 0; i < d; ++i) {
            Lanes x = all(0.0);
            for (std::int64_t a = i; a < d; ++a) x = x + V[i * d + a] * t[a];
            write(-2.0 * g * x, some.m, to + 1 + i, p);
            for (std::int64_t j = i; j < d; ++j, ++q) {
                x = all(0.0);
                for (std::int64_t a = j; a < d; ++a) x = x + V[i * d + a] * V[j * d + a];
                write((i == j ? 1.0 : 2.0) * g * x, some.m, to + q, p);
            }
        }
    }
}

SCSTREAM_BEST_PROCESSOR
void student_levels(const double *factors, std::int64_t k, const Prior &prior,
                    const double *log_det, const double *log_weight, double *level, double *power) {
    const auto d = static_cast<double>(prior.d);
    for (std::int64_t c = 0; c < k; c += SIDE) {
        const Side some(factors, c, k, prior.p()), weight(log_weight, c, k, 1), size(log_det, c, k, 1);
        const Lanes kappa = some[0], half = 0.5 * (kappa + all(prior.more + 1.0));
        const Lanes tight = each([&](int r) {
            return logarithm(2.0 * kappa.at[r] / (kappa.at[r] + 1.0));
        });
        const Lanes gammas = log_gammas(half) - log_gammas(half - all(0.5 * d));
        write(half, some.m, power + c, 1);
        write(weight[0] + gammas + 0.5 * (d * tight - size[0]), some.m, level + c, 1);
    }
}

SCSTREAM_BEST_PROCESSOR
std::int64_t boundaries(const double *both, std::int64_t k, const Prior &prior, double *normal,
                        double *offset) {
    const std::int64_t p = prior.p(), d = prior.d;
    std::int64_t failed = 0;
    Posterior post(d);
    std::vector<Lanes> x(d), middle(d);
    for (std::int64_t c = 0; c < k; c += SIDE) {
        const Side some(both, c, k, 2 * p);
        post.add_up(some, 2, prior);
        post.factor();
        const Lanes other = some[p] + all(prior.row[0]);
        const Lanes dof = post.kappa + other + all(2.0 * prior.more);
        for (std::int64_t i = 0; i < d; ++i)
            x[i] = (some[p + 1 + i] + all(prior.row[1 + i])) / other - post.mean[i];
        Lanes level = each([&](int r) {
            return logarithm((some.row[r][0] + 0.5) / (some.row[r][p] + 0.5));
        });
        for (std::int64_t i = 0; i < d; ++i) middle[i] = post.mean[i] + 0.5 * x[i];
        post.solve(x.data());
        post.solve_back(x.data());
        for (std::int64_t i = 0; i < d; ++i) {
            x[i] = dof * x[i];
            level = level + x[i] * middle[i];
            write(x[i], some.m, normal + c * d + i, d);
        }
        level = level + 0.0 * post.log_det;  // NaN where that is
        write(level, some.m, offset + c, 1);
        failed += failures(level, some.m);
    }
    return failed;
}

namespace {

constexpr double NEAR = 2.5;  // deviations within which a series is better than a fraction
constexpr int TERMS = 40;    // of the fraction x + 1 / (x + 2 / (x + ...)), which is the hazard
constexpr double ROOT_2PI = 2.5066282746310002;

struct Tail {
    double share, hazard;  // the mass of a standard normal below t, and the density over that
};

inline Tail below_normal(double t) {
    const double x = std::fabs(t), density = exponential(-0.5 * t * t) / ROOT_2PI;
    double share;
    if (x < NEAR) {
        double series = 1.0;  // of 1 + t^2 / 3 + t^4 / 15 + ...
        for (int i = 61; i >= 3; i -= 2) series = 1.0 + x * x * (1.0 / i) * series;
        share = 0.5 + density * t * series;
    } else {
        double fraction = 0.5 * (x + std::sqrt(x * x + 4.0 * TERMS));
        for (int i = TERMS - 1; i >= 1; --i) fraction = x + i / fraction;
        share = t < 0.0 ? density / fraction : 1.0 - density / fraction;
    }
    return {share, density / share};
}

}  // namespace

SCSTREAM_BEST_PROCESSOR
void truncate(const double *past, std::int64_t m, std::int64_t d, const Planes &planes,
              double certain, double *out) {
    const std::int64_t p = (d + 1) * (d + 2) / 2;
    std::vector<double> mean(d), along(d), cov(d * (d + 1) / 2);
    for (std::int64_t row = 0; row < m; ++row) {
        const double *s = past + row * p, *normal = planes.normal + row % planes.k * d;
        const double n = std::max(s[0], TINY);
        double *to = out + row * p;
        std::fill(along.begin(), along.end(), 0.0);
        std::int64_t q = 1 + d;
        for (std::int64_t i = 0; i < d; ++i) {
            mean[i] = s[1 + i] / n;
            for (std::int64_t j = i; j < d; ++j, ++q) {
                cov[q - 1 - d] = (s[q] - mean[i] * s[1 + j]) / n;
                along[i] += cov[q - 1 - d] * normal[j];
                if (j > i) along[j] += cov[q - 1 - d] * normal[i];
            }
        }
        double var = 0.0, level = 0.0;
        for (std::int64_t i = 0; i < d; ++i) {
            var += along[i] * normal[i];
            level += mean[i] * normal[i];
        }
        if (!(s[0] > 1e-6 && var > TINY && var > 1e-12 * level * level)) {
            for (q = 0; q < p; ++q) to[q] = 0.5 * s[q];
            continue;
        }
        const double sd = std::sqrt(var);
        const double t = std::min(std::max((planes.offset[row % planes.k] - level) / sd, -certain),
                                  certain);
        const Tail tail = below_normal(t);
        const double shrink = tail.hazard * (t + tail.hazard) / var, part = n * tail.share;
        to[0] = part;
        for (std::int64_t i = 0; i < d; ++i) {
            mean[i] -= along[i] * tail.hazard / sd;
            to[1 + i] = part * mean[i];
        }
        q = 1 + d;
        for (std::int64_t i = 0; i < d; ++i)
            for (std::int64_t j = i; j < d; ++j, ++q)
                to[q] = part * (cov[q - 1 - d] - shrink * along[i] * along[j] + mean[i] * mean[j]);
    }
}

namespace {

constexpr std::int64_t OF_A_KIND = 8;  // attempts in expected deviations, then in those of columns
constexpr double BESIDE = 1e-12;    // of its distance from the origin that a plane is off the mean
constexpr double GROWTH = 1e-5;     // relative growth of a variance below which an axis is found
constexpr double LEFT = 1e-9;       // of the variance of all columns that is more than rounding
constexpr double SINGULAR = 1e-12;  // of a variance that the columns before must leave open
constexpr int ROUNDS = 50;          // of power iteration, at most

struct Square {  // a symmetric matrix (d, d)
    const std::int64_t d;
    std::vector<double> of;

    explicit Square(std::int64_t columns) : d(columns), of(d * d) {}

    double *operator[](std::int64_t i) { return of.data() + i * d; }

    // Fill the scatter of a group about its mean, times a factor.
    void fill(const double *s, double n, double by) {
        const double *entry = s + 1 + d;
        for (std::int64_t i = 0; i < d; ++i)
            for (std::int64_t j = i; j < d; ++j)
                of[i * d + j] = of[j * d + i] = by * (*entry++ - s[1 + i] * s[1 + j] / n);
    }

    void times(const double *x, double *out) const {
        std::fill(out, out + d, 0.0);
        for (std::int64_t j = 0; j < d; ++j)
            for (std::int64_t i = 0; i < d; ++i) out[i] += of[j * d + i] * x[j];
    }

    double trace() const {
        double out = 0.0;
        for (std::int64_t i = 0; i < d; ++i) out += of[i * d + i];
        return out;
    }
};

double inner(const double *x, const double *y, std::int64_t d) {
    double out = 0.0;
    for (std::int64_t i = 0; i < d; ++i) out += x[i] * y[i];
    return out;
}

// The inverse of the scatter at a prior, of the identity's size; that if it has none.
Square metric_of(const Prior &prior) {
    const std::int64_t d = prior.d;
    Square L(d), out(d);
    L.fill(prior.row, prior.row[0], 1.0);
    bool fine = true;
    for (std::int64_t i = 0; i < d && fine; ++i)  // the Cholesky factor in place
        for (std::int64_t j = 0; j <= i; ++j) {
            double x = L[i][j];
            for (std::int64_t a = 0; a < j; ++a) x -= L[i][a] * L[j][a];
            fine = fine && (j < i || x > SINGULAR * L[i][i]);
            L[i][j] = j < i ? x / L[j][j] : std::sqrt(x);
        }
    for (std::int64_t c = 0; c < d; ++c) {
        double *x = out[c];
        x[c] = 1.0;
        if (!fine) continue;
        for (std::int64_t i = c; i < d; ++i) {
            for (std::int64_t j = c; j < i; ++j) x[i] -= L[i][j] * x[j];
            x[i] /= L[i][i];
        }
        for (std::int64_t i = d - 1; i >= 0; --i) {
            for (std::int64_t j = i + 1; j < d; ++j) x[i] -= L[j][i] * x[j];
            x[i] /= L[i][i];
        }
    }
    const double by = static_cast<double>(d) / out.trace();
    for (double &x : out.of) x *= by;
    return out;
}

// Fill the principal axis that has so many others before it, in a metric or in columns (null). These
// are taken out of the covariance; w is room.
void principal_axis(Square &cov, const Square *metric, std::int64_t rank, double *w, double *v) {
    const std::int64_t d = cov.d;
    const double whole = cov.trace();
    for (std::int64_t found = 0; found <= rank; ++found) {
        std::int64_t start = 0;
        for (std::int64_t i = 1; i < d; ++i)
            if (cov[i][i] > cov[start][start]) start = i;
        for (std::int64_t i = 0; i < d; ++i) v[i] = i == start ? 1.0 : 0.0;
        double variance = 0.0;
        for (int step = 0; step < ROUNDS; ++step) {
            const double before = variance;
            cov.times(v, w);
            variance = inner(w, v, d);
            if (metric)
                metric->times(w, v);
            else
                std::copy(w, w + d, v);
            const double size = inner(w, v, d);
            if (!(size > 0.0)) {
                for (std::int64_t i = 0; i < d; ++i) v[i] = i == start ? 1.0 : 0.0;
                break;
            }
            for (std::int64_t i = 0; i < d; ++i) {
                v[i] /= std::sqrt(size);
                w[i] /= std::sqrt(size);
            }
            if (step > 1 && variance - before <= GROWTH * variance) break;
        }
        if (found == rank) return;
        for (std::int64_t i = 0; i < d; ++i)
            for (std::int64_t j = 0; j < d; ++j) cov[i][j] -= variance * w[i] * w[j];
        if (!(cov.trace() > LEFT * whole)) return;
    }
}

}  // namespace

SCSTREAM_BEST_PROCESSOR
void directions(const Matrix &clusters, const Matrix &member, const Ints &attempts,
                std::int64_t axes, const Vector &row, const Table<double> &out) {
    const Prior prior = prior_of(row);
    const std::int64_t k = length(clusters), p = prior.p(), d = prior.d;
    require(axes > 0, "there must be axes");
    for (const auto *of : {&clusters, &member}) require_shape(*of, k, p);
    require_shape(out, k, p);
    require_rows(k, attempts);
    for (std::int64_t c = 0; c < k; ++c) require(attempts(c) >= 0, "attempts are counted from 0");
    const Square metric = metric_of(prior);
    Square cov(d);
    std::vector<double> way(d);
    for (std::int64_t c = 0; c < k; ++c) {
        const double *s = clusters.data() + c * p, n = std::max(s[0], TINY);
        const std::int64_t attempt = attempts(c);
        const bool in_columns = attempt % (2 * OF_A_KIND) >= OF_A_KIND;
        double *to = out.data() + c * p, *normal = to + 1;
        std::fill(to, to + p, 0.0);
        if (attempt % 2 == 0) {
            cov.fill(s, n, 1.0 / n);
            const std::int64_t rank = attempt % OF_A_KIND / 2 % axes;
            principal_axis(cov, in_columns ? nullptr : &metric, rank, way.data(), normal);
        } else {
            for (std::int64_t i = 0; i < d; ++i) way[i] = member(c, 1 + i) - s[1 + i] / n;
            if (in_columns)
                std::copy(way.begin(), way.end(), normal);
            else
                metric.times(way.data(), normal);
        }
        for (std::int64_t i = 0; i < d; ++i) {
            const double level = normal[i] * s[1 + i] / n;
            to[0] -= level + BESIDE * std::fabs(level);
        }
    }
}

}  // namespace scstream
