// Rows one by one: uniforms, scores, and which of two sub-clusters.
#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include "pass.hpp"

namespace scstream {

inline void uniforms(const nb::tuple &key, const Table<double> &out) {
    const Key keyed = key_of(key);
    const Grid<double> to = grid(out);
    require(to.rows == 2, "there are two uniforms for each row");
    nb::gil_scoped_release free;
    Lane label, sublabel;
    for (std::int64_t start = 0; start < to.columns; start += TILE) {
        const std::int64_t m = std::min<std::int64_t>(TILE, to.columns - start);
        fill_uniforms(keyed, start, label, sublabel);
        std::copy(label.at, label.at + m, to[0] + start);
        std::copy(sublabel.at, sublabel.at + m, to[1] + start);
    }
}

// Fill products (4, 16) of 16 rows that stand side by side, (p, 16), with four components.
SCSTREAM_BEST_PROCESSOR
static void multiply_lanes(const double *columns, const double *const *eta, std::int64_t p,
                           double *out) {
    constexpr int LANES = 16;
    double s0[LANES] = {}, s1[LANES] = {}, s2[LANES] = {}, s3[LANES] = {};
    for (std::int64_t q = 0; q < p; ++q) {
        const double *t = columns + q * LANES;
        const double a = eta[0][q], b = eta[1][q], e = eta[2][q], f = eta[3][q];
        for (int i = 0; i < LANES; ++i) {
            s0[i] += a * t[i];
            s1[i] += b * t[i];
            s2[i] += e * t[i];
            s3[i] += f * t[i];
        }
    }
    std::memcpy(out, s0, sizeof s0);
    std::memcpy(out + LANES, s1, sizeof s1);
    std::memcpy(out + 2 * LANES, s2, sizeof s2);
    std::memcpy(out + 3 * LANES, s3, sizeof s3);
}

inline void score_rows(const Matrix &T, const nb::tuple &scores, const Table<double> &out) {
    const Grid<const double> rows = grid(T);
    const Grid<double> to = grid(out);
    const Scores by = scores_of(scores, rows.columns);
    require_shape(out, rows.rows, by.k);
    nb::gil_scoped_release free;
    constexpr std::int64_t LANES = 16;
    std::vector<double> columns(static_cast<std::size_t>(by.p * LANES));
    double some[4 * LANES];
    for (std::int64_t start = 0; start < rows.rows; start += LANES) {
        const std::int64_t m = std::min(LANES, rows.rows - start);
        for (std::int64_t i = 0; i < m; ++i)
            for (std::int64_t q = 0; q < by.p; ++q) columns[q * LANES + i] = rows[start + i][q];
        for (std::int64_t c = 0; c < by.k; c += 4) {
            const double *eta[4];
            for (std::int64_t j = 0; j < 4; ++j) eta[j] = by.eta + std::min(c + j, by.k - 1) * by.p;
            multiply_lanes(columns.data(), eta, by.p, some);
            for (std::int64_t i = 0; i < m; ++i)
                for (std::int64_t j = c; j < std::min(c + 4, by.k); ++j)
                    to[start + i][j] = by.finished(some[(j - c) * LANES + i], j);
        }
    }
}

inline void score_pairs(const Matrix &T, const nb::tuple &pairs, const Ints &z,
                        const Table<double> &out) {
    const Grid<const double> rows = grid(T);
    const Grid<double> to = grid(out);
    const Scores by = scores_of(pairs, rows.columns);
    require_rows(rows.rows, z);
    require_shape(out, rows.rows, 2);
    require(by.k > 1, "there must be sub-clusters");
    for (std::int64_t i = 0; i < rows.rows; ++i)
        require(z(i) < by.k / 2, "a label has no sub-clusters");
    nb::gil_scoped_release free;
    std::int64_t row[TILE], one[TILE], other[TILE];
    Lane x, y;
    for (std::int64_t start = 0; start < rows.rows; start += TILE) {
        const std::int64_t m = std::min<std::int64_t>(TILE, rows.rows - start);
        for (std::int64_t i = 0; i < m; ++i) {
            row[i] = start + i;
            one[i] = 2 * std::max<std::int64_t>(z.data()[row[i]], 0);
            other[i] = one[i] + 1;
        }
        pair_products(T.data(), by.p, m, row, by.eta, one, other, x, y);
        for (std::int64_t i = 0; i < m; ++i) {
            to[row[i]][0] = by.finished(x.at[i], one[i]);
            to[row[i]][1] = by.finished(y.at[i], other[i]);
        }
    }
}

inline void choose_sublabels(const Matrix &scores, const Vector &u, const Row<std::int64_t> &sub,
                             const Row<double> &share, const Row<double> &entropy) {
    const Grid<const double> rows = grid(scores);
    const bool drawn = length(u) > 0;
    require_shape(scores, rows.rows, 2);
    require_rows(rows.rows, sub, share, entropy);
    if (drawn) require_rows(rows.rows, u);
    nb::gil_scoped_release free;
    Lane gap, uniform, side, about;
    for (std::int64_t start = 0; start < rows.rows; start += TILE) {
        const std::int64_t m = std::min<std::int64_t>(TILE, rows.rows - start);
        for (std::int64_t i = 0; i < TILE; ++i) {
            const std::int64_t row = start + std::min(i, m - 1);
            gap.at[i] = rows[row][1] - rows[row][0];
            uniform.at[i] = drawn ? u.data()[row] : 0.0;
        }
        if (drawn)
            draw_sides(gap, uniform, side, about);
        else
            share_sides(gap, side, about);
        for (std::int64_t i = 0; i < m; ++i)
            sub.data()[start + i] = drawn ? side.at[i] > 0.0 : gap.at[i] > 0.0;
        std::copy(side.at, side.at + m, share.data() + start);
        std::copy(about.at, about.at + m, entropy.data() + start);
    }
}

}  // namespace scstream
