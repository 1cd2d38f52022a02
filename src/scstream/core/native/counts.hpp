// Counts under Dirichlet priors, and under gamma ones: what rows and clusters of them are worth.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "arrays.hpp"
#include "elementary.hpp"

namespace scstream {

constexpr double FACTORS = 16.0;     // of a rising factorial that are multiplied, at most
constexpr std::int64_t WIDE = 8;     // components in a vector
constexpr std::int64_t ROWS = 1024;  // that are scored at a time
constexpr std::size_t TERMS = 1 << 20;  // numbers of a table of terms, from which on it is emptied

// Log gammas by polynomials, sixteen for each octave, that are exact at Chebyshev's points: in
// between they err by less than rounding does. They take a fraction of the function's time.
class LogGammas {
  public:
    static const LogGammas &made() {
        static const LogGammas out;
        return out;
    }

    double operator()(double x) const {
        if (!(0x1p-4 <= x && x < 0x1p24)) return log_gamma(x);
        const auto bits = bits_of<std::uint64_t>(x);
        const double *a = of_[(bits >> 48) - (std::uint64_t{1023 - 4} << 4)];
        const double v = 2.0 * mantissa(bits_of<double>(bits << 4)) - 3.0, w = v * v;
        const double low = a[0] + v * a[1] + w * (a[2] + v * a[3]), high = a[4] + v * a[5];
        return low + w * w * (high + w * (a[6] + v * a[7]));
    }

  private:
    LogGammas() {
        for (int piece = 0; piece < 28 * 16; ++piece) {
            const double octave = std::ldexp(1.0, piece / 16 - 4), step = octave / 16.0;
            const double first = octave + step * (piece % 16);
            double before[8] = {1.0}, power[8] = {0.0, 1.0};  // Chebyshev's polynomials
            for (int k = 0; k < 8; ++k) {
                double along = 0.0;
                for (int i = 0; i < 8; ++i)
                    along += (k ? 0.25 : 0.125) * cosine(k * (2 * i + 1)) *
                             log_gamma(first + step * 0.5 * (cosine(2 * i + 1) + 1.0));
                for (int q = 0; q < 8; ++q) {
                    of_[piece][q] += along * before[q];
                    std::swap(before[q], power[q]);
                }
                for (int q = 7; q >= 0; --q) power[q] = 2.0 * (q ? before[q - 1] : 0.0) - power[q];
            }
        }
    }

    // cos(j pi / 16).
    static double cosine(int j) {
        constexpr double of[] = {1.0, 0.9807852804032304, 0.9238795325112867, 0.8314696123025452,
                                 0.7071067811865476, 0.5555702330196022, 0.3826834323650898,
                                 0.19509032201612828, 0.0};
        j = j % 32 > 16 ? 32 - j % 32 : j % 32;
        return j > 8 ? -of[16 - j] : of[j];
    }

    alignas(64) double of_[28 * 16][8] = {};
};

// Compressed rows of counts.
template <typename Index>
struct CountRows {
    const double *data;
    const Index *indices, *indptr;
    std::int64_t n, entries;

