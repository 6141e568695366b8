// The connections of one download.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "hub/download.h"
#include "hub/part_file.h"

namespace ft {

// Fetches every chunk that a part lacks. Threads draw runs of neighbouring chunks; one that breaks goes on
// inside its run, and its failures count until 64 KiB more have come.
class Fetcher {
 public:
    Fetcher(PartFile& file, const DownloadOptions& options);

    // tick: called some ten times a second with the bytes that came so far. False: options.stop said so.
    Expected<bool> run(const std::function<void(uint64_t fetched)>& tick);

 private:
    struct Run {
        size_t first = 0, last = 0;  // chunks, last not included
    };
    std::optional<Run> take_run();
    bool start(std::vector<std::jthread>& threads);
    void work();
    bool fetch(HttpClient& client, const Run& run);
    bool fail(Error error);
    bool should_end() const;

    PartFile& file_;
    const DownloadOptions& options_;
    std::atomic<uint64_t> fetched_{0};
    std::atomic<bool> failed_{false};
    std::mutex mutex_;
    std::condition_variable ended_;  // a thread has
    size_t next_ = 0;  // the first chunk that nobody has drawn; guarded, like the rest, by mutex_
    size_t longest_run_ = 1;
    bool everything_ = false;  // the server sends no parts: all comes again, from the first byte
    int running_ = 0;
    std::optional<Error> error_;
};

}  // namespace ft
