// The mixture: weights drawn, ratios of splits, and which clusters are neighbours.
#pragma once

#include <algorithm>
#include <limits>

#include "arrays.hpp"
#include "elementary.hpp"

namespace scstream {

inline void log_gammas(const Vector &x, const Row<double> &out) {
    require(x.shape(0) == out.shape(0), "as many results as numbers");
    for (std::size_t i = 0; i < x.shape(0); ++i) out(i) = log_gamma(x(i));
}

// Subtract the logarithm of the sum of exponentials, that of `more` included.
inline void normalise(double *logs, std::int64_t n, double more) {
    double top = more, total = 0.0;
    for (std::int64_t i = 0; i < n; ++i) top = std::max(top, logs[i]);
    for (std::int64_t i = 0; i < n; ++i) total += exponential(std::max(logs[i] - top, -700.0));
    if (more > -std::numeric_limits<double>::infinity())
        total += exponential(std::max(more - top, -700.0));
    const double level = top + logarithm(total);
    for (std::int64_t i = 0; i < n; ++i) logs[i] -= level;
}

inline void log_weights(const Vector &n, const Vector &gamma, const Vector &u,
                        const Row<double> &out) {
    const std::int64_t k = length(out) / 3;
    require_rows(3 * k, out);
    require_rows(3 * k + 1, n, gamma, u);
    const auto drawn = [&](std::int64_t r) {
        return logarithm(std::max(gamma(r), 1e-300)) + logarithm(std::max(1.0 - u(r), 1e-300)) / n(r);
    };
    for (std::int64_t r = 0; r < 3 * k; ++r) out(r) = drawn(r);
    normalise(out.data(), k, drawn(3 * k));
    for (std::int64_t r = 0; r < k; ++r)
        normalise(out.data() + k + 2 * r, 2, -std::numeric_limits<double>::infinity());
}

// What makes up the ratio of a split.
struct Ratio {
    double alpha, least, entropy;

    // Of parts that count a and b, with log marginals, against the whole.
    double operator()(double a, double b, double each, double other, double whole,
                      double of_labels) const {
        if (!(a > least && b > least)) return -std::numeric_limits<double>::infinity();
        // the sum is the same whichever part comes first
        const double gain = (log_gamma(a) + each) + (log_gamma(b) + other);
        return logarithm(alpha) + gain - log_gamma(a + b) - whole + entropy * of_labels;
    }
};

inline void split_ratios(const Matrix &n, const Matrix &each, const Vector &whole,
                         const Vector &entropy, double alpha, double least, const Row<double> &out) {
    const std::int64_t k = length(out);
    for (const auto *parts : {&n, &each}) require_shape(*parts, k, 2);
    require_rows(k, whole, entropy);
    const Ratio ratio{alpha, least, 1.0};
    for (std::int64_t r = 0; r < k; ++r)
        out(r) = ratio(n(r, 0), n(r, 1), each(r, 0), each(r, 1), whole(r), entropy(r));
}

// Fill the `most` commonest rivals of k clusters, and pairs of neighbours; return how many.
inline std::int64_t find_neighbours(const std::int64_t *rivals, std::int64_t k, std::int64_t most,
                                    std::int64_t *top, std::int64_t *pairs) {
    const auto common = [&](std::int64_t a, std::int64_t b) {
        return static_cast<std::int64_t>(static_cast<std::uint64_t>(rivals[a * k + b]) +
                                         static_cast<std::uint64_t>(rivals[b * k + a]));
    };
    for (std::int64_t a = 0; a < k; ++a) {
        std::int64_t *best = top + a * most;
        std::fill(best, best + most, -1);
        for (std::int64_t b = 0; b < k; ++b) {
            if (b == a || common(a, b) <= 0) continue;
            std::int64_t j = most;
            for (; j > 0 && (best[j - 1] < 0 || common(a, b) > common(a, best[j - 1])); --j)
                if (j < most) best[j] = best[j - 1];
            if (j < most) best[j] = b;
        }
    }
    std::int64_t found = 0;
    for (std::int64_t a = 0; a < k; ++a)
        for (std::int64_t j = 0; j < most && top[a * most + j] >= 0; ++j) {
            const std::int64_t b = top[a * most + j], *theirs = top + b * most;
            if (a > b && std::find(theirs, theirs + most, a) != theirs + most) continue;
            pairs[2 * found] = std::min(a, b);
            pairs[2 * found++ + 1] = std::max(a, b);
        }
    return found;
}

inline std::int64_t neighbours(const Table<const std::int64_t> &rivals,
                               const Table<std::int64_t> &top, const Table<std::int64_t> &pairs) {
    const std::int64_t k = length(rivals), most = length(top, 1);
    require_shape(rivals, k, k);
    require_shape(top, k);
    require_shape(pairs, k * most, 2);
    return find_neighbours(rivals.data(), k, most, top.data(), pairs.data());
}

}  // namespace scstream
