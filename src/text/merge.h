// The merge loop of BPE: while any two neighbours join, the pair of lowest priority number joins, the
// leftmost of equals first. O(n log n) for n symbols; `join` is asked for at most 3n pairs.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

namespace ft {

// A stretch of the text that is one symbol so far. Symbols are a linked list in an array.
struct Symbol {
    uint32_t begin = 0, size = 0;  // bytes of the text
    int32_t id = -1;               // its token, -1: none
    int32_t next = -1, previous = -1;
    uint32_t priority = 0;  // of joining it with the next one
    int32_t joined = -1;    // the token of both
};

// What two neighbours become; k_never: they do not join.
struct Join {
    static constexpr uint32_t k_never = std::numeric_limits<uint32_t>::max();
    uint32_t priority = k_never;
    int32_t id = -1;
};

class Merger {
 public:
    std::vector<Symbol>& symbols() { return symbols_; }  // fill in begin, size, id before merge()

    // join(const Symbol& left, const Symbol& right) -> Join. Afterwards the symbols are those from
    // symbols()[0] on by `next`.
    template <class FindJoin>
    void merge(FindJoin join) {
        link(join);
        if (symbols_.size() <= k_few) {
            merge_few(join);
        } else {
            merge_many(join);
        }
    }

 private:
    static constexpr size_t k_few = 24;  // up to here looking at every pair each time is faster than a heap

    template <class FindJoin>
    void set_join(int32_t left, FindJoin join) {
        Symbol& s = symbols_[static_cast<size_t>(left)];
        const Join j = s.next < 0 ? Join{} : join(s, symbols_[static_cast<size_t>(s.next)]);
        s.priority = j.priority;
        s.joined = j.id;
    }

    template <class FindJoin>
    void link(FindJoin join) {
        const auto n = static_cast<int32_t>(symbols_.size());
        for (int32_t i = 0; i < n; ++i) {
            symbols_[static_cast<size_t>(i)].previous = i - 1;
            symbols_[static_cast<size_t>(i)].next = i + 1 < n ? i + 1 : -1;
        }
        for (int32_t i = 0; i < n; ++i) set_join(i, join);
    }

    // Joins a symbol with its next one.
    template <class FindJoin>
    void join_at(int32_t left, FindJoin join) {
        Symbol& s = symbols_[static_cast<size_t>(left)];
        Symbol& gone = symbols_[static_cast<size_t>(s.next)];
        s.size += gone.size;
        s.id = s.joined;
        s.next = gone.next;
        gone.priority = Join::k_never;
        if (s.next >= 0) symbols_[static_cast<size_t>(s.next)].previous = left;
        set_join(left, join);
        if (s.previous >= 0) set_join(s.previous, join);
    }

    template <class FindJoin>
    void merge_few(FindJoin join) {
        for (;;) {
            int32_t best = -1;
            uint32_t lowest = Join::k_never;
            for (int32_t i = symbols_.empty() ? -1 : 0; i >= 0; i = symbols_[static_cast<size_t>(i)].next) {
                if (symbols_[static_cast<size_t>(i)].priority >= lowest) continue;
                lowest = symbols_[static_cast<size_t>(i)].priority;
                best = i;
            }
            if (best < 0) return;
            join_at(best, join);
        }
    }

    // Heap entries are priority and position; one whose symbol has another priority by now is out of date.
    template <class FindJoin>
    void merge_many(FindJoin join) {
        heap_.clear();
        for (size_t i = 0; i < symbols_.size(); ++i)
            if (symbols_[i].priority != Join::k_never) heap_.push_back(entry(i));
        std::make_heap(heap_.begin(), heap_.end(), std::greater<>());
        const auto push = [&](int32_t i) {
            if (i < 0 || symbols_[static_cast<size_t>(i)].priority == Join::k_never) return;
            heap_.push_back(entry(static_cast<size_t>(i)));
            std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
        };
        while (!heap_.empty()) {
            std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
            const uint64_t lowest = heap_.back();
            heap_.pop_back();
            const auto left = static_cast<int32_t>(lowest & 0xFFFFFFFF);
            if (symbols_[static_cast<size_t>(left)].priority != static_cast<uint32_t>(lowest >> 32)) continue;
            join_at(left, join);
            push(left);
            push(symbols_[static_cast<size_t>(left)].previous);
        }
    }

    uint64_t entry(size_t i) const { return (static_cast<uint64_t>(symbols_[i].priority) << 32) | i; }

    std::vector<Symbol> symbols_;
    std::vector<uint64_t> heap_;
};

}  // namespace ft
