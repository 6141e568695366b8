#include "hub/remote_file.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/bytes.h"
#include "hub/url.h"

namespace ft {

namespace {

constexpr uint64_t k_first_bytes = k_mib;
constexpr uint64_t k_most_bytes = 8 * k_mib;  // of one request
constexpr int k_most_broken = 50;
constexpr uint64_t k_least_stalled_bytes = 64 * k_kib;  // of a stalled answer, for another to be worth it
constexpr int k_most_stalled = 3;

class RemoteFile final : public File {
 public:
    RemoteFile(std::string url, const HttpToken& token, Patience patience)
        : File(std::move(url)), client_(token), patience_(std::move(patience)) {}

    uint64_t size() const override { return size_; }
    Status open();
    Status read_at(uint64_t offset, std::span<std::byte> to) const override;

 private:
    // The beginning of what was asked for; all of it unless `reply` says why not.
    struct Window {
        std::vector<std::byte> bytes;
        HttpReply reply;
    };
    bool may_go_on_after(const Window& broken) const;
    Expected<Window> get(uint64_t offset, uint64_t bytes) const;
    Status fetch(uint64_t offset, uint64_t bytes) const;
    Error failure(std::string_view what, std::string_view remedy) const {
        return Error{Code::io, fmt::format("{}: {}", path_text(shown_url(path())), what),
                     std::string(remedy)};
    }

    mutable HttpClient client_;
    Patience patience_;
    uint64_t size_ = 0;
    // what was fetched last; a header is read front to back
    mutable std::vector<std::byte> window_;
    mutable uint64_t window_offset_ = 0;
    mutable uint64_t fetched_ = 0;
    mutable int broken_ = 0;   // answers that ended early
    mutable int stalled_ = 0;  // of them those that were waited for until they were given up
};

// Each stalled answer was waited for half a minute: a server that sends a few bytes at a time is no progress.
bool RemoteFile::may_go_on_after(const Window& broken) const {
    if (broken.bytes.empty() || ++broken_ > k_most_broken) return false;
    return !broken.reply.stalled ||
           (broken.bytes.size() >= k_least_stalled_bytes && ++stalled_ <= k_most_stalled);
}

Expected<RemoteFile::Window> RemoteFile::get(uint64_t offset, uint64_t bytes) const {
    for (Tries tries(path(), patience_);;) {
        Window window;
        const HttpRequest request{
            .url = path(), .range = ByteRange{offset, bytes}, .stalled_seconds = patience_.stalled_seconds};
        window.reply = client_.get(request, [&](std::span<const std::byte> more) {
            window.bytes.insert(window.bytes.end(), more.begin(), more.end());
            return true;
        });
        const bool broken = window.reply.end == HttpEnd::broken;
        const bool usable = window.reply.end == HttpEnd::done || (broken && may_go_on_after(window));
        if (!usable && tries.after(window.reply) == NextTry::now) continue;
        if (!usable) return http_error(path(), window.reply);
        if (!window.reply.total)
            return failure("the server does not say how long the file is", "Download it first.");
        return window;
    }
}

Status RemoteFile::open() {
    auto first = get(0, k_first_bytes);
    if (!first) return first.error();
    size_ = *first->reply.total;
    fetched_ = first->bytes.size();
    window_ = std::move(first->bytes);
    return {};
}

Status RemoteFile::fetch(uint64_t offset, uint64_t bytes) const {
    const uint64_t ahead = std::clamp(fetched_, k_first_bytes, k_most_bytes);
    auto answer = get(offset, std::min(std::max(bytes, ahead), size_ - offset));
    if (!answer) return answer.error();
    if (*answer->reply.total != size_)
        return failure(fmt::format("the file had {} bytes and now has {}", size_, *answer->reply.total),
                       "It was replaced meanwhile: try again.");
    fetched_ += answer->bytes.size();
    window_offset_ = offset;
    window_ = std::move(answer->bytes);
    return {};
}

Status RemoteFile::read_at(uint64_t offset, std::span<std::byte> to) const {
    if (offset > size_ || to.size() > size_ - offset) return ends_early(offset, to.size(), size_);
    while (!to.empty()) {
        const bool inside = offset >= window_offset_ && offset < window_offset_ + window_.size();
        if (!inside) {
            if (Status s = fetch(offset, to.size()); !s) return s;
            if (window_.empty()) return failure("the server sent nothing", "Try again.");
        }
        const uint64_t at = offset - window_offset_;
        const uint64_t n = std::min<uint64_t>(to.size(), window_.size() - at);
        std::memcpy(to.data(), window_.data() + at, n);
        to = to.subspan(n);
        offset += n;
    }
    return {};
}

}  // namespace

Expected<std::unique_ptr<File>> open_remote(const std::string& url) { return open_remote_with(url, {}); }

Expected<std::unique_ptr<File>> open_remote_with(const std::string& url, const HttpToken& token,
                                                 const Patience& patience) {
    auto file = std::make_unique<RemoteFile>(url, token, patience);
    if (Status s = file->open(); !s) return s.error();
    return std::unique_ptr<File>(std::move(file));
}

}  // namespace ft
