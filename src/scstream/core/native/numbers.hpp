// A number from text, as the double nearest to it.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

namespace scstream {

constexpr int RANGE = 280;          // powers of ten whose products with 19 digits are doubles
constexpr int EXACT = 22;           // powers of ten that are doubles themselves
constexpr double SPLIT = 134217729.0;        // 2^27 + 1: halves a double without error
constexpr double DOUBT = 0x1p-96;            // relative error of a product of two pairs, and more
constexpr std::uint64_t WHOLE = 9007199254740992;  // 2^53: whole numbers up to here are doubles
constexpr double NONE = std::numeric_limits<double>::quiet_NaN();

// 10^-280 to 10^280 as pairs of doubles that add up to them, to 106 bits.
struct Powers {
    const double *high, *low;
};

// The double nearest to m (high + low), NaN where that is not certain.
inline double product(std::uint64_t m, double high, double low) {
    const double top = static_cast<double>(m >> 32) * 4294967296.0;
    const double bottom = static_cast<double>(m & 0xFFFFFFFFu);
    const double a = top + bottom, rest = bottom - (a - top), p = a * high;
    double t = SPLIT * a;
    const double a1 = t - (t - a), a2 = a - a1;
    t = SPLIT * high;
    const double h1 = t - (t - high), h2 = high - h1;
    const double error = ((a1 * h1 - p) + a1 * h2 + a2 * h1) + a2 * h2;
    const double tail = error + (a * low + rest * high), doubt = std::fabs(p) * DOUBT;
    const double best = p + (tail + doubt);
    return best == p + (tail - doubt) ? best : NONE;
}

inline bool is_digit(std::uint8_t c) { return c >= '0' && c <= '9'; }

// The number in [a, b), NaN if it is none or needs a closer look.
inline double number(const std::uint8_t *a, const std::uint8_t *b, std::uint8_t point,
                     const Powers &powers) {
    while (a < b && (*a == ' ' || *a == '\t')) ++a;
    while (b > a && (b[-1] == ' ' || b[-1] == '\t')) --b;
    bool negative = false, some = false, behind = false;
    if (a < b && (*a == '+' || *a == '-')) negative = *a++ == '-';
    std::uint64_t m = 0;
    int digits = 0;  // in m, without leading zeros
    std::int64_t e = 0;
    for (; a < b; ++a) {
        if (*a == point && !behind) {
            behind = true;
            continue;
        }
        if (!is_digit(*a)) break;
        some = true;
        if (digits < 19) {
            m = m * 10 + (*a - '0');
            digits += m > 0;
            e -= behind;
        } else if (*a != '0') {
            return NONE;
        } else {
            e += !behind;
        }
    }
    if (!some) return NONE;
    if (a < b && (*a == 'E' || *a == 'e')) {
        std::int64_t sign = 1, power = 0;
        ++a;
        if (a < b && (*a == '+' || *a == '-')) sign = *a++ == '-' ? -1 : 1;
        if (a == b || b - a > 4) return NONE;
        for (; a < b && is_digit(*a); ++a) power = power * 10 + (*a - '0');
        e += sign * power;
    }
    if (a != b) return NONE;
    double value = 0.0;
    if (m != 0) {
        if (m <= WHOLE && -EXACT <= e && e <= EXACT) {
            value = static_cast<double>(m);
            value = e >= 0 ? value * powers.high[RANGE + e] : value / powers.high[RANGE - e];
        } else if (-RANGE <= e && e <= RANGE) {
            value = product(m, powers.high[RANGE + e], powers.low[RANGE + e]);
        } else {
            return NONE;
        }
    }
    return negative ? -value : value;
}

// The number without exponent that begins at i, and where it ends: at i if it is not of that kind.
inline double short_number(const std::uint8_t *&i, const std::uint8_t *end, std::uint8_t point,
                           const Powers &powers) {
    const std::uint8_t *const start = i;
    std::uint64_t m = 0;
    i += i < end && *i == '-';
    const std::uint8_t *run = i;
    for (; i < end && is_digit(*i); ++i) m = m * 10 + (*i - '0');
    std::int64_t digits = i - run, decimals = 0;
    if (i < end && *i == point) {
        run = ++i;
        for (; i < end && is_digit(*i); ++i) m = m * 10 + (*i - '0');
        decimals = i - run;
        digits += decimals;
    }
    if (digits == 0 || digits > 18) {
        i = start;
        return NONE;
    }
    const double value =
        m <= WHOLE ? static_cast<double>(m) / powers.high[RANGE + decimals]
                   : product(m, powers.high[RANGE - decimals], powers.low[RANGE - decimals]);
    return *start == '-' ? -value : value;
}

}  // namespace scstream
