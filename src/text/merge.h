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
    // Priorities are below `n_priorities`.
    explicit Merger(size_t n_priorities) : n_priorities_(n_priorities) {}

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
    static constexpr size_t k_few = 32;  // up to here looking at every pair each time is faster than queues

    // The positions that wait for one priority, lowest first. They mostly come in rising order.
    class Bucket {
     public:
        bool empty() const { return next_ == rising_.size() && late_.empty(); }
        void push(uint32_t position) {
            if (rising_.empty() || position > rising_.back()) return rising_.push_back(position);
            late_.push_back(position);
            std::push_heap(late_.begin(), late_.end(), std::greater<>());
        }
        uint32_t pop() {
            if (late_.empty() || (next_ < rising_.size() && rising_[next_] < late_.front()))
                return rising_[next_++];
            std::pop_heap(late_.begin(), late_.end(), std::greater<>());
            const uint32_t position = late_.back();
            late_.pop_back();
            return position;
        }
        void clear() {
            rising_.clear();
            late_.clear();
            next_ = 0;
        }

     private:
        std::vector<uint32_t> rising_;
        size_t next_ = 0;             // in rising_
        std::vector<uint32_t> late_;  // a heap
    };

    Symbol& at(int32_t i) { return symbols_[static_cast<size_t>(i)]; }

    template <class FindJoin>
    void set_join(Symbol& left, FindJoin join) {
        const Join j = left.next < 0 ? Join{} : join(left, at(left.next));
        left.priority = j.priority;
        left.joined = j.id;
    }

    template <class FindJoin>
    void link(FindJoin join) {
        const auto n = static_cast<int32_t>(symbols_.size());
        for (int32_t i = 0; i < n; ++i) {
            at(i).previous = i - 1;
            at(i).next = i + 1 < n ? i + 1 : -1;
        }
        for (Symbol& symbol : symbols_) set_join(symbol, join);
    }

    // Joins a symbol with its next one.
    template <class FindJoin>
    void join_next(int32_t left, FindJoin join) {
        Symbol& s = at(left);
        Symbol& gone = at(s.next);
        s.size += gone.size;
        s.id = s.joined;
        s.next = gone.next;
        gone.priority = Join::k_never;
        if (s.next >= 0) at(s.next).previous = left;
        set_join(s, join);
        if (s.previous >= 0) set_join(at(s.previous), join);
    }

    template <class FindJoin>
    void merge_few(FindJoin join) {
        for (;;) {
            int32_t best = -1;
            uint32_t lowest = Join::k_never;
            for (int32_t i = symbols_.empty() ? -1 : 0; i >= 0; i = at(i).next) {
                if (at(i).priority >= lowest) continue;
                lowest = at(i).priority;
                best = i;
            }
            if (best < 0) return;
            join_next(best, join);
        }
    }

    // A heap of the priorities that occur, and a bucket of positions for each. A position whose symbol has
    // another priority by now is out of date.
    template <class FindJoin>
    void merge_many(FindJoin join) {
        if (bucket_of_.empty()) bucket_of_.assign(n_priorities_, -1);
        for (size_t i = 0; i < symbols_.size(); ++i) wait(static_cast<int32_t>(i));
        while (!waiting_.empty()) {
            const uint32_t lowest = waiting_.front();
            Bucket& bucket = buckets_[static_cast<size_t>(bucket_of_[lowest])];
            if (bucket.empty()) {
                drop_lowest();
                continue;
            }
            const auto left = static_cast<int32_t>(bucket.pop());
            if (at(left).priority != lowest) continue;
            join_next(left, join);
            wait(left);
            if (at(left).previous >= 0) wait(at(left).previous);
        }
    }

    void wait(int32_t i) {
        const uint32_t priority = at(i).priority;
        if (priority == Join::k_never) return;
        int32_t& bucket = bucket_of_[priority];
        if (bucket < 0) {
            if (free_.empty()) {
                free_.push_back(static_cast<int32_t>(buckets_.size()));
                buckets_.emplace_back();
            }
            bucket = free_.back();
            free_.pop_back();
            waiting_.push_back(priority);
            std::push_heap(waiting_.begin(), waiting_.end(), std::greater<>());
        }
        buckets_[static_cast<size_t>(bucket)].push(static_cast<uint32_t>(i));
    }

    void drop_lowest() {
        int32_t& bucket = bucket_of_[waiting_.front()];
        buckets_[static_cast<size_t>(bucket)].clear();
        free_.push_back(bucket);
        bucket = -1;
        std::pop_heap(waiting_.begin(), waiting_.end(), std::greater<>());
        waiting_.pop_back();
    }

    std::vector<Symbol> symbols_;
    size_t n_priorities_;
    std::vector<int32_t> bucket_of_;  // by priority; -1: none
    std::vector<Bucket> buckets_;
    std::vector<int32_t> free_;      // buckets
    std::vector<uint32_t> waiting_;  // priorities, a heap
};

}  // namespace ft
