// The pass over rows whose statistics are (1, z, z z'): labels, sub-labels, entropies and sums.
//
// Scores are proposed in float32 for a tile of rows, see `proposals`. Where they leave the best
// label, the second choice or the entropy open, those that may matter are computed in float64.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include <nanobind/stl/optional.h>

#include "arrays.hpp"
#include "chunks.hpp"
#include "elementary.hpp"
#include "lanes.hpp"
#include "proposals.hpp"

namespace scstream {

constexpr double NO_SCORE = -std::numeric_limits<double>::infinity();

inline Rows rows_of(const nb::tuple &given) {
    Rows out{};
    const auto size = [&out](const auto &rows) {
        out.n = length(rows);
        out.d = length(rows, 1);
        return rows.data();
    };
    Matrix wide;
    if (found(given, 0, wide))
        out.wide = size(wide);
    else
        out.narrow = size(part<Table<const float>>(given, 0));
    const auto shift = part<Vector>(given, 1), scale = part<Vector>(given, 2);
    require(length(shift) == out.d && length(scale) == out.d, "the frame has other columns");
    out.shift = shift.data();
    out.scale = scale.data();
    return out;
}

// Scores T @ eta, or level - power log(T @ eta) where the power is positive.
struct Scores {
    const double *eta, *level, *power;
    std::int64_t k, p;

    double operator()(const double *t, std::int64_t c) const {
        const double *e = eta + c * p;
        double x = 0.0;
        for (std::int64_t q = 0; q < p; ++q) x += t[q] * e[q];
        return finished(x, c);
    }

    // The score of component c of which the product is x.
    double finished(double x, std::int64_t c) const {
        if (power == nullptr || !(power[c] > 0.0)) return x;
        return level[c] - power[c] * (x > 1.0 ? logarithm(std::min(x, 1e300)) : 0.0);
    }
};

inline Scores scores_of(const nb::tuple &given, std::int64_t p) {
    const auto eta = part<Matrix>(given, 0);
    const auto level = part<Vector>(given, 1), power = part<Vector>(given, 2);
    const std::int64_t k = length(eta);
    require_shape(eta, k, p);
    const bool plain = length(power) == 0;
    require_rows(plain ? 0 : k, level, power);
    return {eta.data(), plain ? nullptr : level.data(), plain ? nullptr : power.data(), k, p};
}

inline Key key_of(const nb::tuple &words) {
    return {part<std::uint64_t>(words, 0), part<std::uint64_t>(words, 1),
            part<std::uint64_t>(words, 2), part<std::uint64_t>(words, 3)};
}

// What one row is given: a label, the best other one, and by how much that scores more.
struct Choice {
    std::int64_t label, second;
    double gap;
};

// What the rows of a tile are given.
struct Tile {
    std::int64_t label[TILE], second[TILE];
    Lane gap, entropy;

    void take(std::int64_t i, const Choice &choice) {
        label[i] = choice.label;
        second[i] = choice.second;
        gap.at[i] = choice.gap;
    }
};

// Draw one of m scores by a uniform, `top` being the best; the first if they are no numbers.
inline std::int64_t drawn(const double *scores, std::int64_t m, double top, double uniform) {
    double total = 0.0, run = 0.0;
    std::int64_t last = 0;
    for (std::int64_t j = 0; j < m; ++j)
        if (scores[j] - top > -CERTAIN) {
            total += exponential(scores[j] - top);
            last = j;
        }
    for (std::int64_t j = 0; j < m; ++j)
        if (scores[j] - top > -CERTAIN) {
            run += exponential(scores[j] - top);
            if (run > uniform * total) return j;
        }
    return last;
}

// Choose among m scores: one drawn by a uniform, or the best if that is null; and the best other.
inline Choice chosen(const double *scores, std::int64_t m, const double *uniform) {
    std::int64_t at = 0, other = -1;
    for (std::int64_t j = 1; j < m; ++j)
        if (scores[j] > scores[at]) at = j;
    if (uniform) at = drawn(scores, m, scores[at], *uniform);
    double high = NO_SCORE;
    for (std::int64_t j = 0; j < m; ++j)
        if (j != at && scores[j] > high) {
            high = scores[j];
            other = j;
        }
    return {at, other, other >= 0 ? high - scores[at] : NO_SCORE};
}

// The statistics of a tile of rows, each row in a lane and one after the other.
class Columns {
  public:
    explicit Columns(std::int64_t p)
        : p_(p), of_(static_cast<std::size_t>(p * TILE)), own_(of_.size()) {}

