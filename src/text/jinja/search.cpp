#include "text/jinja/search.h"

#include <algorithm>
#include <cstring>

#include "text/jinja/heap.h"

namespace ft::jinja {

Search::Search(Heap& heap, std::string_view text, std::string_view needle) : text_(text), needle_(needle) {
    constexpr size_t k_quadratic_up_to = 256;  // memmem is linear for longer needles
    heap.work(text.size() + text.size() / 16 * std::min(needle.size(), k_quadratic_up_to));
}

size_t Search::next(size_t from) const {
    if (from > text_.size()) return std::string_view::npos;
    const void* at = memmem(text_.data() + from, text_.size() - from, needle_.data(), needle_.size());
    return at == nullptr ? std::string_view::npos
                         : static_cast<size_t>(static_cast<const char*>(at) - text_.data());
}

size_t find_last(Heap& heap, std::string_view text, std::string_view needle) {
    heap.work(text.size() +
              text.size() * (needle.size() / 16));  // both are at most one string long: no overflow
    return text.rfind(needle);
}

}  // namespace ft::jinja
