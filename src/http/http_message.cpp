#include "http/http_message.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>

#include "base/ascii.h"

namespace ft {

namespace {

struct Reason {
    int status;
    std::string_view phrase;
};

constexpr Reason k_reasons[] = {
    {200, "OK"},
    {204, "No Content"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {408, "Request Timeout"},
    {413, "Content Too Large"},
    {422, "Unprocessable Content"},
    {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {503, "Service Unavailable"},
    {529, "Overloaded"},
};

std::string http_date(std::time_t now) {
    std::tm parts{};
    gmtime_r(&now, &parts);
    char text[40];
    const size_t n = std::strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", &parts);
    return {text, n};
}

void add_header(std::string& to, std::string_view name, std::string_view value) {
    to += name;
    to += ": ";
    std::copy_if(value.begin(), value.end(), std::back_inserter(to),
                 [](char c) { return c != '\r' && c != '\n'; });
    to += "\r\n";
}

}  // namespace

std::string_view WebRequest::header(std::string_view name) const {
    for (const WebHeader& header : headers)
        if (header.name == name) return header.value;
    return {};
}

std::string_view reason_phrase(int status) {
    const auto found = std::find_if(std::begin(k_reasons), std::end(k_reasons),
                                    [&](const Reason& reason) { return reason.status == status; });
    return found == std::end(k_reasons) ? "Unknown" : found->phrase;
}

std::string reply_head(const WebReply& reply, const BodyEnd& end) {
    std::string head = fmt::format("HTTP/1.1 {} {}\r\n", reply.status, reason_phrase(reply.status));
    add_header(head, "Server", "freetoken");
    add_header(head, "Date", http_date(std::time(nullptr)));
    if (!reply.content_type.empty()) add_header(head, "Content-Type", reply.content_type);
    for (const WebHeader& header : reply.headers) add_header(head, header.name, header.value);
    if (end.length) add_header(head, "Content-Length", fmt::format("{}", *end.length));
    if (end.chunked) add_header(head, "Transfer-Encoding", "chunked");
    add_header(head, "Connection", end.keep_alive ? "keep-alive" : "close");
    return head + "\r\n";
}

std::string chunk(std::string_view bytes) {
    return bytes.empty() ? "" : fmt::format("{:x}\r\n{}\r\n", bytes.size(), bytes);
}

Target split_target(std::string_view target) {
    Target out;
    for (const std::string_view scheme : {"http://", "https://"}) {
        if (!begins_in_any_case(target, scheme)) continue;
        target.remove_prefix(scheme.size());
        const size_t end = std::min(target.find_first_of("/?"), target.size());
        out.authority = target.substr(0, end);
        target.remove_prefix(end);
        break;
    }
    const size_t mark = std::min(target.find('?'), target.size());
    out.path = target.substr(0, mark);
    if (out.path.empty() && !out.authority.empty()) out.path = "/";
    if (mark < target.size()) out.query = target.substr(mark + 1);
    return out;
}

std::string percent_decoded(std::string_view text) {
    std::string out;
    for (size_t i = 0; i < text.size(); i++) {
        const int high = text[i] == '%' && i + 2 < text.size() ? hex_digit(text[i + 1]) : -1;
        const int low = high >= 0 ? hex_digit(text[i + 2]) : -1;
        if (low >= 0) i += 2;
        out += low >= 0 ? static_cast<char>(high * 16 + low) : text[i];
    }
    return out;
}

}  // namespace ft
