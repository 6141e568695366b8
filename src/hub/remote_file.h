// A file on an HTTP server, read by range requests: a model's header can be looked at before its 20 GB are
// downloaded.
#pragma once

#include <memory>
#include <string>

#include "base/error.h"
#include "hub/http_client.h"
#include "hub/url.h"
#include "io/file.h"

namespace ft {

// Asks for the size and the first bytes. Reads are answered from what was fetched; what is fetched grows with
// what was read so far, so that a reader that goes front to back costs at most twice its bytes and a
// megabyte. Redirects are followed, proxies come from the environment. Errors name the URL: a server that is
// not there, an answer other than 200 and 206, one without ranges or length, a size that changes. A
// connection that breaks after some bytes is opened again; what brings none, or stalls after a few, is asked
// for again as `patience` says. Not safe from several threads at once.
Expected<std::unique_ptr<File>> open_remote(const std::string& url);
Expected<std::unique_ptr<File>> open_remote_with(const std::string& url, const HttpToken& token,
                                                 const Patience& patience = {});

}  // namespace ft
