// Steps of a batch for Gaussian clusters of few columns. What they do is the text of
// scstream/sampler: `forgetting`, `subclusters` and `split_merge`.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "gaussian.hpp"
#include "mixture.hpp"
#include "pass.hpp"

namespace scstream {

// Log marginals of clusters under a prior.
struct Marginals {
    Prior prior;
    double log_normaliser;
    std::int64_t failed = 0;

    std::int64_t p() const { return prior.p(); }

    // Fill those of m rows of statistics; rows that fail are NaN, and counted.
    void operator()(const double *s, std::int64_t m, double *out) {
        failed += log_normalisers(s, m, prior, out);
        for (std::int64_t i = 0; i < m; ++i) out[i] -= log_normaliser;
    }
};

inline Marginals marginals_of(const nb::tuple &prior) {
    const auto row = part<Vector>(prior, 0);
    return {prior_of(row, part<double>(prior, 1)), part<double>(prior, 2)};
}

// -- forgetting ---------------------------------------------------------------------------------

// By how much keeping less of a past must win, and how much less than usual it may be.
struct ForgetLimits {
    double alpha, reluctance, behind, least, place, margin;
};

// Finds shares of pasts worth keeping.
class Forgetting {
  public:
    Forgetting(const double *past, const double *now, std::int64_t k, Marginals &marginals)
        : past_(past), now_(now), k_(k), p_(marginals.p()), marginals_(marginals), share_(k) {}

    void keep(const double *shares, std::int64_t n_shares, const ForgetLimits &limits, double *kept) {
        std::vector<double> whole(k_), best(k_), last(k_), alone(k_), evidence(k_);
        std::vector<std::int64_t> which, moved;
        for (std::int64_t r = 0; r < k_; ++r) {
            kept[r] = 1.0;
            if (count(now_, r) > 0.0) which.push_back(r);
        }
        const auto all_try = [&](double share) {
            for (const std::int64_t r : which) share_[r] = share;
            attempt(which, evidence.data());
        };
        all_try(1.0);
        for (const std::int64_t r : which) {
            whole[r] = evidence[r];
            best[r] = evidence[r] + limits.reluctance;
        }
        for (std::int64_t i = 1; i < n_shares && !which.empty(); ++i) {
            all_try(shares[i]);
            if (i == 1) remove(which, [&](std::int64_t r) { return !(evidence[r] > whole[r]); });
            for (const std::int64_t r : which) {
                last[r] = evidence[r];
                if (!(evidence[r] > best[r])) continue;
                best[r] = evidence[r];
                kept[r] = shares[i];
            }
        }
        if (n_shares == 1 || which.empty()) return;
        present(which, alone.data());
        for (const std::int64_t r : which)
            share_[r] = std::min(1.0, limits.place / std::max(count(past_, r), 1e-12));
        attempt(which, evidence.data());
        for (const std::int64_t r : which) {
            const double n = std::max(count(past_, r), 1e-12), m = count(now_, r);
            const double anew = logarithm(limits.alpha) + log_gamma(m) + log_gamma(n) -
                                log_gamma(n + m) + alone[r];
            const bool near = evidence[r] - alone[r] > -limits.margin;
            if (!(anew < best[r] && (anew < whole[r] || near))) {
                kept[r] = 1.0;
            } else if (kept[r] <= shares[n_shares - 1] &&
                       shares[n_shares - 1] * n >= limits.behind) {
                kept[r] = shares[n_shares - 1];
                moved.push_back(r);
            }
        }
        halve(moved, limits.least, last, kept);
    }

  private:
    double count(const double *s, std::int64_t r) const { return s[r * p_]; }

    template <typename Gone>
    static void remove(std::vector<std::int64_t> &which, Gone gone) {
        which.erase(std::remove_if(which.begin(), which.end(), gone), which.end());
    }

    // Fill how probable the shares to try make the present of some clusters.
    void attempt(const std::vector<std::int64_t> &which, double *out) {
        const std::size_t m = which.size();
        rows_.resize(2 * m * p_);
        level_.resize(2 * m);
        for (std::size_t i = 0; i < m; ++i)
            for (std::int64_t q = 0; q < p_; ++q) {
                const std::int64_t r = which[i];
                const double left = share_[r] * past_[r * p_ + q];
                rows_[i * p_ + q] = left + now_[r * p_ + q];
                rows_[(m + i) * p_ + q] = left;
            }
        marginals_(rows_.data(), static_cast<std::int64_t>(2 * m), level_.data());
        for (std::size_t i = 0; i < m; ++i) out[which[i]] = level_[i] - level_[m + i];
    }

