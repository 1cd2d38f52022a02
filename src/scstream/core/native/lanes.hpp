// What is computed of each row of a tile alone, all rows at once.
#pragma once

#include <cstdint>

#include "elementary.hpp"
#include "proposals.hpp"

namespace scstream {

// A number for each row of a tile.
struct alignas(64) Lane {
    double at[TILE];
};

// Rows (n, d) of doubles or floats, and the frame of their statistics.
struct Rows {
    const double *wide;
    const float *narrow;
    const double *shift, *scale;
    std::int64_t n, d;

    std::int64_t statistics() const { return (d + 1) * (d + 2) / 2; }

    double operator()(std::int64_t i, std::int64_t j) const {
        return wide ? wide[i * d + j] : narrow[i * d + j];
    }
};

// Fill the statistics (p, TILE) of some rows, each in a lane.
void fill_columns(const Rows &rows, const std::int64_t *row, double *columns);

// Fill the same numbers in single precision.
void narrow_columns(const double *columns, std::int64_t p, float *out);

// Fill the same statistics (TILE, p), row after row.
void turn_columns(const double *columns, std::int64_t p, double *rows);

// Fill the products of m of these rows with two components each, of the parameters (k, p).
void pair_products(const double *rows, std::int64_t p, std::int64_t m, const std::int64_t *row,
                   const double *eta, const std::int64_t *one, const std::int64_t *other, Lane &x,
                   Lane &y);

// Fill the products of m of these rows with both parts of a cluster each, of parameters (k, p, 2).
void side_products(const double *rows, std::int64_t p, std::int64_t m, const double *both,
                   const std::int64_t *cluster, Lane &x, Lane &y);

// Add m of these rows, times their weights, to the sums (cells, p) of cells, -1 for none.
void add_rows(const double *rows, std::int64_t p, std::int64_t m, const std::int64_t *cell,
              const Lane &weight, double *sums);

// Fill how far each of a row's best three scores is off, at most; returns how many of m rows may
// get another label than the best.
std::int64_t fill_errors(const Proposals &of, const Narrow &by, std::int64_t m, Lane &off);

// Uniforms for labels and sub-labels of the rows from one on.
void fill_uniforms(const Key &key, std::int64_t row, Lane &label, Lane &sublabel);

// Replace x by level - power log(x) where the power is positive.
void finish_scores(const Lane &level, const Lane &power, Lane &x);

// Draw between two scores by uniforms: 1 for the second one.
void draw_between(const Lane &one, const Lane &other, const Lane &uniform, Lane &out);

// The entropy about labels that lead others by -gap.
void fill_certainties(const Lane &gap, Lane &entropy);

// Sides drawn by uniforms, given what the second one scores more; and the entropies.
void draw_sides(const Lane &gap, const Lane &uniform, Lane &share, Lane &entropy);

// The better sides, the probabilities of the second one, and their entropies.
void share_sides(const Lane &gap, Lane &share, Lane &entropy);

}  // namespace scstream
