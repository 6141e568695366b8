#include "hub/http_client.h"

#include <curl/curl.h>

#include <algorithm>
#include <string_view>

#include "base/ascii.h"
#include "base/bytes.h"
#include "base/parse_number.h"
#include "base/system_error.h"
#include "hub/url.h"

namespace ft {

namespace {

constexpr long k_connect_seconds = 15;
constexpr long k_most_redirects = 10;
constexpr uint64_t k_most_header_bytes = 256 * k_kib;

struct CloseCurl {
    void operator()(CURL* curl) const { curl_easy_cleanup(curl); }
};

struct FreeList {
    void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};

// What the library's callbacks see of one get().
struct Transfer {
    CURL* curl;
    const HttpRequest& request;
    HttpReply& reply;
    HttpTaker take;
    const std::function<bool()>& stop;
    std::optional<HttpEnd> verdict = {};  // ours; else the library's and the server's
    std::optional<uint64_t> begins_at = {};
    std::optional<uint64_t> length = {};  // Content-Length
    uint64_t header_bytes = 0;

    uint64_t most() const { return request.range ? request.range->bytes : request.most; }
    size_t give_up(HttpEnd end, std::string reason) {
        verdict = end;
        reply.reason = std::move(reason);
        return CURL_WRITEFUNC_ERROR;
    }
};

// Whether the answer that begins here is the one that was asked for.
bool begins_well(Transfer& t) {
    curl_easy_getinfo(t.curl, CURLINFO_RESPONSE_CODE, &t.reply.status);
    const long status = t.reply.status;
    t.reply.whole = t.request.range.has_value() && status == 200;
    if (t.reply.whole) t.give_up(HttpEnd::wrong, "the server sends whole files only, no ranges");
    else if (status != (t.request.range ? 206 : 200)) t.give_up(HttpEnd::refused, "");
    else if (t.request.range && t.begins_at.value_or(t.request.range->offset) != t.request.range->offset)
        t.give_up(HttpEnd::wrong, "the server sent another part of the file than it was asked for");
    return !t.verdict;
}

size_t take_http_body(char* data, size_t one, size_t n, void* user) {
    auto& t = *static_cast<Transfer*>(user);
    const size_t bytes = one * n;
    if (t.reply.received == 0 && !begins_well(t)) return CURL_WRITEFUNC_ERROR;
    if (t.stop && t.stop()) return t.give_up(HttpEnd::stopped, "");
    if (bytes > t.most() - t.reply.received)
        return t.give_up(HttpEnd::wrong, fmt::format("the server sends more than {} bytes", t.most()));
    if (!t.take(std::as_bytes(std::span(data, bytes)))) return t.give_up(HttpEnd::unheard, "");
    t.reply.received += bytes;
    return bytes;
}

// The value of "NAME: value" for a name in any case; nothing for another header.
std::optional<std::string_view> header_value(std::string_view line, std::string_view name) {
    if (line.size() <= name.size() || line[name.size()] != ':') return std::nullopt;
    if (!begins_in_any_case(line, name)) return std::nullopt;
    line.remove_prefix(name.size() + 1);
    const size_t begin = std::min(line.find_first_not_of(" \t"), line.size());
    const size_t end = line.find_last_not_of(" \t\r\n");
    return end == std::string_view::npos || end < begin ? std::string_view()
                                                        : line.substr(begin, end + 1 - begin);
}

// "bytes 0-1048575/21200000000"
void take_content_range(Transfer& t, std::string_view value) {
    const size_t blank = value.find(' '), dash = value.find('-'), slash = value.find('/');
    if (blank == std::string_view::npos || dash == std::string_view::npos || slash == std::string_view::npos)
        return;
    t.begins_at = parse_number<uint64_t>(value.substr(blank + 1, dash - blank - 1));
    t.reply.total = parse_number<uint64_t>(value.substr(slash + 1));
}

// "<https://…?cursor=abc>; rel=\"next\""
std::string next_link(std::string_view value) {
    const size_t open = value.find('<'), close = value.find('>');
    if (open == std::string_view::npos || close == std::string_view::npos || close < open) return "";
    if (value.find("rel=\"next\"", close) == std::string_view::npos) return "";
    return std::string(value.substr(open + 1, close - open - 1));
}

size_t take_http_header(char* data, size_t one, size_t n, void* user) {
    auto& t = *static_cast<Transfer*>(user);
    const std::string_view line(data, one * n);
    t.header_bytes += line.size();
    if (t.header_bytes > k_most_header_bytes)
        return t.give_up(HttpEnd::wrong, "the server sends headers without end");
    if (line.starts_with("HTTP/")) {  // another answer, after a redirect
        t.begins_at = t.length = t.reply.total = {};
        t.reply.etag = t.reply.next = "";
    }
    if (const auto value = header_value(line, "content-range")) take_content_range(t, *value);
    if (const auto value = header_value(line, "content-length")) t.length = parse_number<uint64_t>(*value);
    if (const auto value = header_value(line, "etag")) t.reply.etag = *value;
    if (const auto value = header_value(line, "link")) t.reply.next = next_link(*value);
    return line.size();
}

int look_for_stop(void* user, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
    const auto& t = *static_cast<Transfer*>(user);
    return t.stop && t.stop() ? 1 : 0;
}

// What holds for every transfer of a handle.
void set_up(CURL* c) {
    curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(c, CURLOPT_FOLLOWLOCATION, 1L);
    curl_easy_setopt(c, CURLOPT_MAXREDIRS, k_most_redirects);
    curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT, k_connect_seconds);
    curl_easy_setopt(c, CURLOPT_LOW_SPEED_LIMIT, 1024L);
    curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(c, CURLOPT_FAILONERROR, 1L);  // the page of an error is not wanted
    curl_easy_setopt(c, CURLOPT_USERAGENT, "freetoken");
    curl_easy_setopt(c, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, &take_http_body);
    curl_easy_setopt(c, CURLOPT_HEADERFUNCTION, &take_http_header);
    curl_easy_setopt(c, CURLOPT_XFERINFOFUNCTION, &look_for_stop);
}

// An address that begins with https is never left for another, and none for what is not HTTP.
bool may_ask(std::string_view asked, std::string_view url) {
    return url.starts_with("https:") || (url.starts_with("http:") && !asked.starts_with("https:"));
}

// The library has one code for an address it is not to ask and for an answer that has no form.
std::string protocol_reason(CURL* c, const HttpRequest& request) {
    const char* url = nullptr;
    curl_easy_getinfo(c, CURLINFO_EFFECTIVE_URL, &url);
    if (url == nullptr || may_ask(ascii_lower(request.url), ascii_lower(url)))
        return "what answers there does not speak HTTP";
    return ascii_lower(url).starts_with("http:")
               ? "the server redirects to an address that is not encrypted"
               : "the server redirects to an address that is neither https nor http";
}

std::string network_reason(CURL* c, const HttpRequest& request, CURLcode code, const char* detail) {
    if (code == CURLE_TOO_MANY_REDIRECTS)
        return fmt::format("the server redirects more than {} times", k_most_redirects);
    if (code == CURLE_UNSUPPORTED_PROTOCOL) return protocol_reason(c, request);
    return *detail != '\0' ? detail : curl_easy_strerror(code);
}

// Where nothing was wrong with what came until then.
HttpEnd end_of(CURLcode code, const HttpRequest& request, const HttpReply& reply) {
    if (code == CURLE_ABORTED_BY_CALLBACK) return HttpEnd::stopped;
    if (code == CURLE_HTTP_RETURNED_ERROR) return HttpEnd::refused;
    if (code != CURLE_OK) return HttpEnd::broken;
    if (reply.status != (request.range ? 206 : 200)) return HttpEnd::refused;
    if (!request.range) return HttpEnd::done;
    const auto [offset, bytes] = *request.range;
    const uint64_t total = reply.total.value_or(UINT64_MAX);
    return reply.received == std::min(bytes, total - std::min(total, offset)) ? HttpEnd::done
                                                                              : HttpEnd::broken;
}

}  // namespace