    const double *data() const { return of_.data(); }

    const double *rows() {
        if (rows_ == nullptr) {
            turn_columns(of_.data(), p_, own_.data());
            rows_ = own_.data();
        }
        return rows_;
    }

    // Take the rows from one on, at most those before an end; returns how many there are.
    std::int64_t take(const Rows &rows, std::int64_t start, std::int64_t end) {
        std::int64_t which[TILE];
        const std::int64_t m = std::min<std::int64_t>(TILE, end - start);
        for (std::int64_t i = 0; i < m; ++i) which[i] = start + i;
        take(rows, which, m);
        return m;
    }

    // Take m rows; the list is filled up with the first of them.
    void take(const Rows &rows, std::int64_t *which, std::int64_t m) {
        std::fill(which + m, which + TILE, which[0]);
        fill_columns(rows, which, of_.data());
        rows_ = nullptr;
    }

    // Take m rows (m, p) of statistics.
    void take(const double *rows, std::int64_t m) {
        for (std::int64_t i = 0; i < m; ++i)
            for (std::int64_t q = 0; q < p_; ++q) of_[q * TILE + i] = rows[i * p_ + q];
        rows_ = rows;
    }

  private:
    const std::int64_t p_;
    std::vector<double> of_, own_;
    const double *rows_ = nullptr;  // none until they are wanted
};

// Chooses labels of rows by proposals.
class Chooser {
  public:
    explicit Chooser(const Scores &by)
        : by_(by), narrow_(narrowed(by.eta, by.level, by.power, by.k, by.p)),
          columns_(static_cast<std::size_t>(by.p * TILE)) {}

    // Choose labels for m rows, drawn by uniforms or, if that is null, the best; and, if they are
    // wanted, second choices and the entropies.
    void choose(Columns &T, std::int64_t m, const Lane *uniforms, bool seconds, Tile &out) {
        propose(T.data(), m, uniforms);
        pending_ = 0;
        for (std::int64_t i = 0; i < m; ++i) {
            out.gap.at[i] = NO_SCORE;
            decide(i, T, uniforms ? uniforms->at + i : nullptr, seconds, out);
        }
        if (pending_ > 0) settle(T.rows(), uniforms, out);
        if (seconds) fill_certainties(out.gap, out.entropy);
    }

  private:
    static constexpr int MANY = TILE / 8;  // rows of a tile from which all are drawn at once

    // Propose labels for the statistics of a tile.
    void propose(const double *t, std::int64_t m, const Lane *uniforms) {
        narrow_columns(t, by_.p, columns_.data());
        scstream::propose(narrow_, columns_.data(), tile_);
        open_ = fill_errors(tile_, narrow_, m, off_);
        if (uniforms == nullptr || open_ <= MANY) return;
        float uniform[TILE] = {}, slack[TILE] = {};
        for (std::int64_t i = 0; i < m; ++i) {
            uniform[i] = static_cast<float>(uniforms->at[i]);
            slack[i] = off_.at[i] < 1.0 ? static_cast<float>(2.0 * off_.at[i]) : 1.0f;
        }
        draw(narrow_, uniform, slack, tile_);
    }

    // Choose a label for row i, or put it down for two exact scores to decide.
    void decide(std::int64_t i, Columns &T, const double *uniform, bool seconds, Tile &out) {
        const double best = tile_.best[i], second = tile_.second[i], third = tile_.third[i];
        const std::int64_t k = by_.k, first = tile_.first[i], next = tile_.next[i];
        const double off = off_.at[i];
        const bool known = off < 1e6 && first < k;
        const bool apart = known && (k < 2 || best - second > 2.0 * off);
        const bool ordered = known && (k < 3 || (next < k && second - third > 2.0 * off));
        const bool certain = apart && (k < 2 || best - second > CERTAIN + 2.0 * off);
        if (!seconds && apart) return out.take(i, {first, -1, NO_SCORE});
        if (certain && ordered) return out.take(i, {first, k < 2 ? -1 : next, NO_SCORE});
        if (uniform && known && open_ > MANY && tile_.drawn[i] >= 0) {
            const std::int64_t one = tile_.drawn[i];
            if (one != first && apart) return put_down(i, one, first, true);
            if (one == first && apart && ordered) return put_down(i, first, next, true);
        }
        if (ordered && k > 1 && (!uniform || k < 3 || best - third > CERTAIN + 2.0 * off))
            return put_down(i, std::min(first, next), std::max(first, next), false);
        open_ones_.clear();
        const double least = uniform ? std::min(second, best - CERTAIN) : second;
        for (std::int64_t c = 0; c < k; ++c) {
            const double s = tile_.scores[c * TILE + i];
            const double wrong = 2.0 * off + narrow_.relative * std::fabs(s);
            if (!known || !(s + wrong < least)) open_ones_.push_back(c);
        }
        exact_.resize(open_ones_.size());
        const double *row = T.rows() + i * by_.p;
        for (std::size_t j = 0; j < open_ones_.size(); ++j) exact_[j] = by_(row, open_ones_[j]);
        Choice found = chosen(exact_.data(), static_cast<std::int64_t>(exact_.size()), uniform);
        found.label = open_ones_[found.label];
        if (found.second >= 0) found.second = open_ones_[found.second];
        out.take(i, found);
    }

