// Gaussian clusters of few columns: posteriors, normalisers, draws, predictives and cuts.
//
// Statistics (k, p) are packed: a count, a vector (d,) and the upper triangle of a matrix, row after
// row. Of a Cholesky factor it is the lower one.
#pragma once

#include <cstdint>
#include <vector>

#include "arrays.hpp"

namespace scstream {

constexpr std::int64_t FEW_COLUMNS = 64;  // more are left to matrix libraries

// A normal-inverse-Wishart prior: its row (p,), and what degrees of freedom exceed the count by.
struct Prior {
    const double *row;
    std::int64_t d;
    double more = 0.0;

    std::int64_t p() const { return (d + 1) * (d + 2) / 2; }
};

// Planes (k, d) that cut clusters in two, and offsets (k,).
struct Planes {
    const double *normal, *offset;
    std::int64_t k;
};

// The functions of scstream/core/__init__.py on bare arrays: `s` is (k, groups, p), and `vector`
// (k, d) or null. Those that may fail return how often.
std::int64_t factor(const double *s, std::int64_t k, std::int64_t groups, const Prior &prior,
                    const double *vector, double *out, double *log_det);
std::int64_t log_normalisers(const double *s, std::int64_t k, const Prior &prior, double *out);
void student_forms(const double *factors, std::int64_t k, std::int64_t d, double *out);
void student_levels(const double *factors, std::int64_t k, const Prior &prior,
                    const double *log_det, const double *log_weight, double *level, double *power);
std::int64_t boundaries(const double *both, std::int64_t k, const Prior &prior, double *normal,
                        double *offset);
void truncate(const double *past, std::int64_t m, std::int64_t d, const Planes &planes,
              double certain, double *out);

// -- what Python calls --------------------------------------------------------------------------

// The columns of which rows have p statistics.
inline std::int64_t columns_of(std::int64_t p) {
    std::int64_t d = 0;
    while ((d + 1) * (d + 2) / 2 < p) ++d;
    require(d > 0 && d <= FEW_COLUMNS && (d + 1) * (d + 2) / 2 == p,
            "rows have the statistics of 1 to 64 columns");
    return d;
}

inline Prior prior_of(const Vector &row, double more = 0.0) {
    return {row.data(), columns_of(length(row)), more};
}

inline std::int64_t py_factor(const Block<const double> &s, const Vector &row, const Matrix &vector,
                              const Table<double> &out, const Row<double> &log_det) {
    const Prior prior = prior_of(row);
    const std::int64_t k = length(s), groups = length(s, 1), p = prior.p();
    const bool given = length(vector) > 0;
    require(groups > 0, "there must be groups");
    require_shape(s, k, groups, p);
    if (given) require_shape(vector, k, prior.d);
    require_shape(out, k, p);
    require_shape(log_det, k);
    return factor(s.data(), k, groups, prior, given ? vector.data() : nullptr, out.data(),
                  log_det.data());
}

inline std::int64_t py_log_normalisers(const Matrix &s, const Vector &row, double more,
                                       const Row<double> &out) {
    const Prior prior = prior_of(row, more);
    require_shape(s, length(out), prior.p());
    return log_normalisers(s.data(), length(s), prior, out.data());
}

void drawn_scores(const Matrix &factors, const Matrix &chi, const Matrix &low, const Matrix &noise,
                  const Vector &log_weight, const Table<double> &out);

inline void py_student_forms(const Matrix &factors, const Table<double> &out) {
    const std::int64_t k = length(factors), p = length(factors, 1);
    require_shape(out, k, p);
    student_forms(factors.data(), k, columns_of(p), out.data());
}

inline std::int64_t py_predictives(const Matrix &s, const Vector &row, double more,
                                   const Vector &log_weight, const Table<double> &factors,
                                   const Row<double> &level, const Row<double> &power) {
    const Prior prior = prior_of(row, more);
    const std::int64_t k = length(s);
    require_shape(s, k, prior.p());
    require_shape(factors, k, prior.p());
    require_rows(k, log_weight, level, power);
    std::vector<double> log_det(k);
    const std::int64_t failed = factor(s.data(), k, 1, prior, nullptr, factors.data(), log_det.data());
    student_levels(factors.data(), k, prior, log_det.data(), log_weight.data(), level.data(),
                   power.data());
    return failed;
}

void directions(const Matrix &s, const Matrix &member, const Ints &attempt, std::int64_t axes,
                const Vector &row, const Table<double> &out);

inline std::int64_t py_boundaries(const Block<const double> &both, const Vector &row, double more,
                                  const Table<double> &normal, const Row<double> &offset) {
    const Prior prior = prior_of(row, more);
    const std::int64_t k = length(both);
    require_shape(both, k, 2, prior.p());
    require_shape(normal, k, prior.d);
    require_shape(offset, k);
    return boundaries(both.data(), k, prior, normal.data(), offset.data());
}

inline void py_truncate(const Matrix &past, const Matrix &normal, const Vector &offset,
                        double certain, const Table<double> &out) {
    const std::int64_t m = length(past), p = length(past, 1), d = columns_of(p), k = length(normal);
    require(k > 0 || m == 0, "there must be boundaries");
    require_shape(normal, k, d);
    require_shape(offset, k);
    require_shape(out, m, p);
    truncate(past.data(), m, d, {normal.data(), offset.data(), k}, certain, out.data());
}

}  // namespace scstream
