// This file alone may fuse products and sums: nothing here decides, `pass.hpp` does in float64.
#include "proposals.hpp"

#include "elementary.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace scstream {

namespace {

constexpr int LANES = 16;
constexpr float LOWEST = -1e30f;
constexpr double HALF = 0x1p-24;    // the relative rounding of float32
constexpr float LOG_ERROR = 3e-7f;  // of the logarithm below, for numbers from 1 on

float most(double value) {  // what float32 cannot hold is off by any amount
    return value < 1e37 ? static_cast<float>(value) : std::numeric_limits<float>::infinity();
}

}  // namespace

Narrow narrowed(const double *eta, const double *level, const double *power, std::int64_t k,
                std::int64_t p) {
    Narrow out{k, p, std::vector<float>(k * p), {}, {}, std::vector<float>(p), 0, 0.0f, 0.0f};
    while (out.mask < k - 1) out.mask = 2 * out.mask + 1;
    out.relative = static_cast<float>(out.mask + 8) * 0x1p-23f;
    std::vector<double> size(p, 0.0);
    double high = LOWEST, steepest = 0.0;  // what all scores have in common may go
    for (std::int64_t c = 0; c < k; ++c)
        high = std::max(high, power && power[c] > 0.0 ? level[c] : eta[c * p]);
    if (!std::isfinite(high)) high = 0.0;
    if (power != nullptr) {
        out.level.resize(k);
        out.slope.resize(k);
    }
    for (std::int64_t c = 0; c < k; ++c) {
        const bool student = power != nullptr && power[c] > 0.0;
        const double by = student ? std::max(power[c], 1.0) : 1.0;
        for (std::int64_t q = 0; q < p; ++q) {
            const double value = eta[c * p + q] - (q == 0 && !student ? high : 0.0);
            size[q] = std::max(size[q], std::fabs(value) * by);
            out.eta[c * p + q] = static_cast<float>(value);
        }
        if (power == nullptr) continue;
        out.level[c] = student ? static_cast<float>(level[c] - high) : 0.0f;
        out.slope[c] = student ? static_cast<float>(power[c]) : 0.0f;
        if (student) {
            steepest = std::max(steepest, power[c]);
            out.base = std::max(out.base, most(std::fabs(level[c] - high)));
        }
    }
    // three numbers of a statistic are rounded, and a parameter, p products and p sums
    for (std::int64_t q = 0; q < p; ++q)
        out.reach[q] = most(size[q] * (1.1 * static_cast<double>(p + 6) * HALF) + 1e-30);
    out.reach[0] += most(steepest * LOG_ERROR);
    return out;
}

SCSTREAM_BEST_PROCESSOR
static void fill_scores(const float *eta, const float *columns, std::int64_t k, std::int64_t p,
                        float *scores) {
    std::int64_t c = 0;
    for (; c + 4 <= k; c += 4) {
        const float *e = eta + c * p;
        for (int start = 0; start < TILE; start += LANES) {
            float s0[LANES] = {}, s1[LANES] = {}, s2[LANES] = {}, s3[LANES] = {};
            for (std::int64_t q = 0; q < p; ++q) {
                const float *t = columns + q * TILE + start;
                const float a = e[q], b = e[p + q], f = e[2 * p + q], g = e[3 * p + q];
                for (int i = 0; i < LANES; ++i) {
                    s0[i] += a * t[i];
                    s1[i] += b * t[i];
                    s2[i] += f * t[i];
                    s3[i] += g * t[i];
                }
            }
            float *to = scores + c * TILE + start;
            std::memcpy(to, s0, sizeof s0);
            std::memcpy(to + TILE, s1, sizeof s1);
            std::memcpy(to + 2 * TILE, s2, sizeof s2);
            std::memcpy(to + 3 * TILE, s3, sizeof s3);
        }
    }
    for (; c < k; ++c) {
        float s[TILE] = {};
        for (std::int64_t q = 0; q < p; ++q)
            for (int i = 0; i < TILE; ++i) s[i] += eta[c * p + q] * columns[q * TILE + i];
        std::memcpy(scores + c * TILE, s, sizeof s);
    }
}

// Replace products by level - slope log(product): of 2^e g, log g by the series of atanh.
SCSTREAM_BEST_PROCESSOR
static void take_logarithms(const float *level, const float *slope, std::int64_t k, float *scores) {
    for (std::int64_t c = 0; c < k; ++c) {
        if (!(slope[c] > 0.0f)) continue;
        float *s = scores + c * TILE;
        for (int i = 0; i < TILE; ++i) s[i] = s[i] > 1.0f ? s[i] : 1.0f;
        for (int i = 0; i < TILE; ++i) {
            const auto bits = bits_of<std::int32_t>(s[i]);
            const std::int32_t e = (bits - 0x3f3504f3) >> 23;  // from sqrt(.5) on
            const float f = bits_of<float>(bits - e * (1 << 23)) - 1.0f;
            const float r = f / (2.0f + f), z = r * r;
            const float log_g =
                r * (2.0f + z * (0.66666669f + z * (0.4f + z * (0.2857143f + z * 0.2222222f))));
            s[i] = level[c] - slope[c] * (static_cast<float>(e) * 0.69314718f + log_g);
        }
    }
}

