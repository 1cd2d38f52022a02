// Separated text: its records and fields in one pass over the bytes, and numbers written as text.
#pragma once

#include <algorithm>
#include <cstring>

#include "arrays.hpp"
#include "numbers.hpp"

namespace scstream {

constexpr std::int64_t SKIP = -1;  // role of a field that is not read; texts have -2 and below

// How fields are written, and what is read of each.
struct Form {
    std::uint8_t separator, point;
    Ints roles;
    Powers powers;
};

// Where a pass writes what it finds, see `scstream.core.Found`.
struct Found {
    Table<double> numbers;
    Block<std::int64_t> spans;
    Table<std::int64_t> bounds;
    Row<std::int64_t> fields;
    Table<std::int64_t> odd;
};

class Scan {
  public:
    Scan(const std::uint8_t *text, std::int64_t size, bool final, const Form &form,
         const Found &found)
        : text_(text), end_(text + size), final_(final), form_(form), found_(found) {}

    void run() {
        while (at_ < end_ && row_ < length(found_.fields)) {
            if (*at_ == '\n') {  // an empty line
                ++at_;
                ++breaks_;
            } else if (*at_ == '\r' && (at_ + 1 == end_ || at_[1] == '\n')) {
                if (at_ + 1 == end_ && !final_) return;
                breaks_ += at_ + 1 < end_;
                at_ = std::min(at_ + 2, end_);
            } else if (!record()) {
                return;
            }
        }
    }

    nb::tuple state() const { return nb::make_tuple(row_, n_odd_, at_ - text_, breaks_); }

  private:
    // Read one record; false if the block ends before it does.
    bool record() {
        const std::int64_t odd_before = n_odd_;
        fields_ = inner_ = 0;
        broken_ = false;
        const std::uint8_t *stop = at_;
        while (true) {
            stop = field(stop);
            if (stop == nullptr) {
                n_odd_ = odd_before;
                return false;
            }
            if (stop >= end_ || *stop == '\n') break;
            ++stop;
        }
        if (stop >= end_ && !final_) {
            n_odd_ = odd_before;
            return false;
        }
        const std::int64_t fields = broken_ ? -1 : fields_;
        if (fields != length(form_.roles)) n_odd_ = odd_before;
        const std::uint8_t *after = stop;
        if (stop < end_) {
            ++after;
            ++inner_;
        }
        if (stop > at_ && stop[-1] == '\r') --stop;
        std::int64_t *bounds = &found_.bounds(row_, 0);
        bounds[0] = at_ - text_;
        bounds[1] = stop - text_;
        bounds[2] = after - text_;
        bounds[3] = breaks_;
        bounds[4] = breaks_ += inner_;
        found_.fields(row_++) = fields;
        at_ = after;
        return true;
    }

    // Read the field that begins at i; return where it ends, null if the block ends before.
    const std::uint8_t *field(const std::uint8_t *i) {
        const std::int64_t role = fields_ < length(form_.roles) ? form_.roles(fields_) : SKIP;
        const std::uint8_t *a = i, *b;
        if (i < end_ && *i == '"') {
            a = i + 1;
            b = closing(a);
            if (b >= end_) return nullptr;
            i = behind_quote(b + 1);
        } else {
            if (role >= 0) {
                const double value = short_number(i, end_, form_.point, form_.powers);
                if (i > a && i < end_ && (*i == form_.separator || *i == '\n') && value == value) {
                    found_.numbers(row_, role) = value;
                    ++fields_;
                    return i;
                }
                i = a;
            }
            while (i < end_ && *i != form_.separator && *i != '\n') ++i;
            b = i;
            if (b > a && b[-1] == '\r' && (i == end_ || *i == '\n')) --b;
        }
        if (role >= 0) {
            const double value = number(a, b, form_.point, form_.powers);
            found_.numbers(row_, role) = value;
            if (value != value) {
                const std::int64_t odd[] = {row_, role, a - text_, b - text_};
                std::copy(odd, odd + 4, &found_.odd(n_odd_++, 0));
            }
        } else if (role < SKIP) {
            found_.spans(row_, -2 - role, 0) = a - text_;
            found_.spans(row_, -2 - role, 1) = b - text_;
        }
        ++fields_;
        return i;
    }

    // Where the closing quote is; counts line ends before it.
    const std::uint8_t *closing(const std::uint8_t *i) {
        for (; i < end_; ++i) {
            if (*i == '"') {
                if (i + 1 < end_ && i[1] == '"') {
                    ++i;
                } else {
                    break;
                }
            } else if (*i == '\n') {
                ++inner_;
            }
        }
        return i;
    }