    // Fill the log marginals of the present alone.
    void present(const std::vector<std::int64_t> &which, double *out) {
        rows_.resize(which.size() * p_);
        level_.resize(which.size());
        for (std::size_t i = 0; i < which.size(); ++i)
            std::copy(now_ + which[i] * p_, now_ + (which[i] + 1) * p_, &rows_[i * p_]);
        marginals_(rows_.data(), static_cast<std::int64_t>(which.size()), level_.data());
        for (std::size_t i = 0; i < which.size(); ++i) out[which[i]] = level_[i];
    }

    // Halve shares while that is better and leaves enough points.
    void halve(std::vector<std::int64_t> which, double least, std::vector<double> &best,
               double *kept) {
        std::vector<double> evidence(k_);
        while (!which.empty()) {
            remove(which, [&](std::int64_t r) {
                share_[r] = 0.5 * kept[r];
                return !(share_[r] * count(past_, r) >= least);
            });
            attempt(which, evidence.data());
            remove(which, [&](std::int64_t r) { return !(evidence[r] > best[r]); });
            for (const std::int64_t r : which) {
                best[r] = evidence[r];
                kept[r] = share_[r];
            }
        }
    }

    const double *past_, *now_;
    const std::int64_t k_, p_;
    Marginals &marginals_;
    std::vector<double> share_, rows_, level_;
};

inline bool keep_shares(const Matrix &past, const Matrix &now, const nb::tuple &prior,
                        const Vector &shares, const nb::tuple &limits, const Row<double> &out) {
    Marginals marginals = marginals_of(prior);
    const std::int64_t k = length(past);
    for (const auto *rows : {&past, &now}) require_shape(*rows, k, marginals.p());
    require_rows(k, out);
    require(length(shares) > 0, "there must be shares");
    const auto limit = [&](std::size_t i) { return part<double>(limits, i); };
    const ForgetLimits all{limit(0), limit(1), limit(2), limit(3), limit(4), limit(5)};
    Forgetting(past.data(), now.data(), k, marginals)
        .keep(shares.data(), length(shares), all, out.data());
    return marginals.failed == 0;
}

// -- divisions ----------------------------------------------------------------------------------

inline Ratio ratio_of(const nb::tuple &how) {
    return {part<double>(how, 0), part<double>(how, 1), part<double>(how, 2)};
}

// Scores of sub-clusters (2 k, p) by their predictives.
class PartScores {
  public:
    PartScores(const Prior &prior, double alpha, std::int64_t k)
        : prior_(prior), alpha_(alpha), m_(2 * k), factors_(m_ * prior.p()),
          forms_(m_ * prior.p()), log_det_(m_), log_weight_(m_), level_(m_), power_(m_) {}

    // Make those of sums; false if a matrix fails.
    bool make(const double *sums) {
        const std::int64_t p = prior_.p();
        if (factor(sums, m_, 1, prior_, nullptr, factors_.data(), log_det_.data()) > 0) return false;
        for (std::int64_t r = 0; r < m_; ++r) log_weight_[r] = logarithm(sums[r * p] + 0.5 * alpha_);
        student_forms(factors_.data(), m_, prior_.d, forms_.data());
        student_levels(factors_.data(), m_, prior_, log_det_.data(), log_weight_.data(),
                       level_.data(), power_.data());
        return true;
    }

    Scores scores() const { return {forms_.data(), level_.data(), power_.data(), m_, prior_.p()}; }

