// Chunks of a batch, added up in one order on any threads; see scstream/engines/chunks.py.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "pool.hpp"

namespace scstream {

// How rows are cut: `Cut` of scstream/core/__init__.py.
struct Cut {
    std::int64_t rows, first, threads;

    std::int64_t chunks(std::int64_t n) const { return n > rows ? (n + rows - 1) / rows : 1; }
};

inline Cut cut_of(const nb::tuple &given) {
    const Cut out{part<std::int64_t>(given, 0), part<std::int64_t>(given, 1),
                  part<std::int64_t>(given, 2)};
    require(out.rows > 0 && out.first >= 0, "chunks have rows, and are numbered from 0 on");
    return out;
}

// Sums over rows by label and sub-label; see `sweep`.
struct Sums {
    std::vector<double> current, entropy;
    std::vector<std::int64_t> rows, rivals;

    Sums(std::int64_t k, std::int64_t p, bool pairs)
        : current(k * 2 * p), entropy(pairs ? k * k : k), rows(pairs ? 2 * k : 0),
          rivals(pairs ? k * k : 0) {}

    void add(const Sums &more) {
        add(current, more.current);
        add(entropy, more.entropy);
        add(rows, more.rows);
        add(rivals, more.rivals);
    }

  private:
    template <typename T>
    static void add(std::vector<T> &to, const std::vector<T> &more) {
        for (std::size_t i = 0; i < to.size(); ++i) to[i] += more[i];
    }
};

// Adds up the sums of chunks in pairs, and pairs of pairs, in whichever order they come: few are
// held at a time.
class Tree {
  public:
    using Owned = std::unique_ptr<Sums>;

    // Add the sums of a chunk; returns some that are free to be used again, or none.
    Owned add(std::int64_t first, Owned sums) {
        Owned spare;
        for (std::int64_t size = 1;; size *= 2) {
            const bool is_left = first / size % 2 == 0;
            const std::int64_t beside = is_left ? first + size : first - size;
            {
                const std::lock_guard<std::mutex> lock(mutex_);
                const auto at = held_.find(beside);
                if (at == held_.end() || at->second.size != size) {
                    held_[first] = {size, std::move(sums)};
                    return spare;
                }
                spare = std::move(at->second.sums);
                held_.erase(at);
            }
            if (!is_left) {
                std::swap(sums, spare);
                first = beside;
            }
            sums->add(*spare);
        }
    }

    // The sums of run after run.
    std::vector<const Sums *> runs() const {
        std::vector<const Sums *> out;
        for (const auto &[first, node] : held_) out.push_back(node.sums.get());
        return out;
    }

  private:
    struct Node {
        std::int64_t size;
        Owned sums;
    };

    std::mutex mutex_;
    std::map<std::int64_t, Node> held_;
};

// Add up chunks of n rows on threads. What `begin` returns fills sums that are empty with what the
// rows from one to another one give.
template <typename Begin>
void over_chunks(const Cut &cut, std::int64_t n, const Sums &empty, const Begin &begin, Tree &to) {
    together(cut.threads, cut.chunks(n), [&] {
        return [&, fill = begin(), own = Tree::Owned()](std::int64_t i) mutable {
            if (own)
                *own = empty;
            else
                own = std::make_unique<Sums>(empty);
            fill(i * cut.rows, std::min(n, (i + 1) * cut.rows), *own);
            own = to.add(cut.first + i, std::move(own));
        };
    });
}

}  // namespace scstream
