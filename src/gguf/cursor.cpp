#include "gguf/cursor.h"

#include <cstring>

namespace ft {

Status Cursor::read(void* to, uint64_t n) {
    auto* out = static_cast<std::byte*>(to);
    while (n > 0) {
        const uint64_t used = position_ - buffer_start_;
        if (used >= buffer_filled_) {
            buffer_start_ = position_;
            buffer_filled_ = std::min<uint64_t>(buffer_.size(), size_ - position_);
            if (Status s = file_.read_at(buffer_start_, {buffer_.data(), buffer_filled_}); !s)
                return s.error();
            continue;
        }
        const uint64_t take = std::min(n, buffer_filled_ - used);
        std::memcpy(out, buffer_.data() + used, take);
        out += take;
        n -= take;
        position_ += take;
    }
    return {};
}

}  // namespace ft
