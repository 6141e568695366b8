// Many requests on one engine. A step feeds one token of every answer that is being written, and parts of
// prompts beside them, through the model at once; what a request gets does not depend on what else runs
// (docs/scheduler.md).
//
// Owner: one thread, which calls step(); it owns the engine meanwhile. submit(), cancel() and the counters
// may be called from any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/error.h"
#include "engine/engine.h"
#include "engine/request.h"

namespace ft {

class Tokenizer;

struct SchedulerOptions {
    int batch_size = 4;          // answers that are written at once, of both lanes
    int interactive_slots = 2;   // of these, for the interactive lane alone; less than batch_size
    int64_t step_tokens = 0;     // rows of a step at most; 0: as many as the engine's plan has memory for
    double step_ms = 250;        // while answers are written, prompts are cut so that a step lasts no longer
    size_t most_waiting = 4096;  // requests in the queue; more are refused

    // Whose keys and values there is memory for; 0: what batch_size sequences may take by the engine's plan,
    // a whole context each, or with a window that and one step.
    int64_t pool_tokens = 0;
    bool overcommit = false;  // pages are taken as they are needed; who finds none is parked, and comes back
    std::string park_dir = {};  // where parked sequences lie; "": in RAM
    // Of RAM, for parked sequences; those that find no room are read again, prompt and answer. Nothing: what
    // the budget of the engine's plan leaves over.
    std::optional<uint64_t> park_ram_bytes = {};
    uint64_t prefix_cache_bytes = 0;      // of the pool's pages, for beginnings that may come again
    uint64_t state_checkpoint_bytes = 0;  // for states of recurrent layers, beside the pool
};

struct SchedulerCounters {
    uint64_t steps = 0;
    uint64_t done = 0;           // requests that ended
    uint64_t prompt_tokens = 0;  // fed
    uint64_t generated_tokens = 0;
    uint64_t cached_tokens = 0;     // of prompts, that did not have to be fed
    uint64_t parked = 0;            // how often a sequence gave up its pages and came back
    int running = 0;                // sequences
    int waiting = 0;                // requests
    uint64_t kv_bytes = 0;          // of all pages
    uint64_t kv_bytes_planned = 0;  // by the engine's plan: its item "KV cache"
    uint64_t pages = 0;             // of the pool
    uint64_t pages_used = 0;        // of them by sequences and the prefix cache
    uint64_t pages_cached =
        0;  // of these by the prefix cache, which gives them back; a sequence may share some
    uint64_t checkpoints = 0;   // states of recurrent layers that the prefix cache keeps
    uint64_t parked_files = 0;  // in park_dir
    uint64_t parked_bytes = 0;  // in RAM
};

using RequestId = uint64_t;

class Scheduler {
 public:
    // engine and tokenizer must outlive this. An error: an option that cannot work, or no memory.
    static Expected<std::unique_ptr<Scheduler>> create(Engine& engine, const Tokenizer& tokenizer,
                                                       const SchedulerOptions& options);
    ~Scheduler();

    // Puts it into the queue of its lane. The owner is told everything on the thread that calls step(), and
    // is kept until on_done. max_tokens that goes beyond the context is cut. Errors: no prompt, an id outside
    // the vocabulary, a prompt that leaves no room for an answer (Code::too_large, with the numbers), a full
    // queue.
    Expected<RequestId> submit(Request request, std::shared_ptr<RequestOwner> owner);

    // Ends it within one step: its choices end as cancelled. Nothing happens where it is over or unknown.
    void cancel(RequestId id);

    // Admits what may begin and takes one step. False: there was nothing to do.
    bool step();

    // Until something was submitted or cancelled, or `seconds` have passed.
    void wait(Seconds seconds);

    SchedulerCounters counters() const;

    // Why the last step could not be computed, a model file that was cut short say; nothing where it was.
    std::optional<Error> failure() const;

    // Forgets all prefixes that no running sequence needs.
    void drop_prefix_cache();

 private:
    struct State;
    explicit Scheduler(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace ft
