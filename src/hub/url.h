// The parts of a web address, read by the library that fetches it, so that both see the same host.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"

namespace ft {

bool is_url(std::string_view path);  // http:// or https://

struct Url {
    std::string origin;  // "https://example.org:443", in small letters: what a token is meant for
    std::string host;    // "example.org", or a number in its own form
    std::string path;    // "/a b/model.gguf", percent signs decoded; "/" where there is none
    bool encrypted = false;
};

// Refuses what is no http or https address, one that holds a name and password, and a path with control
// characters. Errors name the address.
Expected<Url> parse_url(const std::string& text);

// As it may stand in messages: without what follows a question mark, which is often a signature.
std::string shown_url(const std::string& text);

// Percent signs for everything but letters, digits and -._~/
std::string url_path(std::string_view path);

// Whether nobody but this machine can listen.
bool is_loopback(const Url& url);

}  // namespace ft