    bool fit(std::int64_t rows, std::int64_t d) const {
        bool sound = n == rows && indptr[0] == 0 && indptr[n] <= entries;
        for (std::int64_t i = 0; i < n; ++i) sound &= indptr[i] <= indptr[i + 1];
        for (std::int64_t q = 0; sound && q < indptr[n]; ++q)
            sound &= 0 <= indices[q] && indices[q] < d;
        return sound;
    }
};

template <typename Index>
CountRows<Index> compressed(const nb::tuple &given) {
    const auto data = part<Vector>(given, 0);
    const auto indices = part<Row<const Index>>(given, 1), indptr = part<Row<const Index>>(given, 2);
    require(length(indptr) > 0 && length(indices) == length(data), "these are no compressed rows");
    return {data.data(), indices.data(), indptr.data(), length(indptr) - 1, length(data)};
}

// Do a job with rows of counts, compressed if they came as a table.
template <typename Job>
void with_counts(const nb::tuple &given, std::int64_t d, Job &&job) {
    Row<const std::int32_t> places;
    if (given.size() > 1 && nb::try_cast(given[1], places, false))
        return job(compressed<std::int32_t>(given));
    if (given.size() > 1) return job(compressed<std::int64_t>(given));
    const Grid<const double> table = grid(part<Matrix>(given, 0));
    require(table.columns == d, "rows have other columns than the parameters");
    std::vector<double> data;
    std::vector<std::int64_t> indices, indptr(1, 0);
    for (std::int64_t i = 0; i < table.rows; ++i) {
        for (std::int64_t j = 0; j < table.columns; ++j) {
            if (table[i][j] == 0.0) continue;
            data.push_back(table[i][j]);
            indices.push_back(j);
        }
        indptr.push_back(static_cast<std::int64_t>(data.size()));
    }
    job(CountRows<std::int64_t>{data.data(), indices.data(), indptr.data(), table.rows, indptr.back()});
}

// Fill log(gamma(x + c) / gamma(x)) for the numbers x of components, whose log gammas are known
// where counts are large. Loops have a width that is known when they run: such become vector code.
SCSTREAM_BEST_PROCESSOR
static void fill_term(const double *__restrict x, const double *__restrict known, double c,
                      std::int64_t width, double *__restrict out) {
    if (c > FACTORS) {
        for (std::int64_t r = 0; r < width; ++r) out[r] = stirling(x[r] + c) - known[r];
        return;
    }
    for (std::int64_t r = 0; r < width; ++r) out[r] = x[r];
    for (double f = 1.0; f < c; f += 1.0)
        for (std::int64_t r = 0; r < width; ++r) out[r] *= x[r] + f;
    for (std::int64_t r = 0; r < width; ++r) out[r] = logarithm(out[r]);
}

// Add four rows of a table to another one.
SCSTREAM_BEST_PROCESSOR
static void add_four(const double *const (&row)[4], std::int64_t width, double *__restrict out) {
    const double *__restrict a = row[0], *__restrict b = row[1], *__restrict c = row[2],
                 *__restrict d = row[3];
    for (std::int64_t r = 0; r < width; ++r) out[r] += (a[r] + b[r]) + (c[r] + d[r]);
}

// Numbers in vectors, each of which begins where a line of the cache does.
class Numbers {
  public:
    std::size_t size() const { return WIDE * of_.size(); }
    void resize(std::size_t m) { of_.resize(m / WIDE); }
    double *operator+(std::int64_t at) { return of_.data()->at + at; }

  private:
    struct alignas(64) Vector {
        double at[WIDE];
    };
    std::vector<Vector> of_;
};

// A table of terms, of which rows' scores are sums: one for each category and count that some of
// the rows so far have. A count that is too large to be met again has a term each time.
class Terms {
  public:
    explicit Terms(const Grid<const double> &conc)
        : conc_(conc), width_((conc.rows + WIDE - 1) / WIDE * WIDE),
          number_(conc.columns > 64 ? 32 : 1024),
          place_(static_cast<std::size_t>(conc.columns), -1) {}

    // Add the rises of rows, as many as are scored at a time.
    template <typename Index>
    void add(const CountRows<Index> &rows, std::int64_t first, std::int64_t last,
             const Grid<double> &out) {
        number(rows, first, last);
        fill();
        Numbers total;
        total.resize(static_cast<std::size_t>(width_));
        std::size_t at = 0;
        for (std::int64_t i = first; i < last; ++i) {
            std::fill(total + 0, total + width_, 0.0);
            const std::size_t end = at + static_cast<std::size_t>(rows.indptr[i + 1] - rows.indptr[i]);
            for (; at < end; at += 4) {
                const double *row[4];
                for (std::size_t e = 0; e < 4; ++e)
                    row[e] = table_ + (at + e < end ? which_[at + e] : 0) * width_;
                add_four(row, width_, total + 0);
            }
            at = end;
            for (std::int64_t r = 0; r < conc_.rows; ++r) out[i][r] += (total + 0)[r];
        }
    }

  private:

    struct Term {
        std::int64_t place;
        double count;
    };

    // Find out which terms the rows have, and add those that are new. The first one is nothing.
    template <typename Index>
    void number(const CountRows<Index> &rows, std::int64_t first, std::int64_t last) {
        which_.clear();
        if (terms_.empty() || table_.size() > TERMS) empty();
        for (std::int64_t q = rows.indptr[first]; q < rows.indptr[last]; ++q) {
            const double c = rows.data[q];
            std::int32_t none = 0, &mine = number_of(rows.indices[q], c, none);
            if (mine == 0 && c != 0.0) {
                std::int32_t &place = place_[rows.indices[q]];
                if (place < 0) {
                    place = static_cast<std::int32_t>(met_.size());
                    met_.push_back(rows.indices[q]);
                }
                mine = static_cast<std::int32_t>(terms_.size());
                terms_.push_back({place, c});
                large_ = large_ || !(c <= FACTORS);
            }
            which_.push_back(mine);
        }
    }