struct HttpClient::State {
    std::unique_ptr<CURL, CloseCurl> curl;
    HttpToken token;
    std::function<bool()> stop;

    bool may_send_token(const std::string& url) const {
        if (token.text.empty()) return false;
        const auto parsed = parse_url(url);
        return parsed && parsed->origin == token.origin;
    }
};

HttpClient::HttpClient(HttpToken token, std::function<bool()> stop) : state_(std::make_unique<State>()) {
    static const CURLcode global = curl_global_init(CURL_GLOBAL_DEFAULT);
    if (global == CURLE_OK) state_->curl.reset(curl_easy_init());
    if (state_->curl) set_up(state_->curl.get());
    state_->token = std::move(token);
    state_->stop = std::move(stop);
}

HttpClient::~HttpClient() = default;
HttpClient::HttpClient(HttpClient&&) noexcept = default;
HttpClient& HttpClient::operator=(HttpClient&&) noexcept = default;

HttpReply HttpClient::get(const HttpRequest& request, HttpTaker take) {
    HttpReply reply;
    CURL* c = state_->curl.get();
    if (c == nullptr) {
        reply.reason = "the HTTP library cannot be started";
        return reply;
    }
    Transfer t{.curl = c, .request = request, .reply = reply, .take = take, .stop = state_->stop};
    char message[CURL_ERROR_SIZE] = "";
    const std::string range = request.range ? fmt::format("{}-{}", request.range->offset,
                                                          request.range->offset + request.range->bytes - 1)
                                            : "";
    const std::unique_ptr<curl_slist, FreeList> headers(
        request.accept.empty()
            ? nullptr
            : curl_slist_append(nullptr, fmt::format("Accept: {}", request.accept).c_str()));
    reply.had_token = state_->may_send_token(request.url);
    curl_easy_setopt(c, CURLOPT_URL, request.url.c_str());
    curl_easy_setopt(c, CURLOPT_REDIR_PROTOCOLS_STR,
                     request.url.starts_with("https:") ? "https" : "http,https");
    curl_easy_setopt(c, CURLOPT_TIMEOUT, request.seconds);
    curl_easy_setopt(c, CURLOPT_LOW_SPEED_TIME, request.stalled_seconds);
    curl_easy_setopt(c, CURLOPT_RANGE, range.empty() ? nullptr : range.c_str());
    curl_easy_setopt(c, CURLOPT_HTTPHEADER, headers.get());
    curl_easy_setopt(c, CURLOPT_HTTPAUTH, reply.had_token ? CURLAUTH_BEARER : CURLAUTH_BASIC);
    curl_easy_setopt(c, CURLOPT_XOAUTH2_BEARER, reply.had_token ? state_->token.text.c_str() : nullptr);
    curl_easy_setopt(c, CURLOPT_ERRORBUFFER, message);
    for (const CURLoption option : {CURLOPT_WRITEDATA, CURLOPT_HEADERDATA, CURLOPT_XFERINFODATA})
        curl_easy_setopt(c, option, &t);
    const CURLcode code = curl_easy_perform(c);
    curl_easy_setopt(c, CURLOPT_ERRORBUFFER, nullptr);
    curl_easy_setopt(c, CURLOPT_HTTPHEADER, nullptr);
    curl_easy_getinfo(c, CURLINFO_RESPONSE_CODE, &reply.status);
    curl_off_t wait = 0;
    if (curl_easy_getinfo(c, CURLINFO_RETRY_AFTER, &wait) == CURLE_OK)
        reply.retry_after = static_cast<long>(wait);
    if (!request.range || reply.whole) reply.total = t.length;
    reply.end = t.verdict ? *t.verdict : end_of(code, request, reply);
    reply.stalled = code == CURLE_OPERATION_TIMEDOUT;
    reply.unreachable = code == CURLE_COULDNT_CONNECT || code == CURLE_COULDNT_RESOLVE_HOST ||
                        code == CURLE_COULDNT_RESOLVE_PROXY;
    if (reply.end == HttpEnd::broken)
        reply.reason = code == CURLE_OK ? fmt::format("the server sent {} bytes of {}", reply.received,
                                                      request.range->bytes)
                                        : network_reason(c, request, code, message);
    return reply;
}

