// Views of arrays that come from Python: checked once, where they enter.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

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

}  // namespace scstream
