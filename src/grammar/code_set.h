// Sets of characters, and the bytes that UTF-8 writes them with.
#pragma once

#include <cstdint>
#include <vector>

namespace ft::grammar {

struct CodeRange {
    char32_t first, last;
    bool operator==(const CodeRange&) const = default;
};

// Ranges in any order that may overlap, unless a function says otherwise.
using CodeSet = std::vector<CodeRange>;

// The same set with rising ranges that do not touch, and without what is no character: surrogates, and codes
// beyond U+10FFFF. The functions below return such sets and take any.
CodeSet normal(CodeSet set);
CodeSet complement(CodeSet set);
CodeSet common(CodeSet a, CodeSet b);

struct ByteRange {
    uint8_t first, last;
};

// One byte out of each range, one after the other: 1 to 4 of them.
using ByteRanges = std::vector<ByteRange>;

// UTF-8 of the set's characters is what one of these allows, and nothing else.
std::vector<ByteRanges> utf8_ranges(const CodeSet& set);

}  // namespace ft::grammar
