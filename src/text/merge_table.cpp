#include "text/merge_table.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/log.h"

namespace ft {

namespace {

// Merges are looked up in batches, so that the memory of one is on its way while another is handled.
constexpr size_t k_batch = 16;

struct Parts {
    std::string_view left, right;
    std::string both;
    std::array<uint64_t, 3> hash{};
    int32_t left_id = -1, right_id = -1, both_id = -1;
};

void read_parts(std::string_view merge, const TokenIndex& index, Parts& parts) {
    const size_t space = merge.find(' ', 1);
    parts.left = merge.substr(0, space);
    parts.right = merge.substr(space + 1);
    parts.both.assign(parts.left).append(parts.right);
    parts.hash = {hash_text(parts.left), hash_text(parts.right), hash_text(parts.both)};
    for (const uint64_t hash : parts.hash) index.prefetch(hash);
}

}  // namespace

MergeTable::MergeTable(const Vocabulary& vocabulary, const TokenIndex& index) {
    const StringList& merges = vocabulary.merges;
    slots_.resize(merges.size() + merges.size() / 2 + 2);
    std::array<Parts, k_batch> batch;
    size_t lost = 0;
    for (size_t begin = 0; begin < merges.size(); begin += k_batch) {
        const size_t n = std::min(k_batch, merges.size() - begin);
        for (size_t i = 0; i < n; ++i) read_parts(merges[begin + i], index, batch[i]);
        for (size_t i = 0; i < n; ++i) {
            Parts& parts = batch[i];
            parts.left_id = index.find(parts.left, parts.hash[0]);
            parts.right_id = index.find(parts.right, parts.hash[1]);
            parts.both_id = index.find(parts.both, parts.hash[2]);
            __builtin_prefetch(&slots_[slot_of(parts.left_id, parts.right_id)]);
        }
        for (size_t i = 0; i < n; ++i) {
            const Parts& parts = batch[i];
            if (parts.left_id < 0 || parts.right_id < 0 || parts.both_id < 0) {
                ++lost;
            } else {
                add(parts.left_id, parts.right_id, {static_cast<uint32_t>(begin + i), parts.both_id});
            }
        }
    }
    if (lost > 0)
        log("warn", "{} of {} merges of the vocabulary name something that is no token", lost, merges.size());
}

void MergeTable::add(int32_t left, int32_t right, Join join) {
    size_t at = slot_of(left, right);
    while (slots_[at].left >= 0) {
        if (slots_[at].left == left && slots_[at].right == right) return;  // the earlier merge wins
        at = at + 1 == slots_.size() ? 0 : at + 1;
    }
    slots_[at] = {left, right, join};
}

}  // namespace ft
