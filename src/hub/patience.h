// When a request that failed is made again: what may go well a little later is, a few times, after pauses
// that grow.
#pragma once

#include <functional>
#include <string>

#include "base/clock.h"

namespace ft {

struct HttpReply;

struct Patience {
    int retries = 0;            // failures in a row that are borne
    long stalled_seconds = 30;  // of less than 1 KiB a second, after which a transfer is given up
    Seconds first_pause = 0.5;  // doubles with every failure in a row, to 30 s; a server may ask for more
    // Told before each pause: what went wrong, and how long it will be.
    std::function<void(const std::string& why, Seconds pause)> on_pause = {};
};

enum class NextTry {
    now,      // the pause is over: ask again
    never,    // it would fail again, or has failed too often
    stopped,  // the caller's stop() said so during the pause
};

// The failures of one request, or of one file that is fetched in pieces.
class Tries {
 public:
    // stop: asked about often during a pause.
    Tries(std::string url, Patience patience, std::function<bool()> stop = {});

    // After a failure. Waits where there is reason to.
    NextTry after(const HttpReply& reply);
    // Enough came, so that what failed until now does not count.
    void forget() { failures_ = 0; }

 private:
    std::string url_;
    Patience patience_;
    std::function<bool()> stop_;
    int failures_ = 0;
};

}  // namespace ft
