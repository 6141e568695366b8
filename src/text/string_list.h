// An array of strings as a GGUF file holds it: one block of bytes and an offset for each string, no
// allocation each.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "gguf/value.h"

namespace ft {

class StringList {
 public:
    StringList() = default;
    // `value` is an array of strings; the strings end with the first that is cut.
    explicit StringList(const Value& value);
    explicit StringList(std::span<const std::string> texts);

    size_t size() const { return begins_.size(); }
    std::string_view operator[](size_t i) const {
        const char* at = bytes_.data() + begins_[i];
        return {at, static_cast<size_t>(length_before(at))};
    }

 private:
    static uint64_t length_before(const char* text) { return load<uint64_t>(text - sizeof(uint64_t)); }

    std::string bytes_;             // each string behind its length
    std::vector<uint64_t> begins_;  // of the text
};

}  // namespace ft
