// Scores of a tile of rows in single precision, each row in a lane, and how far they may be off.
#pragma once

#include <cstdint>
#include <vector>

namespace scstream {

constexpr int TILE = 64;

// Parameters of k components in single precision.
struct Narrow {
    std::int64_t k, p;
    std::vector<float> eta;           // (k, p)
    std::vector<float> level, slope;  // (k,) of Student-t scores, else empty
    std::vector<float> reach;         // (p,): how far scores are off, for each statistic's size
    std::int32_t mask;                // the bits of a score that name its component
    float relative, base;             // scores are off by a share of their size and of this number
};

// What is proposed for the rows of a tile: the best three scores, and the components of two.
struct Proposals {
    alignas(64) float best[TILE], second[TILE], third[TILE], off[TILE];
    alignas(64) std::int32_t first[TILE], next[TILE], drawn[TILE];
    std::vector<float> scores, run;  // (k, TILE)
};

Narrow narrowed(const double *eta, const double *level, const double *power, std::int64_t k,
                std::int64_t p);

// Fill the proposals for statistics in columns (p, TILE).
void propose(const Narrow &by, const float *columns, Proposals &out);

// Draw components by uniforms, after proposals; -1 where they are too close to call. Scores may be
// off by a slack each.
void draw(const Narrow &by, const float *uniform, const float *slack, Proposals &out);

}  // namespace scstream