  private:
    const Prior prior_;
    const double alpha_;
    const std::int64_t m_;
    std::vector<double> factors_, forms_, log_det_, log_weight_, level_, power_;
};

inline bool refine(const nb::tuple &rows, const Vector &weight, const nb::tuple &cuts,
                   const Row<const bool> &chosen, const nb::tuple &prior, const nb::tuple &how,
                   const Ints &z, const Row<std::int64_t> &trial, const nb::tuple &sums) {
    const Tried of(rows, weight, chosen, z, trial);
    const auto row = part<Vector>(prior, 0);
    const Prior of_clusters = prior_of(row, part<double>(prior, 1));
    const std::int64_t p = of.rows.statistics(), k = chosen.shape(0);
    const Scores first = scores_of(cuts, p);
    require(first.k == 2 * k && of_clusters.p() == p, "each cluster needs two components");
    PartScores parts(of_clusters, part<double>(how, 0), k);
    const Sums empty(k, p, false);
    Sums total = empty;
    const Stacks out(sums, empty);
    bool sound = true;
    {
        nb::gil_scoped_release free;
        std::vector<double> before;
        try_rows(of, first, 0, of.rows.n, total);
        for (auto left = part<std::int64_t>(how, 1); left > 0 && sound; --left) {
            if (total.current == before) break;
            before = total.current;
            sound = parts.make(before.data());
            total = empty;
            if (sound) try_rows(of, parts.scores(), 0, of.rows.n, total);
        }
    }
    if (!sound) return false;
    out.put({&total});
    return true;
}

// Fill the first parts (k, p) of pasts cut as the present (k, 2, p) was, or halved.
inline bool cut_pasts(const double *tried, const double *wholes, std::int64_t k, const Prior &prior,
                      double certain, double *first) {
    const std::int64_t p = prior.p(), d = prior.d;
    if (certain < 0.0) {
        for (std::int64_t i = 0; i < k * p; ++i) first[i] = 0.5 * wholes[i];
        return true;
    }
    std::vector<double> normal(k * d), offset(k);
    if (boundaries(tried, k, prior, normal.data(), offset.data()) > 0) return false;
    truncate(wholes, k, d, {normal.data(), offset.data(), k}, certain, first);
    return true;
}

inline std::int64_t judge_divisions(const Block<const double> &past, const Block<const double> &now,
                                    const Block<const double> &tried, const nb::tuple &entropies,
                                    const nb::tuple &prior, const nb::tuple &how,
                                    const Row<const bool> &chosen, const Table<double> &cut,
                                    const nb::tuple &out) {
    Marginals marginals = marginals_of(prior);
    const Ratio ratio = ratio_of(how);
    const std::int64_t k = length(past), p = marginals.p();
    const auto each = part<Block<double>>(out, 0);
    const auto whole = part<Row<double>>(out, 1);
    const auto better = part<Row<bool>>(out, 2);
    const auto entropy = part<Vector>(entropies, 0);
    const auto past_entropy = part<Matrix>(entropies, 1), now_entropy = part<Matrix>(entropies, 2);
    for (const auto *parts : {&past, &now, &tried}) require_shape(*parts, k, 2, p);
    for (const auto *pairs : {&past_entropy, &now_entropy}) require_shape(*pairs, k, k);
    require_rows(k, entropy, chosen, whole, better);
    require_shape(each, 2, k, 2);
    require_shape(cut, k, p);
    std::vector<double> rows(7 * k * p), level(7 * k);
    double *wholes = rows.data();  // the past's for now
    for (std::int64_t r = 0; r < k; ++r)
        for (std::int64_t q = 0; q < p; ++q)
            wholes[r * p + q] = past(r, 0, q) + past(r, 1, q);
    const double certain = part<double>(how, 3);
    if (!cut_pasts(tried.data(), wholes, k, marginals.prior, certain, cut.data())) return -1;
    // rows: pasts, wholes, presents, then parts as tried, and parts as they are
    const auto at = [&](std::int64_t block, std::int64_t r) { return &rows[(block * k + r) * p]; };
    for (std::int64_t r = 0; r < k; ++r)
        for (std::int64_t q = 0; q < p; ++q) {
            const double before = at(0, r)[q], one = past(r, 0, q) + now(r, 0, q),
                         other = past(r, 1, q) + now(r, 1, q), share = cut(r, q);
            at(1, r)[q] = one + other;
            at(2, r)[q] = now(r, 0, q) + now(r, 1, q);
            at(3, r)[q] = share + tried(r, 0, q);
            at(4, r)[q] = before - share + tried(r, 1, q);
            at(5, r)[q] = one;
            at(6, r)[q] = other;
        }
    marginals(rows.data(), 7 * k, level.data());
    std::int64_t apart = 0;
    for (std::int64_t r = 0; r < k; ++r) {
        const auto known = [&](std::int64_t block) { return level[block * k + r]; };
        const auto won = [&](std::int64_t one, std::int64_t other, double of_labels) {
            return ratio(at(one, r)[0], at(other, r)[0], known(one), known(other), known(1), of_labels);
        };
        const double as_tried = won(3, 4, entropy(r)),
                     as_is = won(5, 6, past_entropy(r, r) + now_entropy(r, r));
        better(r) = chosen(r) && as_tried > as_is;
        apart += chosen(r) && won(0, 2, 0.0) > std::max(better(r) ? as_tried : as_is, 0.0);
        whole(r) = known(1);
        for (int side = 0; side < 2; ++side) {
            each(0, r, side) = known((better(r) ? 3 : 5) + side);
            each(1, r, side) = known(5 + side);
        }
    }
    return marginals.failed == 0 ? apart : -1;
}

// -- moves --------------------------------------------------------------------------------------

// What moves must win besides: see `scstream.sampler.rules`.
struct Margins {
    double reluctance, most_reluctance, edges, edges_free, rows, entropy;
};

// The clusters as they stand: statistics (3 k, p), rows (k, 2), rivals and entropies (k, k).
struct ClusterState {
    Matrix everything;
    Table<const std::int64_t> rows, rivals;
    Matrix past_entropy, entropy;
    Matrix each;
    Vector whole;
    Ints lived;

