// How much memory it takes to read a body, worked out before it is read: a body of some megabytes may become
// hundreds, by many small values or by one long text.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "server/api_error.h"

namespace ft {

struct OpenAiCall;
struct Request;
struct WebRequest;

// At most, beside the body itself: its values as JSON, its texts as they are read, put into a prompt, and
// their tokens. The text need not be JSON.
uint64_t work_bytes(std::string_view body);

// What stays of a call until it is answered.
uint64_t kept_bytes(std::span<const Request> requests);
uint64_t kept_bytes(const OpenAiCall& call);

// Takes `bytes` of the room for requests in place of what the request has of it. An error: the room is too
// small for that (413), or others have it now (503).
std::optional<ApiError> take_room(const WebRequest& request, uint64_t bytes);

}  // namespace ft