    std::int32_t &number_of(std::int64_t category, double c, std::int32_t &none) {
        if (!(c >= 0.0 && c < static_cast<double>(number_.size()))) return none;
        std::vector<std::int32_t> &of = number_[static_cast<std::size_t>(c)];
        if (of.empty()) of.resize(place_.size());
        return of[static_cast<std::size_t>(category)];
    }

    void empty() {
        std::int32_t none;
        for (const Term &term : terms_) number_of(met_[term.place], term.count, none) = 0;
        terms_.assign(1, {0, 0.0});
        table_.resize(static_cast<std::size_t>(width_));
        std::fill(table_ + 0, table_ + width_, 0.0);
        filled_ = 1;
    }

    void fill() {
        const std::size_t m = met_.size() * static_cast<std::size_t>(width_);
        const std::size_t known = known_.size();
        x_.resize(m);
        for (; placed_ < met_.size(); ++placed_)
            for (std::int64_t r = 0; r < width_; ++r)
                (x_ + placed_ * width_)[r] = r < conc_.rows ? conc_[r][met_[placed_]] : 1.0;
        if (large_) known_.resize(m);
        for (std::size_t q = known; q < known_.size(); ++q)
            *(known_ + q) = LogGammas::made()(*(x_ + q));
        table_.resize(terms_.size() * static_cast<std::size_t>(width_));
        for (; filled_ < terms_.size(); ++filled_) {
            const std::int64_t at = terms_[filled_].place * width_;
            fill_term(x_ + at, large_ ? known_ + at : x_ + at, terms_[filled_].count, width_,
                      table_ + filled_ * width_);
        }
    }

