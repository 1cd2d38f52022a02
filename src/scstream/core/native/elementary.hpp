// Exponentials and logarithms of our own, and uniforms by row: the same bits on every processor.
#pragma once

#include <cstdint>
#include <cstring>

// Functions of long loops are compiled for several processors; the best is taken when they run.
// What they call is compiled into them.
#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__) && !defined(__clang__)
#define SCSTREAM_BEST_PROCESSOR \
    __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4"), flatten))
#else
#define SCSTREAM_BEST_PROCESSOR
#endif

namespace scstream {

// Nats by which a label leads that is taken for certain: one row in seventy thousand million would
// be drawn otherwise, and what entropy there is adds nothing.
constexpr double CERTAIN = 25.0;

template <typename To, typename From>
To bits_of(From value) {
    static_assert(sizeof(To) == sizeof(From), "of the same size");
    To out;
    std::memcpy(&out, &value, sizeof out);
    return out;
}

constexpr double LN2_HIGH = 6.93147180369123816490e-01, LN2_LOW = 1.90821492927058770002e-10;

// exp(x) for -700 < x < 700.
inline double exponential(double x) {
    constexpr double ROUND = 6755399441055744.0;  // 1.5 * 2^52: what is added to it loses its fraction
    const double t = x * 1.4426950408889634 + ROUND, e = t - ROUND;
    const double r = (x - e * LN2_HIGH) - e * LN2_LOW, s = r * r;
    const double high = 2.48015873015873e-05 + 2.7557319223985893e-06 * r +
                        s * (2.755731922398589e-07 + 2.505210838544172e-08 * r +
                             s * (2.08767569878681e-09 + 1.6059043836821613e-10 * r));
    const double rest =
        s * (0.5 + 0.16666666666666666 * r +
             s * (0.041666666666666664 + 0.008333333333333333 * r +
                  s * (0.001388888888888889 + 0.0001984126984126984 * r + s * high)));
    const auto scale = (bits_of<std::uint64_t>(t) << 52) + bits_of<std::uint64_t>(1.0);
    return (1.0 + (r + rest)) * bits_of<double>(scale);
}

// Of a normal number x = 2^e g > 0 the number g from 1 to 2, and e, as the bits say them. They are
// converted so that loops become vector code.
inline double mantissa(double x) {
    return bits_of<double>((bits_of<std::uint64_t>(x) & 0xFFFFFFFFFFFFFull) | 0x3FF0000000000000ull);
}

inline double exponent(double x) {
    return bits_of<double>((bits_of<std::uint64_t>(x) >> 52) | 0x4330000000000000ull) -
           (0x1p52 + 1023.0);
}

// log(x) for normal x > 0: of 2^e g with g from sqrt(.5) to sqrt(2), by the series of atanh.
inline double logarithm(double x) {
    const double whole = mantissa(x);
    const bool more = whole > 1.4142135623730951;
    const double g = more ? 0.5 * whole : whole, d = exponent(x) + (more ? 1.0 : 0.0);
    const double r = (g - 1.0) / (g + 1.0), z = r * r, v = z * z, w = v * v;
    const double low = 1.0 / 3.0 + z * (1.0 / 5.0) + v * (1.0 / 7.0 + z * (1.0 / 9.0));
    const double high = 1.0 / 11.0 + z * (1.0 / 13.0) + v * (1.0 / 15.0 + z * (1.0 / 17.0));
    const double tail = z * (low + w * (high + w * (1.0 / 19.0 + z * (1.0 / 21.0))));
    return d * LN2_HIGH + (2.0 * r + (2.0 * r * tail + d * LN2_LOW));
}

// log(gamma(x)) by Stirling's series, which is exact to rounding from 8 on.
constexpr double STIRLING = 8.0;

inline double stirling(double x) {
    const double w = 1.0 / x, v = w * w;
    double tail = 1.0 / 1188.0 - v * (691.0 / 360360.0 - v * (1.0 / 156.0));
    tail = 1.0 / 12.0 - v * (1.0 / 360.0 - v * (1.0 / 1260.0 - v * (1.0 / 1680.0 - v * tail)));
    return (x - 0.5) * logarithm(x) - x + 0.9189385332046728 + w * tail;
}

// log(gamma(x)) for x > 0, to 1e-14 of itself or of 1: of small numbers that of x + 8, less the
// eight factors between.
inline double log_gamma(double x) {
    const bool small = x < STIRLING;
    const double u = x * (x + 7.0);
    const double factors = small ? u * (u + 6.0) * ((u + 10.0) * (u + 12.0)) : 1.0;
    return stirling(small ? x + STIRLING : x) - logarithm(factors);
}

// Philox 4x32 with ten rounds: the counter is (row, sweep, batch), the key is the seed.
struct Uniforms {
    double label, sublabel;
};

struct Key {
    std::uint64_t seed, batch, sweep, first;

    Uniforms operator()(std::int64_t row) const {
        const std::uint64_t at = first + static_cast<std::uint64_t>(row);
        auto a = static_cast<std::uint32_t>(at), b = static_cast<std::uint32_t>(at >> 32),
             c = static_cast<std::uint32_t>(sweep), d = static_cast<std::uint32_t>(batch),
             k = static_cast<std::uint32_t>(seed), m = static_cast<std::uint32_t>(seed >> 32);
        for (int i = 0; i < 10; ++i) {
            const std::uint64_t p = std::uint64_t{0xD2511F53} * a, q = std::uint64_t{0xCD9E8D57} * c;
            a = static_cast<std::uint32_t>(q >> 32) ^ b ^ k;
            b = static_cast<std::uint32_t>(q);
            c = static_cast<std::uint32_t>(p >> 32) ^ d ^ m;
            d = static_cast<std::uint32_t>(p);
            k += 0x9E3779B9u;
            m += 0xBB67AE85u;
        }
        return {unit(a, b), unit(c, d)};
    }

  private:
    static double unit(std::uint32_t high, std::uint32_t low) {
        return (whole(high) * 0x1p21 + whole(low >> 11)) * 0x1p-53;
    }

    static double whole(std::uint32_t x) {
        return bits_of<double>(x | 0x4330000000000000ull) - 0x1p52;
    }
};

}  // namespace scstream