    // Two components of which one is the label of row i and the other its second choice.
    struct Pending {
        std::int64_t row, one, other;
        bool drawn;  // whether the label is the first of them already
    };

    void put_down(std::int64_t row, std::int64_t one, std::int64_t other, bool drawn) {
        rows_[pending_++] = {row, one, other, drawn};
    }

    // Settle all rows that were put down.
    void settle(const double *t, const Lane *uniforms, Tile &out) {
        for (std::int64_t j = 0; j < pending_; ++j) {
            const Pending &row = rows_[j];
            which_[0][j] = row.row;
            which_[1][j] = row.one;
            which_[2][j] = row.other;
            if (uniforms) uniform_.at[j] = uniforms->at[row.row];
        }
        pair_products(t, by_.p, pending_, which_[0], by_.eta, which_[1], which_[2], one_, other_);
        if (by_.power) {
            finish(&Pending::one, one_);
            finish(&Pending::other, other_);
        }
        if (uniforms) draw_between(one_, other_, uniform_, side_);
        for (std::int64_t j = 0; j < pending_; ++j) {
            const Pending &row = rows_[j];
            const double gap = other_.at[j] - one_.at[j];
            const bool swap = !row.drawn && (uniforms ? side_.at[j] > 0.0 : gap > 0.0);
            if (swap)
                out.take(row.row, {row.other, row.one, -gap});
            else
                out.take(row.row, {row.one, row.other, gap});
        }
    }

    void finish(std::int64_t Pending::*which, Lane &x) {
        for (std::int64_t j = 0; j < TILE; ++j) {
            const std::int64_t c = rows_[j < pending_ ? j : 0].*which;
            level_.at[j] = by_.level[c];
            power_.at[j] = by_.power[c];
        }
        finish_scores(level_, power_, x);
    }

    const Scores by_;
    const Narrow narrow_;
    std::vector<float> columns_;
    Proposals tile_;
    std::int64_t open_ = 0, pending_ = 0;
    Pending rows_[TILE];
    std::int64_t which_[3][TILE];
    Lane off_, one_, other_, uniform_, side_, level_, power_;
    std::vector<std::int64_t> open_ones_;
    std::vector<double> exact_;
};

// Stacks of sums (m, ...) that are given as outputs, m being the runs of chunks.
class Stacks {
  public:
    Stacks(const nb::tuple &given, const Sums &one)
        : one_(one.current.size()), size_(part<Of<double>>(given, 0).size()) {
        current_ = room(given, 0, one.current);
        if (!one.rows.empty()) {
            rows_ = room(given, 1, one.rows);
            rivals_ = room(given, 2, one.rivals);
        }
        entropy_ = room(given, one.rows.empty() ? 1 : 3, one.entropy);
    }

    void put(const std::vector<const Sums *> &runs) const {
        require(runs.size() * one_ == size_, "there are other runs of chunks");
        for (std::size_t i = 0; i < runs.size(); ++i) {
            put(runs[i]->current, current_, i);
            put(runs[i]->rows, rows_, i);
            put(runs[i]->rivals, rivals_, i);
            put(runs[i]->entropy, entropy_, i);
        }
    }

  private:
    template <typename T>
    using Of = nb::ndarray<T, nb::c_contig, nb::device::cpu>;

    template <typename T>
    static void put(const std::vector<T> &from, T *to, std::size_t i) {
        std::copy(from.begin(), from.end(), to + i * from.size());
    }

    template <typename T>
    T *room(const nb::tuple &given, std::size_t i, const std::vector<T> &one) {
        const auto to = part<Of<T>>(given, i);
        require(to.size() * one_ == size_ * one.size(), "sums have another shape");
        return to.data();
    }

