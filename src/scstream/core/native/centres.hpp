// K-means: which centre is nearest. A centre that is twice as far from a row's own centre as the
// row is, or farther, is no nearer to it: most need no look.
#pragma once

#include <limits>
#include <vector>

#include "arrays.hpp"

namespace scstream {

constexpr double ROUNDING = 1e-12;  // of its squared length that a copy of a centre is away from it

// Products of rows with centres: computed from their columns, or given where centres have none.
struct Products {
    Grid<const double> rows, centres;

    double operator()(std::int64_t i, std::int64_t c) const {
        if (centres.columns == 0) return rows[i][c];
        const double *x = rows[i], *y = centres[c];
        double total = 0.0;
        for (std::int64_t j = 0; j < centres.columns; ++j) total += x[j] * y[j];
        return total;
    }
};

inline Products products(const Matrix &rows, const Matrix &centres) {
    require(rows.shape(1) == centres.shape(centres.shape(1) == 0 ? 0 : 1),
            "rows and centres have other columns");
    return {grid(rows), grid(centres)};
}

inline void approach(const Matrix &rows, const Matrix &centre, const Vector &square,
                     const Ints &picks, const Row<double> &nearest, const Row<std::int64_t> &z,
                     const Row<double> &cumulated) {
    const Products product = products(rows, centre);
    const std::int64_t n = product.rows.rows, m = picks.shape(0), *pick = picks.data();
    const double *squares = square.data();
    double *least = nearest.data(), *sums = cumulated.data(), total = 0.0;
    std::int64_t *own = z.data();
    require(m > 0 && centre.shape(0) == 1, "there is no new centre");
    require_rows(n, square, nearest, z, cumulated);
    for (std::int64_t c = 0; c < m; ++c) require(0 <= pick[c] && pick[c] < n, "a pick is no row");
    for (std::int64_t i = 0; i < n; ++i) require(0 <= own[i] && own[i] < m, "a centre is no pick");
    const double length = squares[pick[m - 1]];
    const auto gap = [&](std::int64_t i) {
        const double size = squares[i] + length, found = size - 2.0 * product(i, 0);
        return found <= ROUNDING * size ? 0.0 : found;
    };
    nb::gil_scoped_release free;
    std::vector<double> apart(static_cast<std::size_t>(m));
    for (std::int64_t c = 0; c < m; ++c) apart[c] = gap(pick[c]);
    for (std::int64_t i = 0; i < n; ++i) {
        if (apart[own[i]] <= 4.0 * least[i]) {
            const double found = gap(i);
            if (found < least[i]) {
                least[i] = found;
                own[i] = m - 1;
            }
        }
        total += least[i];
        sums[i] = total;
    }
}

inline void choose_nearest(const Matrix &rows, const Matrix &centres, const Vector &square,
                           const Vector &lengths, const Matrix &apart, const Row<std::int64_t> &z) {
    const Products product = products(rows, centres);
    const std::int64_t n = product.rows.rows, m = product.centres.rows;
    const Grid<const double> far = grid(apart);
    const double *squares = square.data(), *length = lengths.data();
    std::int64_t *own = z.data();
    require_rows(n, square, z);
    require_rows(m, lengths);
    require_shape(apart, m, m);
    for (std::int64_t i = 0; i < n; ++i) require(0 <= own[i] && own[i] < m, "a row has no centre");
    nb::gil_scoped_release free;
    std::vector<double> reach(static_cast<std::size_t>(n)), farthest(static_cast<std::size_t>(m), -1.0);
    for (std::int64_t i = 0; i < n; ++i) {
        const double size = squares[i] + length[own[i]];
        reach[i] = 4.0 * (size - 2.0 * product(i, own[i])) + ROUNDING * size;
        if (reach[i] > farthest[own[i]]) farthest[own[i]] = reach[i];
    }
    std::vector<std::vector<std::int64_t>> near(static_cast<std::size_t>(m));
    for (std::int64_t a = 0; a < m; ++a)
        for (std::int64_t c = 0; c < m && farthest[a] >= 0.0; ++c)
            if (far[a][c] <= farthest[a]) near[a].push_back(c);
    for (std::int64_t i = 0; i < n; ++i) {
        const std::int64_t before = own[i];
        double least = std::numeric_limits<double>::infinity();
        for (const std::int64_t c : near[before]) {
            if (far[before][c] > reach[i]) continue;
            const double found = length[c] - 2.0 * product(i, c);
            if (found < least) {
                least = found;
                own[i] = c;
            }
        }
    }
}

}  // namespace scstream
