#include "lanes.hpp"

#include <cmath>
#include <cstring>

namespace scstream {

namespace {

// Two numbers in one register: the compiler would take them apart.
#if defined(__GNUC__)
typedef double Both __attribute__((vector_size(16)));
#else
struct Both {
    double at[2];

    Both operator*(double by) const { return {{at[0] * by, at[1] * by}}; }
    double operator[](int side) const { return at[side]; }

    void operator+=(const Both &more) {
        at[0] += more.at[0];
        at[1] += more.at[1];
    }
};
#endif

inline bool is_open(double gap) { return -CERTAIN < gap && gap < CERTAIN; }
inline double kept(double gap) { return is_open(gap) ? gap : 0.0; }

}  // namespace

SCSTREAM_BEST_PROCESSOR
void fill_columns(const Rows &rows, const std::int64_t *row, double *columns) {
    const std::int64_t d = rows.d;
    double *z = columns + TILE, *to = columns + (1 + d) * TILE;
    for (int i = 0; i < TILE; ++i) columns[i] = 1.0;
    for (std::int64_t j = 0; j < d; ++j) {
        double x[TILE];
        for (int i = 0; i < TILE; ++i) x[i] = rows(row[i], j);
        for (int i = 0; i < TILE; ++i) z[j * TILE + i] = (x[i] - rows.shift[j]) / rows.scale[j];
    }
    for (std::int64_t a = 0; a < d; ++a)
        for (std::int64_t b = a; b < d; ++b, to += TILE)
            for (int i = 0; i < TILE; ++i) to[i] = z[a * TILE + i] * z[b * TILE + i];
}

SCSTREAM_BEST_PROCESSOR
void narrow_columns(const double *columns, std::int64_t p, float *out) {
    for (std::int64_t i = 0; i < p * TILE; ++i) out[i] = static_cast<float>(columns[i]);
}

SCSTREAM_BEST_PROCESSOR
void turn_columns(const double *columns, std::int64_t p, double *rows) {
    std::int64_t q = 0;
    for (; q + 4 <= p; q += 4)
        for (int i = 0; i < TILE; ++i) {
            const double *from = columns + q * TILE + i;
            const double a = from[0], b = from[TILE], c = from[2 * TILE], d = from[3 * TILE];
            double *to = rows + i * p + q;
            to[0] = a;
            to[1] = b;
            to[2] = c;
            to[3] = d;
        }
    for (; q < p; ++q)
        for (int i = 0; i < TILE; ++i) rows[i * p + q] = columns[q * TILE + i];
}

void side_products(const double *rows, std::int64_t p, std::int64_t m, const double *both,
                   const std::int64_t *cluster, Lane &x, Lane &y) {
    constexpr int ABREAST = 4;
    for (std::int64_t start = 0; start < m; start += ABREAST) {
        Both sum[ABREAST] = {};
        const double *t[ABREAST], *e[ABREAST];
        for (int j = 0; j < ABREAST; ++j) {
            const std::int64_t i = start + j < m ? start + j : m - 1;
            t[j] = rows + i * p;
            e[j] = both + 2 * cluster[i] * p;
        }
        for (std::int64_t q = 0; q < p; ++q)
            for (int j = 0; j < ABREAST; ++j) {
                Both by;
                std::memcpy(&by, e[j] + 2 * q, sizeof by);
                sum[j] += by * t[j][q];
            }
        for (int j = 0; j < ABREAST && start + j < m; ++j) {
            x.at[start + j] = sum[j][0];
            y.at[start + j] = sum[j][1];
        }
    }
}

void pair_products(const double *rows, std::int64_t p, std::int64_t m, const std::int64_t *row,
                   const double *eta, const std::int64_t *one, const std::int64_t *other, Lane &x,
                   Lane &y) {
    constexpr int ABREAST = 4;  // each sum waits for itself: several are under way
    for (std::int64_t start = 0; start < m; start += ABREAST) {
        double a[ABREAST] = {}, b[ABREAST] = {};
        const double *t[ABREAST], *e[ABREAST], *f[ABREAST];
        for (int j = 0; j < ABREAST; ++j) {
            const std::int64_t i = start + j < m ? start + j : m - 1;
            t[j] = rows + row[i] * p;
            e[j] = eta + one[i] * p;
            f[j] = eta + other[i] * p;
        }
        for (std::int64_t q = 0; q < p; ++q)
            for (int j = 0; j < ABREAST; ++j) {
                a[j] += t[j][q] * e[j][q];
                b[j] += t[j][q] * f[j][q];
            }
        for (int j = 0; j < ABREAST && start + j < m; ++j) {
            x.at[start + j] = a[j];
            y.at[start + j] = b[j];
        }
    }
}

SCSTREAM_BEST_PROCESSOR
void add_rows(const double *rows, std::int64_t p, std::int64_t m, const std::int64_t *cell,
              const Lane &weight, double *sums) {
    for (std::int64_t i = 0; i < m; ++i) {
        if (cell[i] < 0) continue;
        const double *t = rows + i * p, w = weight.at[i];
        double *__restrict to = sums + cell[i] * p;
        for (std::int64_t q = 0; q < p; ++q) to[q] += w * t[q];
    }
}

SCSTREAM_BEST_PROCESSOR
std::int64_t fill_errors(const Proposals &of, const Narrow &by, std::int64_t m, Lane &off) {
    const double two = by.k > 1 ? 1.0 : 0.0, three = by.k > 2 ? 1.0 : 0.0;
    for (int i = 0; i < TILE; ++i) {
        const double a = std::fabs(of.best[i]), b = two * std::fabs(of.second[i]);
        const double c = three * std::fabs(of.third[i]), most = a > b ? a : b;
        off.at[i] = of.off[i] + by.relative * ((most > c ? most : c) + by.base);
    }
    std::int64_t open = 0;
    for (int i = 0; i < TILE; ++i) {
        const double lead = static_cast<double>(of.best[i] - of.second[i]);
        open += i < m && !(lead > CERTAIN + 2.0 * off.at[i]);
    }
    return open;
}

SCSTREAM_BEST_PROCESSOR
void fill_uniforms(const Key &key, std::int64_t row, Lane &label, Lane &sublabel) {
    for (int i = 0; i < TILE; ++i) {
        const Uniforms both = key(row + i);
        label.at[i] = both.label;
        sublabel.at[i] = both.sublabel;
    }
}

SCSTREAM_BEST_PROCESSOR
void finish_scores(const Lane &level, const Lane &power, Lane &x) {
    for (int i = 0; i < TILE; ++i) {
        const double y = x.at[i] > 1.0 ? (x.at[i] < 1e300 ? x.at[i] : 1e300) : 1.0;
        const double student = level.at[i] - power.at[i] * logarithm(y);
        x.at[i] = power.at[i] > 0.0 ? student : x.at[i];
    }
}

SCSTREAM_BEST_PROCESSOR
void draw_between(const Lane &one, const Lane &other, const Lane &uniform, Lane &out) {
    for (int i = 0; i < TILE; ++i) {
        const double gap = other.at[i] - one.at[i], size = gap < 0.0 ? gap : -gap;
        const double odds = size > -CERTAIN ? exponential(kept(size)) : 0.0;
        const double first = gap > 0.0 ? odds : 1.0, total = 1.0 + odds;
        out.at[i] = first > uniform.at[i] * total ? 0.0 : gap == gap ? 1.0 : 0.0;
    }
}

SCSTREAM_BEST_PROCESSOR
void fill_certainties(const Lane &gap, Lane &entropy) {
    for (int i = 0; i < TILE; ++i) {
        const double x = gap.at[i], some = x > -CERTAIN && x < CERTAIN ? x : 0.0;
        const double level = logarithm(1.0 + exponential(some));
        entropy.at[i] = x > -CERTAIN ? (x < CERTAIN ? level : x) : 0.0;
    }
}

SCSTREAM_BEST_PROCESSOR
void draw_sides(const Lane &gap, const Lane &uniform, Lane &share, Lane &entropy) {
    for (int i = 0; i < TILE; ++i) {
        const double x = gap.at[i], odds = exponential(kept(x)), less = 1.0 / odds;
        const double drawn = uniform.at[i] * (1.0 + odds) < odds ? 1.0 : 0.0;
        const double sure = x > 0.0 ? 1.0 : 0.0, side = is_open(x) ? drawn : sure;
        const double level = logarithm(1.0 + (side > 0.5 ? less : odds));
        share.at[i] = side;
        entropy.at[i] = is_open(x) ? level : 0.0;
    }
}

SCSTREAM_BEST_PROCESSOR
void share_sides(const Lane &gap, Lane &share, Lane &entropy) {
    for (int i = 0; i < TILE; ++i) {
        const double x = gap.at[i], size = x > 0.0 ? x : -x;
        const bool open = is_open(x), second = x > 0.0;
        const double odds = exponential(-kept(size)), less = open ? odds / (1.0 + odds) : 0.0;
        const double level = logarithm(1.0 + odds) + less * size;
        share.at[i] = second ? 1.0 - less : less;
        entropy.at[i] = open ? level : 0.0;
    }
}

}  // namespace scstream
