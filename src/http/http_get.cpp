#include "http/http_get.h"

#include <boost/asio/ip/tcp.hpp>
#include <charconv>
#include <chrono>
#include <iterator>

namespace ft {

namespace {

constexpr std::string_view k_end_of_head = "\r\n\r\n";

Error no_answer(const WebAddress& address, std::string_view what) {
    return Error{Code::not_found,
                 fmt::format("{}:{} {}", printable(address.host), printable(address.port), what),
                 "Is `freetoken serve` running there? Name another address by --server."};
}

// What is said of an answer that did not come to its end.
std::string broken_off(boost::asio::ip::tcp::iostream& stream, bool nothing_came, Seconds most) {
    const char* what = nothing_came ? "does not answer" : "does not end its answer";
    const bool late = stream.expiry() <= std::chrono::steady_clock::now();
    return late ? fmt::format("{} within {:g} s", what, most)
                : fmt::format("{}: {}", what, stream.error().message());
}

}  // namespace

Expected<WebAddress> web_address(std::string_view text) {
    WebAddress address;
    std::string_view rest = text;
    if (rest.starts_with("http://")) rest.remove_prefix(7);
    rest = rest.substr(0, rest.find('/'));
    const size_t colon = rest.rfind(':');
    const bool has_port = colon != std::string_view::npos && rest.find(']', colon) == std::string_view::npos;
    std::string_view host = rest.substr(0, has_port ? colon : std::string_view::npos);
    if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
    if (has_port) address.port = std::string(rest.substr(colon + 1));
    const bool is_number = address.port.find_first_not_of("0123456789") == std::string::npos;
    if (host.empty() || text.starts_with("https:") || address.port.empty() || !is_number)
        return Error{Code::invalid, fmt::format("{} is no address of a server", printable(text)),
                     "Write http://HOST:PORT."};
    address.host = std::string(host);
    return address;
}

Expected<WebReply> http_get(const WebAddress& address, const std::string& path,
                            const std::vector<WebHeader>& headers, Seconds most) {
    boost::asio::ip::tcp::iostream stream;
    stream.expires_after(std::chrono::milliseconds(static_cast<int64_t>(most * 1e3)));
    stream.connect(address.host, address.port);
    if (!stream) return no_answer(address, fmt::format("does not answer: {}", stream.error().message()));
    stream << "GET " << path << " HTTP/1.1\r\nHost: " << address.host << "\r\nConnection: close\r\n";
    for (const WebHeader& header : headers) stream << header.name << ": " << header.value << "\r\n";
    stream << "\r\n" << std::flush;
    const std::string got((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
    if (stream.error() && stream.error() != boost::asio::error::eof)
        return no_answer(address, broken_off(stream, got.empty(), most));
    if (got.empty()) return no_answer(address, "closes the connection without an answer");
    const size_t end = got.find(k_end_of_head), status_at = got.find(' ');
    WebReply reply;
    if (!got.starts_with("HTTP/1.") || end == std::string::npos ||
        std::from_chars(got.data() + status_at + 1, got.data() + end, reply.status).ec != std::errc())
        return no_answer(address, "answers, but not in HTTP");
    reply.body = got.substr(end + k_end_of_head.size());
    return reply;
}

}  // namespace ft