    explicit ClusterState(const nb::tuple &given)
        : everything(part<Matrix>(given, 0)), rows(part<Table<const std::int64_t>>(given, 1)),
          rivals(part<Table<const std::int64_t>>(given, 2)), past_entropy(part<Matrix>(given, 3)),
          entropy(part<Matrix>(given, 4)), each(part<Matrix>(given, 5)), whole(part<Vector>(given, 6)),
          lived(part<Ints>(given, 7)) {
        const std::int64_t k = length(whole);
        require_rows(3 * k, everything);
        require_rows(k, lived);
        require_shape(rows, k, 2);
        require_shape(each, k, 2);
        require_shape(rivals, k, k);
        for (const auto *pairs : {&past_entropy, &entropy}) require_shape(*pairs, k, k);
    }

    std::int64_t k() const { return length(whole); }

    double count(std::int64_t r) const {
        return static_cast<double>(rows(r, 0)) + static_cast<double>(rows(r, 1));
    }

    // What a split of cluster r must win for the entropy about its edges.
    double edges(std::int64_t r, const Margins &margins, bool greedy) const {
        double before = 0.0, present = 0.0;
        for (std::int64_t s = 0; s < k(); ++s)
            if (s != r) {
                before += past_entropy(r, s);
                present += entropy(r, s);
            }
        const double n = count(r);
        if (greedy && n >= margins.rows && present > margins.entropy * n)
            return std::numeric_limits<double>::infinity();
        const double all = before + (greedy ? present : 0.0);
        return std::max(margins.edges * all - margins.edges_free, 0.0);
    }
};

// Whether some cluster may be split or dropped.
inline bool may_split(const ClusterState &now, const double *log_u, bool greedy, const Ratio &ratio,
                      const Margins &margins) {
    const std::int64_t k = now.k();
    for (std::int64_t r = 0; r < k; ++r) {
        const bool here = now.count(r) > 0.0;
        if (!here && !(now.everything(r, 0) >= 1.0)) return true;
        const double gain = ratio(now.everything(k + 2 * r, 0), now.everything(k + 2 * r + 1, 0),
                                  now.each(r, 0), now.each(r, 1), now.whole(r),
                                  now.past_entropy(r, r) + now.entropy(r, r));
        if (here && gain > log_u[r] && gain > log_u[r] + now.edges(r, margins, greedy)) return true;
    }
    return false;
}

inline bool may_merge(const ClusterState &now, const double *log_u, std::int64_t most,
                      const Ratio &ratio, const Margins &margins, Marginals &marginals) {
    const std::int64_t k = now.k(), p = marginals.p();
    std::vector<std::int64_t> top(k * most), pairs(2 * k * most);
    const std::int64_t m = find_neighbours(now.rivals.data(), k, most, top.data(), pairs.data());
    std::vector<double> rows(m * p), level(m);
    for (std::int64_t i = 0; i < m; ++i)
        for (std::int64_t q = 0; q < p; ++q)
            rows[i * p + q] = now.everything(pairs[2 * i], q) + now.everything(pairs[2 * i + 1], q);
    marginals(rows.data(), m, level.data());
    const Ratio free{ratio.alpha, 0.0, ratio.entropy};
    for (std::int64_t i = 0; i < m; ++i) {
        const std::int64_t a = pairs[2 * i], b = pairs[2 * i + 1];
        const double lost = free(now.everything(a, 0), now.everything(b, 0), now.whole(a),
                                 now.whole(b), level[i], now.past_entropy(a, b) + now.entropy(a, b));
        const auto age = static_cast<double>(std::min(now.lived(a), now.lived(b)));
        if (-lost > log_u[i] + std::min(margins.reluctance * age, margins.most_reluctance))
            return true;
    }
    return false;
}

inline bool may_move(const nb::tuple &standing, const Vector &log_u, bool greedy,
                     const nb::tuple &prior, const nb::tuple &how, const nb::tuple &limits) {
    Marginals marginals = marginals_of(prior);
    const ClusterState now(standing);
    const Ratio ratio = ratio_of(how);
    const auto limit = [&](std::size_t i) { return part<double>(limits, i); };
    const Margins margins{limit(0), limit(1), limit(2), limit(3), limit(4), limit(5)};
    const std::int64_t k = now.k(), most = std::min(length(log_u) / std::max<std::int64_t>(k, 1), k) - 1;
    require(length(log_u) >= k && length(now.everything, 1) == marginals.p(),
            "arrays do not belong together");
    const bool moves = may_split(now, log_u.data(), greedy, ratio, margins) ||
                       (most > 0 && may_merge(now, log_u.data() + k, most, ratio, margins, marginals));
    return moves || marginals.failed > 0;
}

}  // namespace scstream
