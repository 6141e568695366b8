#include "hub/url.h"

#include <curl/curl.h>

#include <memory>

#include "base/ascii.h"
#include "base/system_error.h"

namespace ft {

namespace {

struct FreeUrl {
    void operator()(CURLU* url) const { curl_url_cleanup(url); }
};
using CurlUrl = std::unique_ptr<CURLU, FreeUrl>;

// "" where the address has no such part.
std::string url_part(CURLU* url, CURLUPart part, unsigned flags, CURLUcode* code) {
    char* text = nullptr;
    *code = curl_url_get(url, part, &text, flags);
    std::string out = *code == CURLUE_OK ? text : "";
    curl_free(text);
    return out;
}

Error no_address(const std::string& text, std::string_view why) {
    return Error{Code::invalid, fmt::format("{}: {}", path_text(shown_url(text)), why), "Check the address."};
}

}  // namespace

bool is_url(std::string_view path) { return path.starts_with("http://") || path.starts_with("https://"); }

Expected<Url> parse_url(const std::string& text) {
    const CurlUrl url(curl_url());
    if (!url || !is_url(text) || curl_url_set(url.get(), CURLUPART_URL, text.c_str(), 0) != CURLUE_OK)
        return no_address(text, "this is no http or https address");
    CURLUcode code = CURLUE_OK;
    for (const CURLUPart part : {CURLUPART_USER, CURLUPART_PASSWORD}) {
        url_part(url.get(), part, 0, &code);
        if (code == CURLUE_OK)
            return no_address(text, "an address with a name or password in it is not taken");
    }
    Url out;
    const std::string scheme = ascii_lower(url_part(url.get(), CURLUPART_SCHEME, 0, &code));
    out.host = ascii_lower(url_part(url.get(), CURLUPART_HOST, 0, &code));
    if (code != CURLUE_OK || out.host.empty()) return no_address(text, "the address names no host");
    const std::string port = url_part(url.get(), CURLUPART_PORT, CURLU_DEFAULT_PORT, &code);
    out.origin = fmt::format("{}://{}:{}", scheme, out.host, port);
    out.encrypted = scheme == "https";
    out.path = url_part(url.get(), CURLUPART_PATH, CURLU_URLDECODE, &code);
    if (code != CURLUE_OK) return no_address(text, "the path holds characters that no name has");
    if (out.path.empty()) out.path = "/";
    return out;
}

std::string shown_url(const std::string& text) {
    std::string out = text.substr(0, text.find_first_of("?#"));
    const size_t host = out.find("://");
    const size_t at = host == std::string::npos ? host : out.find('@', host);
    const size_t slash = host == std::string::npos ? host : out.find('/', host + 3);
    if (at != std::string::npos && at < slash) out.erase(host + 3, at - host - 2);
    return out;
}

std::string url_path(std::string_view path) {
    std::string out;
    for (const char c : path) {
        const bool plain = is_ascii_letter(c) || is_ascii_digit(c) ||
                           std::string_view("-._~/").find(c) != std::string_view::npos;
        if (plain) out += c;
        else out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
    return out;
}

bool is_loopback(const Url& url) {
    return url.host == "localhost" || url.host == "[::1]" || url.host.starts_with("127.");
}

}  // namespace ft
