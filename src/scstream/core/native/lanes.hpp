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

// Uniforms for labels and sub-labels of the rows from one on.
void fill_uniforms(const Key &key, std::int64_t row, Lane &label, Lane &sublabel);

// Replace x by level - power log(x) where the power is positive.
void finish_scores(const Lane &level, const Lane &power, Lane &x);

// Draw between two scores by uniforms: 1 for the second one.
void draw_between(const Lane &one, const Lane &other, const Lane &uniform, Lane &out);

// The doubt about labels that lead others by -gap.
void fill_certainties(const Lane &gap, Lane &doubt);

// Sides drawn by uniforms, given what the second one scores more; and the doubts.
void draw_sides(const Lane &gap, const Lane &uniform, Lane &share, Lane &doubt);

// The better sides, the probabilities of the second one, and their entropies.
void share_sides(const Lane &gap, Lane &share, Lane &doubt);

}  // namespace scstream
