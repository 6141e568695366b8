#include "hub/remote_file.h"

#include <curl/curl.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include "base/bytes.h"

namespace ft {

namespace {

constexpr uint64_t k_first_bytes = k_mib;
constexpr uint64_t k_most_bytes = 8 * k_mib;  // of one request
constexpr long k_connect_seconds = 15;
constexpr long k_stalled_seconds = 30;  // with less than 1 KiB a second
constexpr long k_most_redirects = 10;

struct CloseCurl {
    void operator()(CURL* curl) const { curl_easy_cleanup(curl); }
};
using Curl = std::unique_ptr<CURL, CloseCurl>;

// What an answer holds besides its status.
struct Answer {
    std::vector<std::byte> body;
    uint64_t most = 0;              // more than was asked for ends the transfer
    std::optional<uint64_t> total;  // of the whole file: Content-Range
};

size_t take_body(char* data, size_t one, size_t n, void* user) {
    auto& answer = *static_cast<Answer*>(user);
    const size_t bytes = one * n;
    if (answer.body.size() + bytes > answer.most) return 0;
    const auto* begin = reinterpret_cast<const std::byte*>(data);
    answer.body.insert(answer.body.end(), begin, begin + bytes);
    return bytes;
}

// "Content-Range: bytes 0-1048575/21200000000"
size_t take_header(char* data, size_t one, size_t n, void* user) {
    auto& answer = *static_cast<Answer*>(user);
    const std::string_view line(data, one * n);
    constexpr std::string_view name = "content-range:";
    const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
    const bool is_range =
        line.size() > name.size() &&
        std::equal(name.begin(), name.end(), line.begin(), [&](char a, char b) { return a == lower(b); });
    const size_t slash = line.find('/');
    if (line.starts_with("HTTP/")) answer.total.reset();  // another answer, after a redirect
    if (is_range && slash != std::string_view::npos) {
        const std::string digits(line.substr(slash + 1));
        if (!digits.empty() && digits[0] >= '0' && digits[0] <= '9')
            answer.total = std::strtoull(digits.c_str(), nullptr, 10);
    }
    return one * n;
}

class RemoteFile final : public File {
 public:
    RemoteFile(std::string url, Curl curl) : File(std::move(url)), curl_(std::move(curl)) {}

    uint64_t size() const override { return size_; }
    Status open();
    Status read_at(uint64_t offset, std::span<std::byte> to) const override;

 private:
    Expected<Answer> get(uint64_t offset, uint64_t bytes) const;
    Status fetch(uint64_t offset, uint64_t bytes) const;

    Curl curl_;
    uint64_t size_ = 0;
    // what was fetched last; a header is read front to back
    mutable std::vector<std::byte> window_;
    mutable uint64_t window_offset_ = 0;
    mutable uint64_t fetched_ = 0;
};

Error failure(const std::string& url, std::string_view what, std::string_view remedy) {
    return Error{Code::io, fmt::format("{}: {}", path_text(url), what), std::string(remedy)};
}

Expected<Answer> RemoteFile::get(uint64_t offset, uint64_t bytes) const {
    CURL* curl = curl_.get();
    Answer answer;
    answer.most = bytes;
    char message[CURL_ERROR_SIZE] = "";
    const std::string range = fmt::format("{}-{}", offset, offset + bytes - 1);
    curl_easy_setopt(curl, CURLOPT_RANGE, range.c_str());
    curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, message);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, &answer);
    curl_easy_setopt(curl, CURLOPT_HEADERDATA, &answer);
    const CURLcode code = curl_easy_perform(curl);
    curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, nullptr);
    long status = 0;
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    if (status == 416)
        return failure(path(), "the server says the file ends earlier",
                       "The file may have changed: try again.");
    if (status == 200)
        return failure(path(), "the server sends whole files only, no ranges",
                       "Download the file, and name it here.");
    if (status >= 300 || (code == CURLE_OK && status != 206))
        return failure(path(), fmt::format("the server answers {}", status),
                       status == 401 || status == 403 ? "It asks for a permission that was not given."
                                                      : "Check the address.");
    if (code != CURLE_OK)
        return failure(path(), *message != '\0' ? message : curl_easy_strerror(code),
                       "Check the address and the network.");
    if (answer.body.size() != bytes && offset + answer.body.size() != answer.total.value_or(0))
        return failure(path(), fmt::format("the server sent {} bytes of {}", answer.body.size(), bytes),
                       "Try again.");
    return answer;
}

