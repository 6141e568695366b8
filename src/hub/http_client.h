// One HTTP transfer at a time, over libcurl: the one place that says what is followed, trusted and waited
// for. Redirects are followed ten times at most, and never from https to http; proxies come from the
// environment (https_proxy, http_proxy, all_proxy, no_proxy); a server that falls silent for 30 s is given
// up.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/error.h"
#include "base/function_ref.h"
#include "hub/patience.h"

namespace ft {

// What lets its bearer in. It is sent to the origin it is meant for and to no other, neither first nor after
// a redirect.
struct HttpToken {
    std::string text;    // "": none
    std::string origin;  // Url::origin
};

struct ByteRange {
    uint64_t offset = 0, bytes = 0;
};

struct HttpRequest {
    std::string url;
    std::string accept = {};              // the header Accept; "": anything
    std::optional<ByteRange> range = {};  // nothing: the whole
    uint64_t most = 0;                    // bytes of a whole answer; a range has its own
    long seconds = 0;                     // that all of it may take; 0: as long as it goes on
    long stalled_seconds = 30;            // of less than 1 KiB a second, after which it is given up
};

enum class HttpEnd {
    done,     // all that was asked for came (a whole answer without a length: all that was sent)
    refused,  // by the server: `status` says why
    broken,   // no connection, or it ended early
    wrong,    // the answer is not what was asked for: more bytes, another part, the whole for a part
    unheard,  // the taker of the bytes wanted no more
    stopped,  // the caller's stop() said so
};

struct HttpReply {
    HttpEnd end = HttpEnd::broken;
    long status = 0;
    uint64_t received = 0;          // bytes that were handed on
    std::optional<uint64_t> total;  // bytes of the whole file, as the server says
    bool whole = false;             // the whole file came where a part was asked for
    bool stalled = false;           // broken because too little came for too long
    bool unreachable = false;       // nobody at the address took the connection
    std::string etag, next;         // next: of a list that goes on (Link rel="next")
    long retry_after = 0;           // seconds that the server asks to wait; 0: it does not say
    std::string reason;             // of broken and wrong
    bool had_token = false;
};

using HttpTaker = FunctionRef<bool(std::span<const std::byte>)>;

class HttpClient {
 public:
    // stop: asked about once a second, and with every piece that comes.
    explicit HttpClient(HttpToken token = {}, std::function<bool()> stop = {});
    ~HttpClient();
    HttpClient(HttpClient&&) noexcept;
    HttpClient& operator=(HttpClient&&) noexcept;

    // Hands the body of a good answer on as it comes. Connections are kept for the next call. From one thread
    // at a time.
    HttpReply get(const HttpRequest& request, HttpTaker take);

    // A small answer, all of it in `body`; asked for again as `patience` says. Where nobody takes the very
    // first connection the address is probably wrong, and it is not.
    HttpReply get_small(const HttpRequest& request, std::string& body, const Patience& patience = {});

    // A small answer as text. An error where it is not a good one, or longer than request.most.
    struct Text {
        std::string body, next;
    };
    Expected<Text> get_text(const HttpRequest& request, const Patience& patience = {});

 private:
    struct State;
    std::unique_ptr<State> state_;
};

// What went wrong, as a sentence with the address and what helps.
Error http_error(const std::string& url, const HttpReply& reply);

// Whether the same request may go well a little later.
bool may_pass(const HttpReply& reply);

}  // namespace ft