    Grid<const double> conc_;
    std::int64_t width_;
    // Numbers of terms by count, as long as these are small, and category; and of the entries.
    std::vector<std::vector<std::int32_t>> number_;
    std::vector<std::int32_t> place_, which_;
    std::vector<std::int64_t> met_;  // categories, in the order of their places
    std::vector<Term> terms_;
    Numbers x_, known_, table_;
    std::size_t placed_ = 0, filled_ = 0;  // how many categories and terms are
    bool large_ = false;
};

// Add rises of rows (n, G) under the G components G z and the following, less some of each row.
// Factors are multiplied, the first three of a count without a branch, since counts cannot be
// foreseen, and with a logarithm now and then.
template <int G, typename Index>
void add_own(const CountRows<Index> &rows, const Grid<const double> &conc, const std::int64_t *z,
             const double *less, const Grid<double> &out) {
    const LogGammas &log_gammas = LogGammas::made();
    for (std::int64_t i = 0; i < rows.n; ++i) {
        const double *x = conc[G * z[i]], w = less ? less[i] : 0.0;
        double total[G] = {}, product[G], own[G], least = 1.0;
        std::fill(product, product + G, 1.0);
        for (std::int64_t q = rows.indptr[i]; q < rows.indptr[i + 1]; ++q) {
            const double c = rows.data[q], two = c > 1.0, three = c > 2.0;
            double low = 1.0, high = 1.0;
            for (int r = 0; r < G; ++r) {
                own[r] = x[r * conc.columns + rows.indices[q]] - w * c;
                least = std::min(least, own[r]);
            }
            if (c > FACTORS) {
                for (int r = 0; r < G; ++r) total[r] += log_gammas(own[r] + c) - log_gammas(own[r]);
                continue;
            }
            if (c == 1.0) {
                for (int r = 0; r < G; ++r) product[r] *= own[r];
            } else {
                for (int r = 0; r < G; ++r)
                    product[r] *= (c > 0.0 ? own[r] : 1.0) *
                                  ((1.0 + two * own[r]) * (1.0 + three * (own[r] + 1.0)));
                for (double f = 3.0; f < c; f += 1.0)
                    for (int r = 0; r < G; ++r) product[r] *= own[r] + f;
            }
            for (int r = 0; r < G; ++r) {
                low = std::min(low, product[r]);
                high = std::max(high, product[r]);
            }
            if (0x1p-200 < low && high < 0x1p200) continue;
            for (int r = 0; r < G; ++r) {
                total[r] += logarithm(product[r]);
                product[r] = 1.0;
            }
        }
        for (int r = 0; r < G; ++r)
            out[i][r] += least > 0.0 ? total[r] + logarithm(product[r])
                                     : std::numeric_limits<double>::quiet_NaN();
    }
}

inline void add_rises(const nb::tuple &counts, const Matrix &conc, const Ints &z,
                      const Vector &less, const Table<double> &out) {
    const Grid<const double> by = grid(conc);
    const Grid<double> to = grid(out);
    const bool all = length(z) == 0 && (to.rows == 0 || to.columns == by.rows);
    require(all || to.columns == 1 || to.columns == 2, "rows have one component each or two");
    if (!all) require_rows(to.rows, z);
    if (length(less) > 0) require_rows(all ? 0 : to.rows, less);
    for (std::size_t i = 0; i < z.shape(0); ++i)
        require(0 <= z(i) && z(i) < by.rows / to.columns, "a label is none");
    const double *weight = length(less) > 0 ? less.data() : nullptr;
    with_counts(counts, by.columns, [&](const auto &rows) {
        require(rows.fit(to.rows, by.columns), "rows have other numbers");
        nb::gil_scoped_release free;
        std::int64_t first = 0;
        if (all)
            for (Terms terms(by); first < rows.n; first += ROWS)
                terms.add(rows, first, std::min(first + ROWS, rows.n), to);
        else if (to.columns == 1)
            add_own<1>(rows, by, z.data(), weight, to);
        else
            add_own<2>(rows, by, z.data(), weight, to);
    });
}

inline void add_compressed(const nb::tuple &rows, const Matrix &weight,
                           const Table<const std::int64_t> &cell, const Table<double> &out) {
    const Grid<const double> by = grid(weight);
    const Grid<const std::int64_t> cells = grid(cell);
    const Grid<double> to = grid(out);
    require(by.rows == cells.rows && by.columns == cells.columns, "cells need a weight each");
    with_counts(rows, to.columns, [&](const auto &of) {
        require(of.fit(by.rows, to.columns), "rows have other numbers");
        nb::gil_scoped_release free;
        for (std::int64_t i = 0; i < of.n; ++i)
            for (std::int64_t g = 0; g < by.columns; ++g) {
                const double w = by[i][g];
                if (w == 0.0 || cells[i][g] < 0 || cells[i][g] >= to.rows) continue;
                double *own = to[cells[i][g]];
                for (std::int64_t q = of.indptr[i]; q < of.indptr[i + 1]; ++q)
                    own[of.indices[q]] += w * of.data[q];
            }
    });
}

inline void count_marginals(const Matrix &sums, const nb::tuple &prior, const Ints &one,
                            const Ints &other, const Row<double> &out) {
    const Grid<const double> clusters = grid(sums);
    const auto conc = part<Vector>(prior, 0), gammas = part<Vector>(prior, 1);
    const std::int64_t k = clusters.rows, d = clusters.columns;
    const double *own = conc.data(), *of_prior = gammas.data();
    require_rows(d, conc, gammas);
    require_rows(length(out), one, other);
    for (std::size_t i = 0; i < out.shape(0); ++i)
        require(0 <= one(i) && one(i) < k && other(i) < k, "no such cluster");
    nb::gil_scoped_release free;
    double whole = 0.0;
    for (std::int64_t j = 1; j < d; ++j) whole += own[j];
    std::vector<double> met(static_cast<std::size_t>(d));
    const LogGammas &log_gammas = LogGammas::made();
    const std::vector<double> none(static_cast<std::size_t>(d), 0.0);
    for (std::size_t i = 0; i < out.shape(0); ++i) {
        const double *a = clusters[one.data()[i]];
        const double *b = other.data()[i] < 0 ? none.data() : clusters[other.data()[i]];
        double mass = 0.0, level = 0.0;
        std::int64_t m = 0;
        for (std::int64_t j = 1; j < d; ++j) {
            const double both = a[j] + b[j];
            const bool is_met = both != 0.0;  // no branch: which ones these are cannot be foreseen
            met[m] = own[j] + both;
            m += is_met;
            mass += both;
            level -= static_cast<double>(is_met) * of_prior[j];
        }
        for (std::int64_t q = 0; q < m; ++q) level += log_gammas(met[q]);
        // the large ones by themselves: next to them the others would lose digits
        out.data()[i] = level - (log_gamma(whole + mass) - log_gamma(whole));
    }
}

}  // namespace scstream
