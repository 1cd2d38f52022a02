// Logarithms of quadratic forms of single columns: predictives of independent columns.
#pragma once

#include <algorithm>
#include <vector>

#include "arrays.hpp"
#include "lanes.hpp"

namespace scstream {

// Forms a + b x + c y, at least 1, and the powers of their logarithms, by component and column.
struct Forms {
    Grid<const double> a, b, c, power;
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
        // until the power is another one, logarithms are taken together
        if (j + 1 < d && by.power[r][j + 1] == power) continue;
        for (int i = 0; i < TILE; ++i) {
            out.at[i] += power * (logarithm(product.at[i]) + exponents.at[i] * (LN2_HIGH + LN2_LOW));
            product.at[i] = 1.0;
            exponents.at[i] = 0.0;
        }
    }
}

inline void subtract_logs(const Matrix &T, const nb::tuple &forms, const Ints &z,
                          const Table<double> &out) {
    const auto form = [&](std::size_t i) { return grid(part<Matrix>(forms, i)); };
    const Forms by{form(0), form(1), form(2), form(3)};
    const Grid<const double> rows = grid(T);
    const Grid<double> to = grid(out);
    const std::int64_t k = by.a.rows, d = by.a.columns, n = rows.rows;
    for (const auto &table : {by.b, by.c, by.power})
        require(table.rows == k && table.columns == d, "forms have other numbers");
    const bool all = length(z) == 0 && to.columns == k;
    require(rows.columns == 1 + 3 * d, "rows have other columns than the forms");
    require_rows(n, out);
    if (!all) require_rows(n, z);
    require(all || to.columns == 2, "rows with labels need two scores");
    for (std::size_t i = 0; i < z.shape(0); ++i)
        require(0 <= z(i) && 2 * z(i) + 1 < k, "a label is none");
    nb::gil_scoped_release free;
    const std::vector<std::int64_t> same(all ? n : 0);
    const Groups groups(all ? same.data() : z.data(), n, all ? 1 : k / 2);
    std::vector<Lane> of(static_cast<std::size_t>(3 * d));
    Lane found;
    for (std::size_t c = 0; c + 1 < groups.first.size(); ++c)
        for (std::int64_t at = groups.first[c]; at < groups.first[c + 1]; at += TILE) {
            const std::int64_t *row = &groups.rows[at];
            const std::int64_t m = std::min<std::int64_t>(TILE, groups.first[c + 1] - at);
            for (std::int64_t j = 0; j < 3 * d; ++j)
                for (std::int64_t i = 0; i < TILE; ++i)
                    of[j].at[i] = i < m ? rows[row[i]][1 + j] : 0.0;
            for (std::int64_t r = 0; r < to.columns; ++r) {
                fill_losses(by, 2 * c + r, of, found);
                for (std::int64_t i = 0; i < m; ++i) to[row[i]][r] -= found.at[i];
            }
        }
}

}  // namespace scstream
