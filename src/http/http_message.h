// A request as it came and an answer as it goes, without sockets.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "http/byte_room.h"

namespace ft {

struct WebHeader {
    std::string name, value;
};

struct WebRequest {
    std::string method = {};              // "GET"
    std::string path = {};                // as it was sent, before a '?'
    std::string query = {};               // behind it
    std::vector<WebHeader> headers = {};  // names in lower case
    std::string body = {};
    // What the body takes of the memory for requests; nullptr: nobody counts.
    std::shared_ptr<ByteShare> room = {};

    // Of the first header of this name, which is in lower case; "" where there is none.
    std::string_view header(std::string_view name) const;
};

struct WebReply {
    int status = 200;
    std::string content_type = "application/json";  // "": none is sent
    std::vector<WebHeader> headers = {};
    std::string body = {};
    std::shared_ptr<ByteShare> room = {};  // is kept until the body is sent
};

// How an answer's body ends.
struct BodyEnd {
    std::optional<uint64_t> length = {};  // Content-Length
    bool chunked = false;                 // else it ends with the connection
    bool keep_alive = true;
};

// Status line and headers, with the blank line. A line break in a header's value is left out.
std::string reply_head(const WebReply& reply, const BodyEnd& end);

// One chunk of a chunked body; nothing for no bytes, which would end it.
std::string chunk(std::string_view bytes);
constexpr std::string_view k_last_chunk = "0\r\n\r\n";

std::string_view reason_phrase(int status);

// The target of a request line: "/path?query", or with all of the address, "http://host/path?query", as
// proxies send it.
struct Target {
    std::string_view authority = {};  // "host:port"; "" where there is none
    std::string_view path = {}, query = {};
};
Target split_target(std::string_view target);

// "%2F" to "/". What is no escape stays.
std::string percent_decoded(std::string_view text);

}  // namespace ft