    const std::size_t one_, size_;
    double *current_ = nullptr, *entropy_ = nullptr;
    std::int64_t *rows_ = nullptr, *rivals_ = nullptr;
};

// The labels and sub-labels of rows, and what they count.
struct Labelled {
    std::int64_t *z, *sub;
    const double *weight;
};

// Fills what the second part of each row's own cluster scores more than the first.
class Divider {
  public:
    explicit Divider(const Scores &pairs)
        : pairs_(pairs), both_(static_cast<std::size_t>(pairs.k * pairs.p)) {
        for (std::int64_t c = 0; c < pairs.k; ++c)
            for (std::int64_t q = 0; q < pairs.p; ++q)
                both_[2 * (c / 2 * pairs.p + q) + c % 2] = pairs.eta[c * pairs.p + q];
    }

    // Labels that are negative, or of no cluster, get nothing.
    void gaps(Columns &T, std::int64_t m, const std::int64_t *label, Lane &out) {
        const std::int64_t k = pairs_.k / 2;
        for (std::int64_t i = 0; i < m; ++i) {
            const std::int64_t c = label[i] >= 0 && label[i] < k ? label[i] : 0;
            cluster_[i] = c;
            if (pairs_.power == nullptr) continue;
            for (int side = 0; side < 2; ++side) {
                levels_[side].at[i] = pairs_.level[2 * c + side];
                powers_[side].at[i] = pairs_.power[2 * c + side];
            }
        }
        side_products(T.rows(), pairs_.p, m, both_.data(), cluster_, first_, second_);
        if (pairs_.power != nullptr) {
            finish_scores(levels_[0], powers_[0], first_);
            finish_scores(levels_[1], powers_[1], second_);
        }
        for (std::int64_t i = 0; i < TILE; ++i) out.at[i] = second_.at[i] - first_.at[i];
    }

  private:
    const Scores pairs_;
    std::vector<double> both_;  // (k, p, 2)
    std::int64_t cluster_[TILE];
    Lane first_{}, second_{}, levels_[2] = {}, powers_[2] = {};
};

// Labels rows, and divides and adds them up.
class Sweeper {
  public:
    Sweeper(const Rows &rows, const Scores &by, const Scores &pairs, const Key *key,
            const Labelled &found)
        : rows_(rows), p_(by.p), k_(pairs.k / 2), key_(key), found_(found), chooser_(by),
          divider_(pairs), T_(by.p) {}

    void operator()(std::int64_t begin, std::int64_t end, Sums &to) {
        for (std::int64_t start = begin; start < end; start += TILE) {
            const std::int64_t m = T_.take(rows_, start, end);
            if (key_) fill_uniforms(*key_, start, u_, v_);
            chooser_.choose(T_, m, key_ ? &u_ : nullptr, true, tile_);
            divider_.gaps(T_, m, tile_.label, gap_);
            if (key_)
                draw_sides(gap_, v_, share_, own_entropy_);
            else
                share_sides(gap_, share_, own_entropy_);
            for (std::int64_t i = 0; i < m; ++i) add(start + i, i, to);
            add_rows(T_.rows(), p_, m, cell_, first_, to.current.data());
            if (!key_) add_rows(T_.rows(), p_, m, beside_, second_, to.current.data());
        }
    }

  private:
    void add(std::int64_t row, std::int64_t i, Sums &to) {
        const std::int64_t c = tile_.label[i], other = tile_.second[i], k = k_;
        const bool inside = c < k, second = inside && (key_ ? share_.at[i] > 0.0 : gap_.at[i] > 0.0);
        found_.z[row] = inside ? c : -1;
        found_.sub[row] = second;
        cell_[i] = beside_[i] = -1;
        if (!inside) return;
        const double w = found_.weight[row];
        cell_[i] = 2 * c + (key_ && second);
        beside_[i] = 2 * c + 1;
        second_.at[i] = w * share_.at[i];
        first_.at[i] = key_ ? w : w - second_.at[i];
        ++to.rows[2 * c + second];
        to.entropy[c * k + c] += w * own_entropy_.at[i];
        if (0 <= other && other < k) {
            ++to.rivals[c * k + other];
            to.entropy[c * k + other] += w * tile_.entropy.at[i];
        }
    }

