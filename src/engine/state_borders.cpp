#include "engine/state_borders.h"

#include <algorithm>

#include "kv/page_pool.h"

namespace ft {

namespace {

constexpr int64_t k_most_messages = 8;     // of the newest ones
constexpr int64_t k_far = 8 * k_kv_block;  // between places in a long message
constexpr int64_t k_same_place = 8;        // tokens between the end of a message and the next one's begin

bool is_control(const Tokenizer& tokenizer, int32_t id) {
    std::string bytes;
    tokenizer.append_bytes(id, false, bytes);
    return bytes.empty();
}

}  // namespace

std::vector<int64_t> message_begins(std::span<const int32_t> ids, const Tokenizer& tokenizer) {
    std::vector<int64_t> begins;
    bool before = true;
    for (size_t i = 0; i < ids.size(); i++) {
        const bool control = is_control(tokenizer, ids[i]);
        if (control && !before) {
            const auto at = static_cast<int64_t>(i);
            if (!begins.empty() && at - begins.back() < k_same_place) begins.back() = at;
            else begins.push_back(at);
        }
        before = control;
    }
    return begins;
}

std::vector<int64_t> state_borders(std::span<const int32_t> ids, const Tokenizer& tokenizer) {
    const int64_t last = static_cast<int64_t>(ids.size()) - 1;
    std::vector<int64_t> borders = message_begins(ids, tokenizer);
    if (static_cast<int64_t>(borders.size()) > k_most_messages)
        borders.erase(borders.begin(), borders.end() - k_most_messages);
    for (int64_t at = k_far; at < last; at += k_far) borders.push_back(at);
    borders.push_back(last);
    std::ranges::sort(borders);
    const auto twice = std::ranges::unique(borders);
    borders.erase(twice.begin(), twice.end());
    std::erase_if(borders, [&](int64_t at) { return at < 1 || at > last; });
    return borders;
}

}  // namespace ft
