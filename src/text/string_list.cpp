#include "text/string_list.h"

#include <algorithm>

namespace ft {

StringList::StringList(const Value& value) : bytes_(value.bytes) {
    begins_.reserve(std::min<uint64_t>(value.count, bytes_.size() / sizeof(uint64_t)));
    uint64_t at = 0;
    for (uint64_t i = 0; i < value.count && bytes_.size() - at >= sizeof(uint64_t); ++i) {
        const uint64_t begin = at + sizeof(uint64_t);
        const auto length = load<uint64_t>(bytes_.data() + at);
        if (length > bytes_.size() - begin) break;
        begins_.push_back(begin);
        at = begin + length;
    }
}

StringList::StringList(std::span<const std::string> texts) {
    begins_.reserve(texts.size());
    for (const std::string& text : texts) {
        char length[sizeof(uint64_t)];
        store(length, static_cast<uint64_t>(text.size()));
        bytes_.append(length, sizeof length);
        begins_.push_back(bytes_.size());
        bytes_ += text;
    }
}

}  // namespace ft
