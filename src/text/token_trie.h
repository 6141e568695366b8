// The bytes of a vocabulary's tokens as trees, for whoever asks which tokens may come next: what one of them
// forbids need not be looked at again for those that begin like it.
//
// Most tokens are words. Where any word may come, as in a string of JSON, looking at each is a waste: tokens
// of plain characters are listed by their length, and there is a smaller tree of all others. Plain are the
// ASCII characters from blank to ~ but " and \, and all characters beyond ASCII.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ft {

class TokenTrie {
 public:
    // In the order of a walk that goes down before it goes on. Two tokens of the same bytes are two nodes.
    struct Node {
        int32_t end;    // the first node that is not below this one
        int32_t token;  // whose bytes end here; -1: none does
        uint8_t depth;  // bytes before this one
        uint8_t byte;
    };

    static constexpr size_t k_longest_token = 255;  // bytes; longer ones are left out
    static constexpr int k_most_plain = 16;         // characters; longer tokens are not listed as plain

    // The bytes of each token by its id; "": it is none that may stand in a text.
    explicit TokenTrie(std::span<const std::string> texts);

    std::span<const Node> all() const { return all_; }
    std::span<const Node> not_plain() const { return not_plain_; }

    // Bits by id: the tokens of 1 to `characters` plain characters; characters from 1 to k_most_plain.
    std::span<const uint64_t> plain(int characters) const {
        return plain_[static_cast<size_t>(characters - 1)];
    }

    size_t words() const { return plain_.front().size(); }  // of a set of bits
    int longest() const { return longest_; }                // bytes of a token

 private:
    using Token = std::pair<std::string_view, int32_t>;
    static std::vector<Node> tree_of(std::span<const Token> sorted);

    std::vector<Node> all_, not_plain_;
    std::vector<std::vector<uint64_t>> plain_;
    int longest_ = 0;
};

}  // namespace ft
