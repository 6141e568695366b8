// Searching text in time that stays near linear also for texts like "aaaa…b" in "aaaa…".
#pragma once

#include <string_view>

namespace ft::jinja {

class Heap;

class Search {
 public:
    // Charges the work of one pass over the text.
    Search(Heap& heap, std::string_view text, std::string_view needle);
    // Byte offset of the first place at or after `from`, std::string_view::npos when there is none.
    size_t next(size_t from) const;
    bool found() const { return next(0) != std::string_view::npos; }

 private:
    std::string_view text_, needle_;
};

// The last place. Charges for its worst case, text times needle.
size_t find_last(Heap& heap, std::string_view text, std::string_view needle);

}  // namespace ft::jinja
