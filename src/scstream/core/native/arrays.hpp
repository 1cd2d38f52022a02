// Views of arrays that come from Python: checked once, where they enter.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace scstream {

namespace nb = nanobind;

template <typename T, typename Shape>
using Array = nb::ndarray<T, Shape, nb::c_contig, nb::device::cpu>;

using Bytes = Array<const std::uint8_t, nb::ndim<1>>;
template <typename T>
using Row = Array<T, nb::ndim<1>>;
template <typename T>
using Table = Array<T, nb::ndim<2>>;
template <typename T>
using Block = Array<T, nb::ndim<3>>;

// What is read alone.
using Vector = Row<const double>;
using Matrix = Table<const double>;
using Ints = Row<const std::int64_t>;

// Rows of numbers, one after the other.
template <typename T>
struct Grid {
    T *data;
    std::int64_t rows, columns;

    T *operator[](std::int64_t i) const { return data + i * columns; }
};

template <typename T>
Grid<T> grid(const Table<T> &array) {
    return {array.data(), static_cast<std::int64_t>(array.shape(0)),
            static_cast<std::int64_t>(array.shape(1))};
}

// A part of a tuple, arrays never as copies of them: what is written to one must arrive.
template <typename T>
bool found(const nb::tuple &parts, std::size_t i, T &out) {
    return i < parts.size() && nb::try_cast<T>(parts[i], out, std::is_arithmetic_v<T>);
}

template <typename T>
T part(const nb::tuple &parts, std::size_t i) {
    T out;
    if (!found(parts, i, out))
        throw nb::type_error("a part of this tuple is missing, or has another type, shape or layout");
    return out;
}

inline void require(bool holds, const char *message) {
    if (!holds) throw nb::value_error(message);
}

template <typename Shaped>
std::int64_t length(const Shaped &array, std::size_t axis = 0) {
    return static_cast<std::int64_t>(array.shape(axis));
}

template <typename Shaped, typename... Size>
void require_shape(const Shaped &array, Size... sizes) {
    const std::int64_t expected[] = {static_cast<std::int64_t>(sizes)...};
    for (std::size_t i = 0; i < sizeof...(sizes); ++i)
        require(length(array, i) == expected[i], "arrays do not belong together");
}

// Each array has an entry for each of n rows.
template <typename... Shaped>
void require_rows(std::int64_t n, const Shaped &...arrays) {
    require(((length(arrays) == n) && ...), "rows have other numbers");
}

// Rows by their labels below k: those of label c are from first[c] to first[c + 1]. Rows with other
// labels are left out.
struct Groups {
    std::vector<std::int64_t> first, rows;

    Groups(const std::int64_t *z, std::int64_t n, std::int64_t k) : first(k + 1) {
        const auto inside = [&](std::int64_t i) { return 0 <= z[i] && z[i] < k; };
        for (std::int64_t i = 0; i < n; ++i)
            if (inside(i)) ++first[z[i] + 1];
        for (std::int64_t c = 0; c < k; ++c) first[c + 1] += first[c];
        rows.resize(first[k]);
        std::vector<std::int64_t> next(first.begin(), first.end() - 1);
        for (std::int64_t i = 0; i < n; ++i)
            if (inside(i)) rows[next[z[i]]++] = i;
    }
};

}  // namespace scstream
