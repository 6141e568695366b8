// What stays of requests when they are over: figures, never content.
#pragma once

#include <deque>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "engine/request.h"

namespace ft {

constexpr int k_client_gone = 499;  // what nginx writes into its logs; nobody is sent it

struct RequestNote {
    std::string id = {};
    std::string client_id = {};  // x-request-id; "": none
    std::string path = {};       // "/v1/chat/completions"
    int64_t started = 0;         // seconds since 1970
    Lane lane = Lane::interactive;
    bool stream = false;
    int status = 200;           // of HTTP; k_client_gone: the client went before the answer ended
    std::string finish = {};    // "stop", "length", "cancelled", "error"
    RequestRecord record = {};  // of all its prompts
};

const char* lane_name(Lane lane);
const char* finish_name(FinishReason reason);

nlohmann::ordered_json to_json(const RequestNote& note);

// The line of the log: lane, queue, prompt, decode, cached tokens, hits, what was read from the drive; and
// what held the answer up where that is clear.
std::string log_text(const RequestNote& note);

// The last k_most of them, the newest last. Owner: one thread.
class RequestRing {
 public:
    static constexpr size_t k_most = 256;
    void add(RequestNote note);
    const std::deque<RequestNote>& notes() const { return notes_; }

 private:
    std::deque<RequestNote> notes_;
};

}  // namespace ft