Status RemoteFile::open() {
    auto first = get(0, k_first_bytes);
    if (!first) return first.error();
    if (!first->total)
        return failure(path(), "the server does not say how long the file is", "Download it first.");
    size_ = *first->total;
    fetched_ = first->body.size();
    window_ = std::move(first->body);
    return {};
}

Status RemoteFile::fetch(uint64_t offset, uint64_t bytes) const {
    const uint64_t ahead = std::clamp(fetched_, k_first_bytes, k_most_bytes);
    auto answer = get(offset, std::min(std::max(bytes, ahead), size_ - offset));
    if (!answer) return answer.error();
    if (answer->total.value_or(size_) != size_)
        return failure(path(), fmt::format("the file had {} bytes and now has {}", size_, *answer->total),
                       "It was replaced meanwhile: try again.");
    fetched_ += answer->body.size();
    window_offset_ = offset;
    window_ = std::move(answer->body);
    return {};
}

Status RemoteFile::read_at(uint64_t offset, std::span<std::byte> to) const {
    if (offset > size_ || to.size() > size_ - offset) return ends_early(offset, to.size(), size_);
    while (!to.empty()) {
        const bool inside = offset >= window_offset_ && offset < window_offset_ + window_.size();
        if (!inside) {
            if (Status s = fetch(offset, to.size()); !s) return s;
            if (window_.empty()) return failure(path(), "the server sent nothing", "Try again.");
        }
        const uint64_t at = offset - window_offset_;
        const uint64_t n = std::min<uint64_t>(to.size(), window_.size() - at);
        std::memcpy(to.data(), window_.data() + at, n);
        to = to.subspan(n);
        offset += n;
    }
    return {};
}

Curl new_curl(const std::string& url) {
    static const CURLcode global = curl_global_init(CURL_GLOBAL_DEFAULT);
    Curl curl(global == CURLE_OK ? curl_easy_init() : nullptr);
    if (!curl) return curl;
    CURL* c = curl.get();
    curl_easy_setopt(c, CURLOPT_URL, url.c_str());
    curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(c, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(c, CURLOPT_FOLLOWLOCATION, 1L);
    curl_easy_setopt(c, CURLOPT_MAXREDIRS, k_most_redirects);
    curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT, k_connect_seconds);
    curl_easy_setopt(c, CURLOPT_LOW_SPEED_LIMIT, 1024L);
    curl_easy_setopt(c, CURLOPT_LOW_SPEED_TIME, k_stalled_seconds);
    curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(c, CURLOPT_FAILONERROR, 1L);  // the page of an error is not wanted
    curl_easy_setopt(c, CURLOPT_USERAGENT, "freetoken");
    curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, &take_body);
    curl_easy_setopt(c, CURLOPT_HEADERFUNCTION, &take_header);
    return curl;
}

}  // namespace

bool is_url(std::string_view path) { return path.starts_with("http://") || path.starts_with("https://"); }

Expected<std::unique_ptr<File>> open_remote(const std::string& url) {
    Curl curl = new_curl(url);
    if (!curl) return failure(url, "the HTTP library cannot be started", "");
    auto file = std::make_unique<RemoteFile>(url, std::move(curl));
    if (Status s = file->open(); !s) return s.error();
    return std::unique_ptr<File>(std::move(file));
}

}  // namespace ft
