// A queue in one piece of memory that is taken once: where no more wait than room was made for, nothing is
// allocated, however many pass through. (A std::deque takes and gives back a block every few items.)
#pragma once

#include <cstddef>
#include <vector>

#include "base/check.h"

namespace ft {

template <class T>
class Fifo {
 public:
    // Room for n items that wait at once.
    void reserve(size_t n) { items_.reserve(2 * n); }

    bool empty() const { return first_ == items_.size(); }
    size_t size() const { return items_.size() - first_; }
    const T& front() const {
        check(!empty(), "the first of an empty queue");
        return items_[first_];
    }
    void push(const T& item) {
        if (items_.size() == items_.capacity()) close_up();
        items_.push_back(item);
    }
    void pop() {
        check(!empty(), "the first of an empty queue is taken out");
        first_++;
        if (empty()) clear();
    }
    void clear() {
        items_.clear();
        first_ = 0;
    }

    const T* begin() const { return items_.data() + first_; }
    const T* end() const { return items_.data() + items_.size(); }

 private:
    // What waits moves to where others were taken out. With room for twice as many as wait, that is no more
    // than were pushed since the last time.
    void close_up() {
        items_.erase(items_.begin(), items_.begin() + static_cast<std::ptrdiff_t>(first_));
        first_ = 0;
    }

    std::vector<T> items_;
    size_t first_ = 0;
};

}  // namespace ft
