// Files of one model from a server to the drive: over several connections, going on after a break, checked
// against the size and digest that the server promised, and under their own names only when all of them are
// whole.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "base/error.h"
#include "hub/http_client.h"
#include "hub/part_file.h"

namespace ft {

struct DownloadProgress {
    bool checking = false;  // what is there is read and its digest taken
    uint64_t done = 0, total = 0;
    uint64_t fetched = 0;  // from the server, by this call
};

struct DownloadOptions {
    int connections = 4;
    Patience patience = {.retries = 5};  // of each connection
    uint64_t chunk_bytes = 0;            // 0: chosen by the size
    HttpToken token = {};
    std::function<bool()> stop = {};                             // asked often; true ends the call
    std::function<void(const DownloadProgress&)> progress = {};  // called some ten times a second
};

// What the server says of a file that no list describes: size, ETag, whether it sends parts.
Expected<RemotePart> probe(const std::string& url, const HttpToken& token, const Patience& patience = {});

// Bytes that the drive still needs for these files. An error where the folder's drive has not so many free,
// with a little left over: nothing is created.
Expected<uint64_t> check_room(std::span<const RemotePart> parts);

enum class Downloaded {
    now,      // fetched, or gone on with
    before,   // all files were there, and are what the server promises
    stopped,  // by options.stop: what was fetched is kept
};

// In this order: locks, bytes, digests, names (the first file last, so that a split model appears when it is
// whole). Errors name the file: another process that downloads it, a server that refuses or lies, a drive
// that is full, a digest that is not the promised one (then nothing is kept). Everything else keeps what was
// fetched.
Expected<Downloaded> download(std::span<const RemotePart> parts, const DownloadOptions& options);

}  // namespace ft
