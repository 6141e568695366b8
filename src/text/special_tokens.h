// Finds special tokens in a text: the leftmost, and of those that start there the longest.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ft {

class SpecialTokens {
 public:
    SpecialTokens() = default;
    // Of equal texts the lowest id counts; empty ones are left out.
    explicit SpecialTokens(std::vector<std::pair<std::string, int32_t>> tokens);

    struct Match {
        size_t begin = 0, end = 0;  // equal: none
        int32_t id = -1;
    };
    // The first at or after `from`. O(length of the longest token) for each byte passed.
    Match find(std::string_view text, size_t from) const;

    bool empty() const { return nodes_.size() <= 1; }

 private:
    // A trie; a node's children lie side by side in `nodes_`, their bytes in `labels_`, both in rising order.
    struct Node {
        int32_t id = -1;
        uint32_t first_child = 0;
        uint32_t n_children = 0;
    };
    int64_t child(const Node& node, char label) const;

    std::vector<Node> nodes_;
    std::string labels_;
    std::array<bool, 256> starts_{};
};

}  // namespace ft