    const Rows rows_;
    const std::int64_t p_, k_;
    const Key *const key_;
    const Labelled found_;
    Chooser chooser_;
    Divider divider_;
    Columns T_;
    Tile tile_;
    Lane u_, v_, gap_, share_, own_entropy_, first_, second_;
    std::int64_t cell_[TILE], beside_[TILE];
};

inline void sweep(const nb::tuple &rows, const Vector &weight, const nb::tuple &scores,
                  const nb::tuple &pairs, const std::optional<nb::tuple> &key,
                  const Row<std::int64_t> &z, const Row<std::int64_t> &sub, const nb::tuple &cut,
                  const nb::tuple &sums) {
    const Rows points = rows_of(rows);
    const std::int64_t p = points.statistics(), n = points.n;
    const Scores by = scores_of(scores, p), own = scores_of(pairs, p);
    require(by.k > 0 && own.k % 2 == 0 && own.k / 2 <= by.k,
            "there must be components, and two for each cluster");
    require_rows(n, weight, z, sub);
    const Key keyed = key ? key_of(*key) : Key{};
    const Labelled found{z.data(), sub.data(), weight.data()};
    const Cut chunks = cut_of(cut);
    const Sums empty(own.k / 2, p, true);
    const Stacks out(sums, empty);
    nb::gil_scoped_release free;
    Tree total;
    over_chunks(chunks, n, empty,
                [&] { return Sweeper(points, by, own, key ? &keyed : nullptr, found); }, total);
    out.put(total.runs());
}

inline void fill_statistics(const nb::tuple &rows, const Table<double> &out) {
    const Rows points = rows_of(rows);
    require_shape(out, points.n, points.statistics());
    nb::gil_scoped_release free;
    const std::int64_t d = points.d;
    double *t = out.data();
    for (std::int64_t i = 0; i < points.n; ++i) {
        const double *z = t + 1;
        *t++ = 1.0;
        for (std::int64_t j = 0; j < d; ++j) *t++ = (points(i, j) - points.shift[j]) / points.scale[j];
        for (std::int64_t a = 0; a < d; ++a)
            for (std::int64_t b = a; b < d; ++b) *t++ = z[a] * z[b];
    }
}

inline void best_labels(const nb::tuple &rows, const nb::tuple &scores,
                        const Row<std::int64_t> &out, std::int64_t threads) {
    constexpr std::int64_t ROWS = 2048;  // that are labelled at a time
    const Rows points = rows_of(rows);
    const std::int64_t n = points.n;
    const Scores by = scores_of(scores, points.statistics());
    require_rows(n, out);
    require(by.k > 0, "there must be components");
    nb::gil_scoped_release free;
    together(threads, (n + ROWS - 1) / ROWS, [&] {
        return [&, chooser = Chooser(by), T = Columns(by.p), tile = Tile()](std::int64_t i) mutable {
            const std::int64_t end = std::min(n, (i + 1) * ROWS);
            for (std::int64_t start = i * ROWS; start < end; start += TILE) {
                const std::int64_t m = T.take(points, start, end);
                chooser.choose(T, m, nullptr, false, tile);
                std::copy(tile.label, tile.label + m, out.data() + start);
            }
        };
    });
}

// Where labels, and if wanted second choices and entropies, of n rows are written.
struct Chosen {
    std::int64_t *z, *second;
    double *entropy;
    const double *uniform;  // null: labels are the best

    Chosen(std::int64_t n, const Vector &u, const Row<std::int64_t> &labels,
           const Row<std::int64_t> &seconds, const Row<double> &entropies)
        : z(labels.data()), second(seconds.shape(0) ? seconds.data() : nullptr),
          entropy(entropies.data()), uniform(u.shape(0) ? u.data() : nullptr) {
        require_rows(n, labels);
        require_rows(second ? n : 0, seconds, entropies);
        if (uniform) require_rows(n, u);
    }

