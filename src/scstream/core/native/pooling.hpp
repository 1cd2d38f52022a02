// What Gaussian clusters pool: see scstream/core/plain/pooling.py.
#pragma once

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include <nanobind/stl/pair.h>

#include "gaussian.hpp"

namespace scstream {

// Whether most rows are in clusters whose values of a column are far below the largest.
template <typename Value>
bool stand_out(const Matrix &s, double most, double times, Value value) {
    const std::int64_t k = length(s);
    double top = 0.0, all = 0.0, others = 0.0;
    for (std::int64_t r = 0; r < k; ++r) {
        top = std::max(top, value(r));
        all += s(r, 0);
    }
    for (std::int64_t r = 0; r < k; ++r) others += times * value(r) >= top ? s(r, 0) : 0.0;
    return others < (1.0 - most) * all;
}

// The least share of a column's square that the columns before it do not determine.
inline double least_alone(const Table<double> &scatter) {
    const std::int64_t d = length(scatter);
    std::vector<double> L(d * d);
    double least = 1.0;
    for (std::int64_t i = 0; i < d; ++i) {
        if (scatter(i, i) == 0.0) continue;
        for (std::int64_t j = 0; j <= i; ++j) {
            if (scatter(j, j) == 0.0) continue;
            double x = scatter(i, j);
            for (std::int64_t a = 0; a < j; ++a) x -= L[i * d + a] * L[j * d + a];
            L[i * d + j] = j < i ? x / L[j * d + j] : std::sqrt(x);
        }
        const double pivot = L[i * d + i];
        if (!(pivot > 0.0)) return 0.0;
        least = std::min(least, pivot * pivot / scatter(i, i));
    }
    return least;
}

inline std::pair<double, bool> pool(const Matrix &s, double most, double times, const Table<double> &out) {
    constexpr double KNOWN = 10.0, LITTLE = 1e-9;
    const std::int64_t k = length(s), d = columns_of(length(s, 1));
    require_shape(out, d, d);
    const auto rows = [&](std::int64_t r) { return std::max(s(r, 0), 1e-300); };
    double dof = 0.0;
    for (std::int64_t r = 0; r < k; ++r) dof += s(r, 0) - (s(r, 0) != 0.0);
    bool wide = false;
    std::int64_t q = 1 + d;
    for (std::int64_t i = 0; i < d; ++i)
        for (std::int64_t j = i; j < d; ++j, ++q) {
            double whole = 0.0, between = 0.0;
            for (std::int64_t r = 0; r < k; ++r) {
                whole += s(r, q);
                between += s(r, 1 + i) / rows(r) * s(r, 1 + j);
            }
            out(i, j) = out(j, i) = whole - between;
            if (i == j)
                wide = stand_out(s, most, times, [&](std::int64_t r) {
                    const double mean = s(r, 1 + i) / rows(r);
                    return s(r, q) / rows(r) - mean * mean;
                }) || wide;
        }
    const double columns = static_cast<double>(d), spare = std::max(dof, 1.0);
    double more = columns, little = 1e-6;
    if (spare >= KNOWN * columns && !wide && least_alone(out) * spare < columns) {
        more = 0.0;
        little = LITTLE;
    }
    for (std::int64_t i = 0; i < d; ++i)
        for (std::int64_t j = 0; j < d; ++j)
            out(i, j) = i == j ? (1.0 + little) * out(i, i) / spare + 1e-14
                               : out(i, j) / (spare + more);
    return {dof, wide};
}

inline bool middle(const Matrix &s, double most, double times, const Row<double> &out) {
    const std::int64_t k = length(s), d = columns_of(length(s, 1));
    require_shape(out, d);
    bool astray = false;
    for (std::int64_t i = 0; i < d; ++i) {
        double n = 0.0, sum = 0.0;
        for (std::int64_t r = 0; r < k; ++r) {
            n += s(r, 0);
            sum += s(r, 1 + i);
        }
        const double mean = out(i) = sum / n;
        astray = stand_out(s, most, times, [&](std::int64_t r) {
            const double off = s(r, 1 + i) / std::max(s(r, 0), 1e-300) - mean;
            return s(r, 0) > 0.0 ? off * off : 0.0;
        }) || astray;
    }
    return astray;
}

inline double set_prior(double kappa, double nu, const Vector &mean, const Matrix &psi,
                        const Row<double> &row) {
    const std::int64_t d = length(mean);
    require(columns_of(length(row)) == d, "arrays do not belong together");
    require_shape(psi, d, d);
    std::int64_t q = 1 + d;
    row(0) = kappa;
    for (std::int64_t i = 0; i < d; ++i) {
        row(1 + i) = kappa * mean(i);
        for (std::int64_t j = i; j < d; ++j, ++q)
            row(q) = nu * psi(i, j) + kappa * mean(i) * mean(j);
    }
    const std::vector<double> nothing(length(row));
    double level;
    log_normalisers(nothing.data(), 1, {row.data(), d, nu - kappa}, &level);
    return level;
}

inline void widen_ends(const nb::object &rows, const Table<double> &ends) {
    const nb::tuple given = nb::make_tuple(rows);
    require_shape(ends, 2);
    const auto widen = [&](const auto &of) {
        require_shape(of, length(of), length(ends, 1));
        const nb::gil_scoped_release free;
        const auto table = grid(of);
        for (std::int64_t i = 0; i < table.rows; ++i)
            for (std::int64_t j = 0; j < table.columns; ++j) {
                const double x = table[i][j];
                if (!(ends(0, j) <= x)) ends(0, j) = x == x ? x : ends(0, j);
                if (!(ends(1, j) >= x)) ends(1, j) = x == x ? x : ends(1, j);
            }
    };
    Matrix wide;
    if (found(given, 0, wide))
        widen(wide);
    else
        widen(part<Table<const float>>(given, 0));
}

}  // namespace scstream