// Find the best three scores. The last bits of each become the number of its component: then the
// larger of two scores is all that has to be found out.
SCSTREAM_BEST_PROCESSOR
static void take_best(const float *scores, std::int64_t k, std::int32_t mask, Proposals &out) {
    for (int start = 0; start < TILE; start += LANES) {
        float best[LANES], second[LANES], third[LANES];
        for (int i = 0; i < LANES; ++i) best[i] = second[i] = third[i] = LOWEST;
        for (std::int64_t c = 0; c < k; ++c) {
            const float *from = scores + c * TILE + start;
            const auto name = static_cast<std::int32_t>(c);
            for (int i = 0; i < LANES; ++i) {
                const float high = from[i] > LOWEST ? from[i] : LOWEST;  // of a NaN as well
                const float s = bits_of<float>((bits_of<std::int32_t>(high) & ~mask) | name);
                const float less = s < best[i] ? s : best[i];
                const float least = less < second[i] ? less : second[i];
                best[i] = s > best[i] ? s : best[i];
                second[i] = less > second[i] ? less : second[i];
                third[i] = least > third[i] ? least : third[i];
            }
        }
        for (int i = 0; i < LANES; ++i) {
            out.first[start + i] = bits_of<std::int32_t>(best[i]) & mask;
            out.next[start + i] = bits_of<std::int32_t>(second[i]) & mask;
        }
        std::memcpy(out.best + start, best, sizeof best);
        std::memcpy(out.second + start, second, sizeof second);
        std::memcpy(out.third + start, third, sizeof third);
    }
}

SCSTREAM_BEST_PROCESSOR
static void fill_errors(const float *reach, const float *columns, std::int64_t p, float *off) {
    float sum[TILE] = {};
    for (std::int64_t q = 0; q < p; ++q)
        for (int i = 0; i < TILE; ++i) sum[i] += reach[q] * std::fabs(columns[q * TILE + i]);
    std::memcpy(off, sum, sizeof sum);
}

// Fill running sums of exp(score - best) over components, by 2^n 2^f with the series of 2^f.
SCSTREAM_BEST_PROCESSOR
static void fill_sums(const float *scores, const float *best, std::int64_t k, float *run) {
    float sum[TILE] = {};
    for (std::int64_t c = 0; c < k; ++c) {
        const float *s = scores + c * TILE;
        float *to = run + c * TILE;
        for (int i = 0; i < TILE; ++i) {
            const float x = (s[i] - best[i]) * 1.44269504f;
            to[i] = x > -40.0f ? (x < 1.0f ? x : 1.0f) : -40.0f;
        }
        for (int i = 0; i < TILE; ++i) {
            const float t = to[i] + 12582912.0f;  // 1.5 * 2^23: what is added loses its fraction
            const float f = to[i] - (t - 12582912.0f);
            const float power =
                1.0f + f * (0.69314718f +
                            f * (0.24022651f +
                                 f * (0.055504109f + f * (0.0096181291f + f * 0.0013333558f))));
            const float scale = bits_of<float>(
                static_cast<std::int32_t>((bits_of<std::uint32_t>(t) << 23) + 0x3f800000u));
            sum[i] += power * scale;
            to[i] = sum[i];
        }
    }
}

// Count the components whose running sums are at most so large.
SCSTREAM_BEST_PROCESSOR
static void count_below(const float *run, const float *level, std::int64_t k, std::int32_t *out) {
    std::int32_t count[TILE] = {};
    for (std::int64_t c = 0; c < k; ++c)
        for (int i = 0; i < TILE; ++i) count[i] += run[c * TILE + i] <= level[i];
    std::memcpy(out, count, sizeof count);
}

void draw(const Narrow &by, const float *uniform, const float *slack, Proposals &out) {
    const std::int64_t k = by.k;
    out.run.resize(k * TILE);
    fill_sums(out.scores.data(), out.best, k, out.run.data());
    const float *total = out.run.data() + (k - 1) * TILE;
    const float rounding = static_cast<float>(k + 8) * 2.4e-7f;
    float low[TILE], high[TILE];
    for (int i = 0; i < TILE; ++i) {  // weights may be wrong by a factor
        const float u = uniform[i], w = slack[i] + 1e-6f, f = (1.0f + w) / (1.0f - w);
        low[i] = (u / (f - (f - 1.0f) * u) - rounding) * total[i];
        high[i] = (f * u / (1.0f + (f - 1.0f) * u) + rounding) * total[i];
    }
    count_below(out.run.data(), low, k, out.drawn);
    for (int i = 0; i < TILE; ++i) {
        const std::int32_t at = out.drawn[i];
        const bool sure = slack[i] < 0.25f && at < k && out.run[at * TILE + i] > high[i];
        if (!sure) out.drawn[i] = -1;
    }
}

void propose(const Narrow &by, const float *columns, Proposals &out) {
    out.scores.resize(by.k * TILE);
    fill_scores(by.eta.data(), columns, by.k, by.p, out.scores.data());
    if (!by.slope.empty())
        take_logarithms(by.level.data(), by.slope.data(), by.k, out.scores.data());
    take_best(out.scores.data(), by.k, by.mask, out);
    fill_errors(by.reach.data(), columns, by.p, out.off);
}

}  // namespace scstream
