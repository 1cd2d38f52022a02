// Rows of many columns: distances by triangular factors, and sums of products, both exact.
#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include "arrays.hpp"
#include "elementary.hpp"

namespace scstream {

constexpr std::int64_t ABREAST = 16;  // rows that stand side by side

// Fill |W z - b|^2 of rows side by side (m, 16) by the first m rows of W, which is lower triangular
// with zeros above. Where all are beyond their limits a part of it is enough. Other functions would
// not be compiled for the best processor: none is called.
SCSTREAM_BEST_PROCESSOR
static void measure(const double *z, const double *W, const double *b, std::int64_t d,
                    std::int64_t m, const double *far, double *out) {
    double square[ABREAST] = {};
    for (std::int64_t j = 0; j < m; j += 4) {
        double s0[ABREAST] = {}, s1[ABREAST] = {}, s2[ABREAST] = {}, s3[ABREAST] = {};
        const std::int64_t end = j + 4 < m ? j + 4 : m, more = m - j;
        const double *w0 = W + j * d, *w1 = more > 1 ? w0 + d : w0;
        const double *w2 = more > 2 ? w0 + 2 * d : w0, *w3 = more > 3 ? w0 + 3 * d : w0;
        for (std::int64_t a = 0; a < end; ++a) {
            const double *x = z + a * ABREAST;
            const double c0 = w0[a], c1 = w1[a], c2 = w2[a], c3 = w3[a];
            for (int i = 0; i < ABREAST; ++i) {
                s0[i] += c0 * x[i];
                s1[i] += c1 * x[i];
                s2[i] += c2 * x[i];
                s3[i] += c3 * x[i];
            }
        }
        for (int i = 0; i < ABREAST; ++i) square[i] += (s0[i] - b[j]) * (s0[i] - b[j]);
        if (more > 1)
            for (int i = 0; i < ABREAST; ++i) square[i] += (s1[i] - b[j + 1]) * (s1[i] - b[j + 1]);
        if (more > 2)
            for (int i = 0; i < ABREAST; ++i) square[i] += (s2[i] - b[j + 2]) * (s2[i] - b[j + 2]);
        if (more > 3)
            for (int i = 0; i < ABREAST; ++i) square[i] += (s3[i] - b[j + 3]) * (s3[i] - b[j + 3]);
        if (far == nullptr) continue;
        int open = 0;
        for (int i = 0; i < ABREAST; ++i) open |= square[i] > far[i] ? 0 : 1;
        if (!open) break;
    }
    std::memcpy(out, square, sizeof square);
}

inline void distances(const Matrix &Z, const Block<const double> &W, const Matrix &b,
                      const Ints &rows, const Ints &which, const Vector &far,
                      const Row<double> &out) {
    const Grid<const double> points = grid(Z);
    const std::int64_t d = points.columns, k = length(W), m = length(out);
    require_shape(W, k, d, d);
    require_shape(b, k, d);
    const bool limited = length(far) > 0;
    require_rows(m, rows, which);
    if (limited) require_rows(m, far);
    for (std::int64_t i = 0; i < m; ++i) {
        require(0 <= rows(i) && rows(i) < points.rows, "there is no such row");
        require(0 <= which(i) && which(i) < k, "there is no such component");
    }
    nb::gil_scoped_release free;
    std::vector<double> side(static_cast<std::size_t>(d * ABREAST), 0.0);
    double found[ABREAST], limit[ABREAST];
    for (std::int64_t at = 0; at < m;) {
        const std::int64_t c = which.data()[at];
        std::int64_t end = at;
        while (end < std::min(at + ABREAST, m) && which.data()[end] == c) ++end;
        for (std::int64_t i = at; i < end; ++i) {
            const double *z = points[rows.data()[i]];
            for (std::int64_t a = 0; a < d; ++a) side[a * ABREAST + i - at] = z[a];
        }
        for (std::int64_t i = 0; limited && i < ABREAST; ++i)
            limit[i] = i < end - at ? far.data()[at + i] : -1.0;
        measure(side.data(), &W(c, 0, 0), &b(c, 0), d, d, limited ? limit : nullptr, found);
        std::copy(found, found + (end - at), out.data() + at);
        at = end;
    }
}

inline void leading_distances(const Matrix &Z, const Block<const double> &W, const Matrix &b,
                              std::int64_t m, const Table<double> &out) {
    const Grid<const double> points = grid(Z);
    const Grid<double> to = grid(out);
    const std::int64_t d = points.columns, k = length(W);
    require_shape(W, k, d, d);
    require_shape(b, k, d);
    require_shape(out, points.rows, k);
    require(0 <= m && m <= d, "W has no such rows");
    nb::gil_scoped_release free;
    std::vector<double> side(static_cast<std::size_t>(m * ABREAST), 0.0);
    double found[ABREAST];
    for (std::int64_t start = 0; start < points.rows; start += ABREAST) {
        const std::int64_t n = std::min(ABREAST, points.rows - start);
        for (std::int64_t i = 0; i < n; ++i)
            for (std::int64_t a = 0; a < m; ++a) side[a * ABREAST + i] = points[start + i][a];
        for (std::int64_t c = 0; c < k; ++c) {
            measure(side.data(), &W(c, 0, 0), &b(c, 0), d, m, nullptr, found);
            for (std::int64_t i = 0; i < n; ++i) to[start + i][c] = found[i];
        }
    }
}

// Fill the inverse W (d, d) of a lower triangular matrix whose rows are packed, with zeros above.
SCSTREAM_BEST_PROCESSOR
static void invert(const double *L, std::int64_t d, double *__restrict W) {
    for (std::int64_t i = 0; i < d; ++i) {
        double *__restrict row = W + i * d;
        for (std::int64_t b = 0; b < d; ++b) row[b] = 0.0;
        for (std::int64_t a = 0; a < i; ++a) {
            const double by = L[a], *above = W + a * d;
            for (std::int64_t b = 0; b <= a; ++b) row[b] -= by * above[b];
        }
        for (std::int64_t b = 0; b < i; ++b) row[b] /= L[i];
        row[i] = 1.0 / L[i];
        L += i + 1;
    }
}

inline void invert_factors(const Matrix &factors, const Block<double> &W) {
    const Grid<const double> rows = grid(factors);
    const std::int64_t d = length(W, 2);
    require_shape(W, rows.rows, d);
    require_shape(factors, rows.rows, (d + 1) * (d + 2) / 2);
    nb::gil_scoped_release free;
    for (std::int64_t c = 0; c < rows.rows; ++c)
        invert(rows[c] + 1 + d, d, W.data() + c * d * d);
}

// Add w (1, z, z z') of four rows to sums (p,), to each number one row after another.
SCSTREAM_BEST_PROCESSOR
static void add_four(const double *const *z, const double *w, std::int64_t d,
                     double *__restrict to) {
    const double *z0 = z[0], *z1 = z[1], *z2 = z[2], *z3 = z[3];
    double *__restrict line = to + 1 + d;
    to[0] = to[0] + w[0] + w[1] + w[2] + w[3];
    for (std::int64_t a = 0; a < d; ++a) {
        const double x0 = w[0] * z0[a], x1 = w[1] * z1[a], x2 = w[2] * z2[a], x3 = w[3] * z3[a];
        to[1 + a] = to[1 + a] + x0 + x1 + x2 + x3;
        for (std::int64_t b = 0; b < d - a; ++b)
            line[b] = line[b] + x0 * z0[a + b] + x1 * z1[a + b] + x2 * z2[a + b] + x3 * z3[a + b];
        line += d - a;
    }
}

inline void sum_products(const Matrix &Z, const Vector &weight, const Vector &share, const Ints &z,
                         const Block<double> &out) {
    const Grid<const double> points = grid(Z);
    const std::int64_t n = points.rows, d = points.columns, p = (d + 1) * (d + 2) / 2;
    const std::int64_t k = length(out);
    require_shape(out, k, 2, p);
    require_rows(n, weight, share, z);
    nb::gil_scoped_release free;
    std::fill(out.data(), out.data() + 2 * k * p, 0.0);
    const Groups by(z.data(), n, k);
    const std::vector<double> zeros(static_cast<std::size_t>(d), 0.0);
    for (std::int64_t c = 0; c < k; ++c)
        for (std::int64_t side = 0; side < 2; ++side) {
            double *to = out.data() + (2 * c + side) * p;
            const double *held[4] = {zeros.data(), zeros.data(), zeros.data(), zeros.data()};
            double w[4] = {};
            int many = 0;
            for (std::int64_t at = by.first[c]; at < by.first[c + 1]; ++at) {
                const std::int64_t i = by.rows[at];
                const double two = weight.data()[i] * share.data()[i];
                const double mine = side ? two : weight.data()[i] - two;
                if (mine == 0.0) continue;
                held[many] = points[i];
                w[many++] = mine;
                if (many < 4) continue;
                add_four(held, w, d, to);
                many = 0;
            }
            if (many == 0) continue;
            std::fill(held + many, held + 4, zeros.data());
            std::fill(w + many, w + 4, 0.0);
            add_four(held, w, d, to);
        }
}

}  // namespace scstream