HttpReply HttpClient::get_small(const HttpRequest& request, std::string& body, const Patience& patience) {
    Tries tries(request.url, patience, state_->stop);
    for (bool first = true;; first = false) {
        body.clear();
        HttpReply reply = get(request, [&](std::span<const std::byte> bytes) {
            body.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
            return true;
        });
        if (reply.end == HttpEnd::done || (first && reply.unreachable)) return reply;
        if (tries.after(reply) != NextTry::now) return reply;
    }
}

Expected<HttpClient::Text> HttpClient::get_text(const HttpRequest& request, const Patience& patience) {
    std::string body;
    HttpReply reply = get_small(request, body, patience);
    if (reply.end != HttpEnd::done) return http_error(request.url, reply);
    return Text{std::move(body), std::move(reply.next)};
}

namespace {

std::string remedy_for(const HttpReply& reply) {
    switch (reply.status) {
        case 401:
        case 403:
            return reply.had_token ? "HF_TOKEN was sent and is not enough: check that it is valid, and "
                                     "accept the model's "
                                     "terms on its page."
                                   : "It asks for a permission that was not given: check the name; where the "
                                     "model's page "
                                     "asks you to accept terms, do so and set HF_TOKEN to a token of yours.";
        case 404:
        case 410:
            return "Check the name, and the address of the server.";
        case 416:
            return "The file may have changed: try again.";
        case 429:
            return reply.retry_after > 0
                       ? fmt::format("Too many requests: wait {} s, then give the same command again.",
                                     reply.retry_after)
                       : "Too many requests: wait some minutes, then give the same command again.";
        default:
            return reply.status >= 500
                       ? "The server has trouble of its own: give the same command again later."
                       : "Check the address.";
    }
}

}  // namespace

Error http_error(const std::string& url, const HttpReply& reply) {
    const std::string place = path_text(shown_url(url));
    const Code code = reply.status == 404 || reply.status == 410 ? Code::not_found : Code::io;
    switch (reply.end) {
        case HttpEnd::refused:
            if (reply.status == 416)
                return Error{code, fmt::format("{}: the server says the file ends earlier", place),
                             remedy_for(reply)};
            return Error{code, fmt::format("{}: the server answers {}", place, reply.status),
                         remedy_for(reply)};
        case HttpEnd::stopped:
            return Error{Code::io, fmt::format("{}: interrupted", place), "Give the same command again."};
        case HttpEnd::wrong:
            return Error{Code::io, fmt::format("{}: {}", place, reply.reason),
                         reply.whole ? "Download the file, and name it here."
                                     : "This is no server of models, or it is broken: check the address."};
        default:
            return Error{Code::io, fmt::format("{}: {}", place, printable(reply.reason)),
                         "Check the address and the network."};
    }
}

bool may_pass(const HttpReply& reply) {
    if (reply.end == HttpEnd::broken) return true;
    if (reply.end != HttpEnd::refused) return false;
    const long s = reply.status;
    return s == 408 || s == 425 || s == 429 || s == 500 || s == 502 || s == 503 || s == 504;
}

}  // namespace ft
