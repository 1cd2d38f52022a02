// Rows with missing entries under components with full covariances: what is observed of them
// decides, and the rest is completed.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "arrays.hpp"
#include "elementary.hpp"

namespace scstream {

// The Cholesky factor of some columns of a matrix (d, d), and distances by it.
class Factored {
  public:
    std::vector<std::int64_t> at;  // the columns

    explicit Factored(std::int64_t d) : at(d), d_(d), lower_(d * d), y_(d), one_by_(d) {}

    const double *operator[](std::int64_t i) const { return lower_.data() + i * d_; }
    double y(std::int64_t i) const { return y_[i]; }

    // Put the observed columns of a row first, and the others last; returns how many are observed.
    std::int64_t look(const double *row) {
        std::int64_t q = 0, last = d_;
        for (std::int64_t j = 0; j < d_; ++j) {
            if (row[j] == row[j])
                at[q++] = j;
            else
                at[--last] = j;
        }
        return q;
    }

    // Factor the first columns; returns the log determinant. Rounding that cost positive
    // definiteness is mended.
    double factor(const double *matrix, std::int64_t columns) {
        double log_det = 0.0;
        for (std::int64_t i = 0; i < columns; ++i) {
            double *own = lower_.data() + i * d_;
            for (std::int64_t j = 0; j <= i; ++j) {
                const double *other = (*this)[j];
                double t = matrix[at[i] * d_ + at[j]];
                for (std::int64_t m = 0; m < j; ++m) t -= own[m] * other[m];
                own[j] = j < i ? t * one_by_[j] : t;
            }
            own[i] = std::max(own[i], 1e-12 * matrix[at[i] * d_ + at[i]]);
            log_det += logarithm(own[i]);
            own[i] = std::sqrt(own[i]);
            one_by_[i] = 1.0 / own[i];
        }
        return log_det;
    }

    // The squared distance of a row from a centre in the first columns, whose deviations y become.
    double distance(const double *row, const double *centre, std::int64_t columns) {
        double far = 0.0;
        for (std::int64_t i = 0; i < columns; ++i) {
            const double *own = (*this)[i];
            double t = row[at[i]] - centre[at[i]];
            for (std::int64_t j = 0; j < i; ++j) t -= own[j] * y_[j];
            y_[i] = t * one_by_[i];
            far += y_[i] * y_[i];
        }
        return far;
    }

  private:
    std::int64_t d_;
    std::vector<double> lower_, y_, one_by_;  // the last: inverses of the diagonal
};

inline void score_observed(const Matrix &rows, const nb::tuple &patterns,
                           const nb::tuple &components, const Matrix &level, const Matrix &power,
                           const Table<double> &out) {
    const Grid<const double> Z = grid(rows), base = grid(level), fall = grid(power);
    const Grid<double> to = grid(out);
    const auto centres = part<Matrix>(components, 0);
    const auto matrices = part<Block<const double>>(components, 1);
    const auto order = part<Ints>(patterns, 0),
               starts = part<Ints>(patterns, 1);
    const std::int64_t d = Z.columns, k = length(centres), n = order.shape(0),
                       groups = length(starts) - 1;
    require_shape(centres, k, d);
    require_shape(matrices, k, d, d);
    for (const auto *table : {&level, &power}) require_shape(*table, d + 1, k);
    require_rows(n, rows);
    require_shape(out, n, k);
    for (std::int64_t i = 0; i < n; ++i)
        require(0 <= order(i) && order(i) < n, "there is no such row");
    for (std::int64_t g = 0; g < groups; ++g)
        require(0 <= starts(g) && starts(g) < starts(g + 1) && starts(g + 1) <= n,
                "a pattern needs rows");
    nb::gil_scoped_release free;
    Factored factored(d);
    for (std::int64_t g = 0; g < groups; ++g) {
        const std::int64_t *first = order.data() + starts.data()[g],
                           *last = order.data() + starts.data()[g + 1];
        const std::int64_t q = factored.look(Z[*first]);
        for (std::int64_t c = 0; c < k; ++c) {
            const double own = base[q][c] - 0.5 * factored.factor(&matrices(c, 0, 0), q), slope = fall[q][c];
            for (const std::int64_t *r = first; r < last; ++r) {
                const double far = factored.distance(Z[*r], &centres(c, 0), q);
                to[*r][c] = own - (slope == 0.0 ? 0.5 * far : slope * logarithm(1.0 + far));
            }
        }
    }
}

inline void complete_rows(const Matrix &rows, const Ints &z, const nb::tuple &components,
                          const nb::tuple &draws, const Table<double> &out) {
    const Grid<const double> Z = grid(rows);
    const Grid<double> to = grid(out);
    const auto centres = part<Matrix>(components, 0);
    const auto matrices = part<Block<const double>>(components, 1);
    const auto dof = part<Vector>(components, 2);
    const auto normal = part<Matrix>(draws, 0);
    const auto chi = part<Vector>(draws, 1);
    const std::int64_t d = Z.columns, n = Z.rows, k = length(centres);
    const bool drawn = length(normal) > 0;
    require_shape(centres, k, d);
    require_shape(matrices, k, d, d);
    require_rows(n, z, out);
    require_rows(k, dof);
    if (drawn) require_rows(n, normal, chi);
    if (drawn) require_shape(normal, n, d);
    require_shape(out, n, (d + 1) * (d + 2) / 2);
    for (std::int64_t i = 0; i < n; ++i) require(0 <= z(i) && z(i) < k, "no label");
    nb::gil_scoped_release free;
    Factored factored(d);
    std::vector<double> row(static_cast<std::size_t>(d)), more(static_cast<std::size_t>(d * d));
    const std::vector<std::int64_t> &at = factored.at;
    for (std::int64_t r = 0; r < n; ++r) {
        const std::int64_t c = z.data()[r], q = factored.look(Z[r]);
        const double *centre = &centres(c, 0), nu = dof.data()[c];
        // the last rows of the factor of all columns, the observed ones first, are what the missing
        // ones need: the conditional covariance is the product of its last block
        factored.factor(&matrices(c, 0, 0), d);
        const double far = factored.distance(Z[r], centre, q);
        const double mean = std::max(nu + static_cast<double>(q) - 2.0, 1.0);
        const double spread = nu > 0.0 ? (1.0 + far) / (drawn ? chi.data()[r] : mean) : 1.0;
        std::copy(Z[r], Z[r] + d, row.begin());
        std::fill(more.begin(), more.end(), 0.0);
        for (std::int64_t i = q; i < d; ++i) {
            double t = centre[at[i]];
            for (std::int64_t j = 0; j < q; ++j) t += factored[i][j] * factored.y(j);
            for (std::int64_t j = q; drawn && j <= i; ++j)
                t += std::sqrt(spread) * factored[i][j] * normal(r, j);
            row[at[i]] = t;
            for (std::int64_t j = q; !drawn && j <= i; ++j) {
                double s = 0.0;
                for (std::int64_t m = q; m <= j; ++m) s += factored[i][m] * factored[j][m];
                more[at[i] * d + at[j]] = more[at[j] * d + at[i]] = spread * s;
            }
        }
        double *first = to[r], *second = first + 1 + d;
        first[0] = 1.0;
        for (std::int64_t i = 0; i < d; ++i) {
            first[1 + i] = row[i];
            for (std::int64_t j = i; j < d; ++j) *second++ = row[i] * row[j] + more[i * d + j];
        }
    }
}

}  // namespace scstream
