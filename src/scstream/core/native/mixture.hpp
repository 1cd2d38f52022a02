// The mixture: weights drawn, ratios of splits, and which clusters are neighbours.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "arrays.hpp"
#include "elementary.hpp"

namespace scstream {

inline void log_gammas(const Row<const double> &x, const Row<double> &out) {
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

inline void log_weights(const Row<const double> &n, const Row<const double> &gamma,
                        const Row<const double> &u, const Row<double> &out) {
    const auto m = static_cast<std::int64_t>(n.shape(0)), k = (m - 1) / 3;
    require(m == 3 * k + 1, "k clusters have 3 k + 1 counts");
    require(gamma.shape(0) == n.shape(0) && u.shape(0) == n.shape(0), "as many draws as counts");
    require(static_cast<std::int64_t>(out.shape(0)) == 3 * k, "3 k weights");
    const auto drawn = [&](std::int64_t r) {
        return logarithm(std::max(gamma(r), 1e-300)) + logarithm(std::max(1.0 - u(r), 1e-300)) / n(r);
    };
    for (std::int64_t r = 0; r < 3 * k; ++r) out(r) = drawn(r);
    normalise(out.data(), k, drawn(3 * k));
    for (std::int64_t r = 0; r < k; ++r)
        normalise(out.data() + k + 2 * r, 2, -std::numeric_limits<double>::infinity());
}

inline void split_ratios(const Table<const double> &n, const Table<const double> &each,
                         const Row<const double> &whole, const Row<const double> &doubt,
                         double alpha, double least, const Row<double> &out) {
    const std::size_t k = out.shape(0);
    require(n.shape(0) == k && n.shape(1) == 2 && each.shape(0) == k && each.shape(1) == 2 &&
                whole.shape(0) == k && doubt.shape(0) == k,
            "arrays do not belong together");
    const double log_alpha = logarithm(alpha);
    for (std::size_t r = 0; r < k; ++r) {
        const double a = n(r, 0), b = n(r, 1);
        if (a > least && b > least) {
            // the sum is the same whichever part comes first
            const double gain = (log_gamma(a) + each(r, 0)) + (log_gamma(b) + each(r, 1));
            out(r) = log_alpha + gain - log_gamma(a + b) - whole(r) + doubt(r);
        } else {
            out(r) = -std::numeric_limits<double>::infinity();
        }
    }
}

inline void mirror(const Table<double> &pairs) {
    const std::size_t k = pairs.shape(0);
    require(pairs.shape(1) == k, "pairs are of the same clusters");
    for (std::size_t a = 0; a < k; ++a)
        for (std::size_t b = a + 1; b < k; ++b) pairs(a, b) = pairs(b, a) = pairs(a, b) + pairs(b, a);
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
    const std::size_t k = rivals.shape(0), most = top.shape(1);
    require(rivals.shape(1) == k && top.shape(0) == k && pairs.shape(0) == k * most &&
                pairs.shape(1) == 2,
            "arrays do not belong together");
    return find_neighbours(rivals.data(), static_cast<std::int64_t>(k),
                           static_cast<std::int64_t>(most), top.data(), pairs.data());
}

}  // namespace scstream
