// One question to a server on a plain connection, for a command that asks a running server of ours.
#pragma once

#include <string>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "http/http_message.h"

namespace ft {

struct WebAddress {
    std::string host = "127.0.0.1";
    std::string port = "8080";
};
// "http://HOST:PORT", "HOST:PORT" or "HOST"; an error where it is none, or https.
Expected<WebAddress> web_address(std::string_view text);

// Status and body of the answer. Errors: nobody answers within so many seconds, or not in HTTP.
Expected<WebReply> http_get(const WebAddress& address, const std::string& path,
                            const std::vector<WebHeader>& headers, Seconds most);

}  // namespace ft