    // Write what the rows from one on are given.
    void write(std::int64_t row, std::int64_t m, const Tile &tile) const {
        std::copy(tile.label, tile.label + m, z + row);
        if (second == nullptr) return;
        std::copy(tile.second, tile.second + m, second + row);
        std::copy(tile.entropy.at, tile.entropy.at + m, entropy + row);
    }
};

inline void label_rows(const Matrix &T, const nb::tuple &scores, const Vector &u,
                       const Row<std::int64_t> &z, const Row<std::int64_t> &second,
                       const Row<double> &entropy) {
    const Grid<const double> rows = grid(T);
    const Scores by = scores_of(scores, rows.columns);
    const Chosen out(rows.rows, u, z, second, entropy);
    require(by.k > 0 && by.p > 0, "there must be components");
    nb::gil_scoped_release free;
    Chooser chooser(by);
    Tile tile;
    Lane uniform;
    Columns columns(by.p);
    for (std::int64_t start = 0; start < rows.rows; start += TILE) {
        const std::int64_t m = std::min<std::int64_t>(TILE, rows.rows - start);
        if (out.uniform) std::copy(out.uniform + start, out.uniform + start + m, uniform.at);
        columns.take(rows[start], m);
        chooser.choose(columns, m, out.uniform ? &uniform : nullptr, out.second || out.uniform, tile);
        out.write(start, m, tile);
    }
}

inline void label_scores(const Matrix &scores, const Vector &u, const Row<std::int64_t> &z,
                         const Row<std::int64_t> &second, const Row<double> &entropy) {
    const Grid<const double> rows = grid(scores);
    const Chosen out(rows.rows, u, z, second, entropy);
    require(rows.columns > 0, "there must be components");
    nb::gil_scoped_release free;
    Tile tile;
    for (std::int64_t start = 0; start < rows.rows; start += TILE) {
        const std::int64_t m = std::min<std::int64_t>(TILE, rows.rows - start);
        for (std::int64_t i = 0; i < m; ++i) {
            const double *u = out.uniform ? out.uniform + start + i : nullptr;
            tile.take(i, chosen(rows[start + i], rows.columns, u));
        }
        fill_certainties(tile.gap, tile.entropy);
        out.write(start, m, tile);
    }
}

// Rows with labels, of which those of chosen clusters are tried.
struct Tried {
    Rows rows;
    const double *weight;
    const bool *chosen;
    const std::int64_t *z;
    std::int64_t *trial;

    Tried(const nb::tuple &given, const Vector &weights, const Row<const bool> &which,
          const Ints &labels, const Row<std::int64_t> &trials)
        : rows(rows_of(given)), weight(weights.data()), chosen(which.data()), z(labels.data()),
          trial(trials.data()) {
        require_rows(rows.n, weights, labels, trials);
    }
};

// Find the better sub-labels of some rows by pairs of scores, and add up.
inline void try_rows(const Tried &of, const Scores &own, std::int64_t begin, std::int64_t end,
                     Sums &total) {
    const std::int64_t p = own.p, k = own.k / 2;
    Divider divider(own);
    Lane gap, size, entropy, by;
    Columns T(p);
    std::int64_t row[TILE], label[TILE], cell[TILE], m = 0;
    for (std::int64_t at = begin; at < end;) {
        for (m = 0; at < end && m < TILE; ++at) {
            const std::int64_t c = of.z[at];
            if (c < 0 || c >= k || !of.chosen[c]) continue;
            row[m] = at;
            label[m++] = c;
        }
        if (m == 0) continue;
        T.take(of.rows, row, m);
        divider.gaps(T, m, label, gap);
        for (std::int64_t i = 0; i < TILE; ++i) size.at[i] = -std::fabs(gap.at[i]);
        fill_certainties(size, entropy);
        for (std::int64_t i = 0; i < m; ++i) {
            const bool second = gap.at[i] > 0.0;
            const double w = of.weight[row[i]];
            of.trial[row[i]] = second;
            cell[i] = 2 * label[i] + second;
            by.at[i] = w;
            total.entropy[label[i]] += w * entropy.at[i];
        }
        add_rows(T.rows(), p, m, cell, by, total.current.data());
    }
}

inline void try_sublabels(const nb::tuple &rows, const Vector &weight, const nb::tuple &pairs,
                          const Row<const bool> &chosen, const Ints &z,
                          const Row<std::int64_t> &trial, const nb::tuple &cut,
                          const nb::tuple &sums) {
    const Tried of(rows, weight, chosen, z, trial);
    const std::int64_t p = of.rows.statistics(), n = of.rows.n, k = chosen.shape(0);
    const Scores own = scores_of(pairs, p);
    require(own.k == 2 * k, "each cluster needs two components");
    const Cut chunks = cut_of(cut);
    const Sums empty(k, p, false);
    const Stacks out(sums, empty);
    nb::gil_scoped_release free;
    Tree total;
    const auto fill = [&](std::int64_t begin, std::int64_t end, Sums &to) {
        try_rows(of, own, begin, end, to);
    };
    over_chunks(chunks, n, empty, [&] { return fill; }, total);
    out.put(total.runs());
}

}  // namespace scstream