    // Where a quoted field ends; notes whether anything follows its closing quote.
    const std::uint8_t *behind_quote(const std::uint8_t *i) {
        if (i < end_ && *i == '\r' && (i + 1 == end_ || i[1] == '\n')) ++i;
        if (i >= end_ || *i == form_.separator || *i == '\n') return i;
        broken_ = true;
        while (i < end_ && *i != '\n') ++i;
        return i;
    }

    const std::uint8_t *const text_, *const end_;
    const bool final_;
    const Form form_;
    const Found found_;
    const std::uint8_t *at_ = text_;
    std::int64_t row_ = 0, n_odd_ = 0, breaks_ = 0, fields_ = 0, inner_ = 0;
    bool broken_ = false;
};

inline nb::tuple scan(const Bytes &text, bool final, const nb::tuple &form, const nb::tuple &found) {
    const auto roles = part<Ints>(form, 2);
    const auto powers = part<Matrix>(form, 3);
    const Found to{part<Table<double>>(found, 0), part<Block<std::int64_t>>(found, 1),
                   part<Table<std::int64_t>>(found, 2), part<Row<std::int64_t>>(found, 3),
                   part<Table<std::int64_t>>(found, 4)};
    const std::int64_t rows = length(to.fields), columns = length(to.numbers, 1),
                       texts = length(to.spans, 1);
    require_shape(powers, 2, 2 * RANGE + 1);
    require_rows(rows, to.numbers);
    require_shape(to.spans, rows, texts, 2);
    require_shape(to.bounds, rows, 5);
    std::int64_t n_numbers = 0;
    for (std::size_t f = 0; f < roles.shape(0); ++f) {
        const std::int64_t role = roles.data()[f];
        require(role < columns && role >= -1 - texts, "a role has no column");
        n_numbers += role >= 0;
    }
    require_shape(to.odd, length(to.odd), 4);
    require(length(to.odd) >= rows * n_numbers, "there is no room for odd fields");
    const double *high = powers.data();
    Scan pass(text.data(), length(text), final,
              {part<std::uint8_t>(form, 0), part<std::uint8_t>(form, 1), roles,
               {high, high + 2 * RANGE + 1}},
              to);
    {
        nb::gil_scoped_release free;
        pass.run();
    }
    return pass.state();
}

// Write a whole number with so many decimals; return where it ends.
inline std::uint8_t *write(std::int64_t value, std::int64_t decimals, std::uint8_t *out) {
    std::uint8_t digits[24];
    if (value < 0) *out++ = '-';
    std::uint64_t v = value < 0 ? 0 - static_cast<std::uint64_t>(value) : value;
    std::int64_t k = 0;
    for (; v > 0 || k <= decimals; v /= 10) digits[k++] = static_cast<std::uint8_t>('0' + v % 10);
    while (k > 0) {
        *out++ = digits[--k];
        if (k == decimals && k > 0) *out++ = '.';
    }
    return out;
}

// Write rows of numbers with text between them, see `scstream.core.lay_out`.
inline std::int64_t lay_out(const Table<const std::int64_t> &values, const Ints &decimals,
                            const Bytes &glue, const Ints &glue_at, const Bytes &data,
                            const Table<const std::int64_t> &bounds, const Row<std::uint8_t> &out) {
    const Grid<const std::int64_t> rows = grid(values), starts = grid(bounds);
    const std::int64_t m = rows.columns, *joints = glue_at.data();
    std::int64_t room = rows.rows * (length(glue) + 21 * m);
    require_rows(m, decimals);
    require_rows(m + 2, glue_at);
    require_shape(bounds, rows.rows, 2);
    for (std::int64_t c = 0; c < m; ++c)
        require(decimals(c) >= 0 && decimals(c) < 18, "too many decimals");
    require(joints[0] == 0 && joints[m + 1] == length(glue) &&
                std::is_sorted(joints, joints + m + 2),
            "texts between numbers must follow each other");
    for (std::int64_t i = 0; i < rows.rows; ++i) {
        const bool inside = 0 <= starts[i][0] && starts[i][1] <= length(data);
        require(inside && starts[i][0] <= starts[i][1], "a row begins outside of the data");
        room += starts[i][1] - starts[i][0];
    }
    require(room <= length(out), "there is no room for the text");
    nb::gil_scoped_release free;
    std::uint8_t *at = out.data();
    const auto copy = [&at](const std::uint8_t *from, std::int64_t a, std::int64_t b) {
        if (b > a) std::memcpy(at, from + a, static_cast<std::size_t>(b - a));
        at += b - a;
    };
    for (std::int64_t i = 0; i < rows.rows; ++i) {
        copy(data.data(), starts[i][0], starts[i][1]);
        for (std::int64_t c = 0; c < m; ++c) {
            copy(glue.data(), joints[c], joints[c + 1]);
            at = write(rows[i][c], decimals.data()[c], at);
        }
        copy(glue.data(), joints[m], joints[m + 1]);
    }
    return at - out.data();
}

}  // namespace scstream
