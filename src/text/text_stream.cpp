#include "text/text_stream.h"

#include <utility>

#include "base/utf8.h"

namespace ft {

std::string TextStream::push(int32_t id) {
    tokenizer_.append_bytes(id, show_special_, waiting_);
    if (!started_ && !waiting_.empty()) {
        started_ = true;
        if (tokenizer_.strips_leading_blank() && waiting_.front() == ' ') waiting_.erase(0, 1);
    }
    std::string out;
    size_t at = 0;
    while (at < waiting_.size()) {
        const Utf8Char c = utf8_at(waiting_, at);
        if (c.cut) break;
        const auto size = static_cast<size_t>(c.size);
        out += c.valid ? std::string_view(waiting_).substr(at, size) : k_replacement_utf8;
        at += size;
    }
    waiting_.erase(0, at);
    return out;
}

std::string TextStream::finish() {
    started_ = false;
    return mend_utf8(std::exchange(waiting_, {}));
}

}  // namespace ft
