#include "server/work_bytes.h"

#include <algorithm>

#include "base/bytes.h"
#include "http/http_message.h"
#include "server/openai_request.h"

namespace ft {

namespace {

// Of the JSON library's types, with what a list takes that grows: old and new place stand side by side.
constexpr uint64_t k_per_value = 64, k_per_member = 160, k_per_list = 64, k_per_text = 64;
// A text in the body's JSON, as a field, in the prompt, mended and marked for the tokenizer; and its ids, of
// which there are no more than bytes, in a list that grows.
constexpr uint64_t k_per_text_byte = 20;
// Of the longest stretch that the tokenizer may take as one word: a symbol for each byte and the queues of
// its merges (text/merge.h).
constexpr uint64_t k_per_word_byte = 64;
constexpr uint64_t k_per_call = 16 * k_kib;
constexpr uint64_t k_per_request = 4 * k_kib;

// Goes through the texts of a body.
class TextBytes {
 public:
    // An escape's two bytes count as one stretch with what they stand for.
    void add(char c, bool escaped) {
        all_++;
        const bool blank = escaped ? c == 'n' || c == 't' || c == 'r' : c == ' ';
        stretch_ = blank == blank_ ? stretch_ + 1 : 1;
        blank_ = blank;
        longest_ = std::max(longest_, stretch_);
    }
    void end() { stretch_ = 0; }
    uint64_t cost() const { return k_per_text_byte * all_ + k_per_word_byte * longest_; }

 private:
    uint64_t all_ = 0, stretch_ = 0, longest_ = 0;
    bool blank_ = false;
};

}  // namespace

uint64_t work_bytes(std::string_view body) {
    uint64_t bytes = k_per_call;
    TextBytes texts;
    bool in_text = false;
    for (size_t i = 0; i < body.size(); i++) {
        const char c = body[i];
        if (in_text) {
            if (c == '"') {
                in_text = false;
                texts.end();
            } else if (c == '\\' && i + 1 < body.size()) texts.add(body[++i], true);
            else texts.add(c, false);
            continue;
        }
        if (c == '"') bytes += k_per_text;
        in_text = c == '"';
        if (c == ',') bytes += k_per_value;
        else if (c == ':') bytes += k_per_member;
        else if (c == '[' || c == '{') bytes += k_per_value + k_per_list;
    }
    return bytes + texts.cost();
}

uint64_t kept_bytes(std::span<const Request> requests) {
    uint64_t bytes = k_per_call;
    for (const Request& request : requests) bytes += k_per_request + request.prompt.size() * sizeof(int32_t);
    return bytes;
}

uint64_t kept_bytes(const OpenAiCall& call) {
    uint64_t bytes = kept_bytes(call.requests) + call.prompt_text.size();
    for (const std::string& echo : call.echoes) bytes += echo.size();
    return bytes;
}

std::optional<ApiError> take_room(const WebRequest& request, uint64_t bytes) {
    if (!request.room || request.room->resize(bytes)) return std::nullopt;
    const uint64_t most = request.room->room().most();
    if (bytes > most)
        return ApiError{
            .status = 413,
            .message = fmt::format(
                "this request may take {:.1f} MiB of memory, and there are {:.1f} MiB for all requests "
                "together (server.requests_mib). Send less text, or fewer values.",
                mib(bytes), mib(most)),
            .code = "request_too_large"};
    return ApiError{.status = 503,
                    .message =
                        "other requests take the memory that there is for all of them "
                        "(server.requests_mib). Try again.",
                    .type = "unavailable_error"};
}

}  // namespace ft
