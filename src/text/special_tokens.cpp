#include "text/special_tokens.h"

#include <algorithm>
#include <cstring>

namespace ft {

namespace {

// The tokens of a node: those that begin with the same `depth` bytes.
struct Group {
    size_t begin, end, depth;
};

}  // namespace

SpecialTokens::SpecialTokens(std::vector<std::pair<std::string, int32_t>> tokens) {
    std::sort(tokens.begin(), tokens.end());
    std::vector<Group> groups{{0, tokens.size(), 0}};  // groups[i] belongs to nodes_[i]
    nodes_.resize(1);
    labels_.resize(1);
    for (size_t i = 0; i < groups.size(); ++i) {
        auto [begin, end, depth] = groups[i];
        for (; begin < end && tokens[begin].first.size() == depth; ++begin)
            if (nodes_[i].id < 0 && depth > 0) nodes_[i].id = tokens[begin].second;
        nodes_[i].first_child = static_cast<uint32_t>(nodes_.size());
        while (begin < end) {
            const char label = tokens[begin].first[depth];
            size_t next = begin;
            while (next < end && tokens[next].first[depth] == label) ++next;
            groups.push_back({begin, next, depth + 1});
            nodes_.emplace_back();
            labels_.push_back(label);
            nodes_[i].n_children++;
            begin = next;
        }
    }
    for (uint32_t i = 0; i < nodes_[0].n_children; ++i)
        starts_[static_cast<uint8_t>(labels_[nodes_[0].first_child + i])] = true;
}

int64_t SpecialTokens::child(const Node& node, char label) const {
    if (node.n_children == 0) return -1;
    const char* labels = labels_.data() + node.first_child;
    const auto* at = static_cast<const char*>(std::memchr(labels, label, node.n_children));
    return at == nullptr ? -1 : node.first_child + (at - labels);
}

SpecialTokens::Match SpecialTokens::find(std::string_view text, size_t from) const {
    if (empty()) return {};
    for (size_t begin = from; begin < text.size(); ++begin) {
        if (!starts_[static_cast<uint8_t>(text[begin])]) continue;
        Match longest;
        int64_t node = 0;
        for (size_t at = begin; at < text.size(); ++at) {
            node = child(nodes_[static_cast<size_t>(node)], text[at]);
            if (node < 0) break;
            if (nodes_[static_cast<size_t>(node)].id >= 0)
                longest = {begin, at + 1, nodes_[static_cast<size_t>(node)].id};
        }
        if (longest.id >= 0) return longest;
    }
    return {};
}

}  // namespace ft
