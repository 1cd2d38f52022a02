// Logarithms of quadratic forms of single columns: predictives of independent columns.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "arrays.hpp"
#include "lanes.hpp"

namespace scstream {

// Forms a + b x + c y, at least 1, and the powers of their logarithms, by component and column.
struct Forms {
    Grid<const double> a, b, c, power;

    double operator()(std::int64_t r, std::int64_t j, const double *of) const {
        const std::int64_t d = a.columns;
        const double form = a[r][j] + b[r][j] * of[d + j] + c[r][j] * of[2 * d + j];
        return of[j] > 0.0 && form > 1.0 ? form : 1.0;
    }

    // Whether the next column has another power: until then logarithms are taken together.
    bool ends(std::int64_t r, std::int64_t j) const {
        return j + 1 == a.columns || power[r][j + 1] != power[r][j];
    }
};

// What a tile of rows loses under a component. Columns are what is seen, x and y, each a lane.
SCSTREAM_BEST_PROCESSOR
static void fill_losses(const Forms &by, std::int64_t r, const std::vector<Lane> &of, Lane &out) {
    const std::int64_t d = by.a.columns;
    Lane product, exponents;
    for (int i = 0; i < TILE; ++i) {
        product.at[i] = 1.0;
        out.at[i] = exponents.at[i] = 0.0;
    }
    for (std::int64_t j = 0; j < d; ++j) {
        const double a = by.a[r][j], b = by.b[r][j], c = by.c[r][j], power = by.power[r][j];
        const Lane &seen = of[j], &x = of[d + j], &y = of[2 * d + j];
        for (int i = 0; i < TILE; ++i) {
            const double form = a + b * x.at[i] + c * y.at[i];
            const double some = seen.at[i] > 0.0 ? form : 1.0;
            const double found = product.at[i] * (some > 1.0 ? some : 1.0);
            exponents.at[i] += exponent(found);
            product.at[i] = mantissa(found);
        }
        if (!by.ends(r, j)) continue;
        for (int i = 0; i < TILE; ++i) {
            out.at[i] += power * (logarithm(product.at[i]) + exponents.at[i] * (LN2_HIGH + LN2_LOW));
            product.at[i] = 1.0;
            exponents.at[i] = 0.0;
        }
    }
}

// What a row loses under a component: the same, bit by bit.
inline double loss(const Forms &by, std::int64_t r, const double *of) {
    double out = 0.0, product = 1.0, exponents = 0.0;
    for (std::int64_t j = 0; j < by.a.columns; ++j) {
        const double found = product * by(r, j, of);
        exponents += exponent(found);
        product = mantissa(found);
        if (!by.ends(r, j)) continue;
        out += by.power[r][j] * (logarithm(product) + exponents * (LN2_HIGH + LN2_LOW));
        product = 1.0;
        exponents = 0.0;
    }
    return out;
}

inline void subtract_logs(const Table<const double> &T, const nb::tuple &forms,
                          const Row<const std::int64_t> &z, const Table<double> &out) {
    const auto form = [&](std::size_t i) { return grid(part<Table<const double>>(forms, i)); };
    const Forms by{form(0), form(1), form(2), form(3)};
    const Grid<const double> rows = grid(T);
    const Grid<double> to = grid(out);
    const std::int64_t k = by.a.rows, d = by.a.columns, n = rows.rows;
    for (const auto &table : {by.b, by.c, by.power})
        require(table.rows == k && table.columns == d, "forms have other numbers");
    const bool all = z.shape(0) == 0 && to.columns == k;
    require(rows.columns == 1 + 3 * d && to.rows == n, "rows have other columns than the forms");
    require(all || (static_cast<std::int64_t>(z.shape(0)) == n && to.columns == 2),
            "rows need a label each, and two scores");
    for (std::size_t i = 0; i < z.shape(0); ++i)
        require(0 <= z.data()[i] && 2 * z.data()[i] + 1 < k, "a label is none");
    nb::gil_scoped_release free;
    if (!all) {
        for (std::int64_t i = 0; i < n; ++i)
            for (std::int64_t r = 0; r < 2; ++r) to[i][r] -= loss(by, 2 * z.data()[i] + r, rows[i] + 1);
        return;
    }
    std::vector<Lane> of(static_cast<std::size_t>(3 * d));
    Lane found;
    for (std::int64_t start = 0; start < n; start += TILE) {
        const std::int64_t m = std::min<std::int64_t>(TILE, n - start);
        for (std::int64_t j = 0; j < 3 * d; ++j)
            for (std::int64_t i = 0; i < TILE; ++i)
                of[j].at[i] = i < m ? rows[start + i][1 + j] : 0.0;
        for (std::int64_t r = 0; r < k; ++r) {
            fill_losses(by, r, of, found);
            for (std::int64_t i = 0; i < m; ++i) to[start + i][r] -= found.at[i];
        }
    }
}

}  // namespace scstream
