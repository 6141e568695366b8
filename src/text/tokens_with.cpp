#include "text/tokens_with.h"

#include <algorithm>

namespace ft {

std::vector<int32_t> tokens_with(const Tokenizer& tokenizer, std::span<const std::string> texts) {
    std::vector<int32_t> ids;
    std::vector<bool> found(texts.size(), false);
    std::string bytes;
    for (int32_t id = 0; id < tokenizer.vocab_size(); id++) {
        bytes.clear();
        tokenizer.append_bytes(id, true, bytes);
        bool holds = false;
        for (size_t i = 0; i < texts.size(); i++) {
            if (texts[i].empty() || bytes.find(texts[i]) == std::string::npos) continue;
            found[i] = holds = true;
        }
        if (holds) ids.push_back(id);
    }
    for (size_t i = 0; i < texts.size(); i++)
        if (const std::vector<int32_t> own = tokenizer.encode(texts[i]); !found[i] && !own.empty())
            ids.push_back(own.back());
    std::sort(ids.begin(), ids.end());
    ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
    return ids;
}

}  // namespace ft
