// How the memory of keys and values is made and shared, and how steps are put together: the sections kv_cache
// and inference of the settings, as the engine takes them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "kv/kv_shape.h"

namespace ft {

struct KvOptions {
    KvTypes types;               // f16 where a head size cannot be stored otherwise
    int64_t sliding_window = 0;  // tokens that a token sees, itself included; 0: all
    int64_t sink_tokens = 4;     // the first positions, which stay in sight of a window
    bool auto_evict = false;     // a full context goes on; the window is then n_ctx at most
    int64_t pool_tokens = 0;     // of all sequences; 0: n_ctx (or the window) for each that may run at once
    bool overcommit = false;     // pages are taken as they are needed
    std::optional<uint64_t>
        prefix_cache_bytes;               // of the pool, kept for later requests; nothing: what is free
    uint64_t state_checkpoint_bytes = 0;  // RAM for states of recurrent layers
    std::string park_dir;                 // "": they are read again, prompt and answer
};

struct StepOptions {
    int64_t batch_size = 1;         // sequences that run together
    int64_t interactive_slots = 0;  // of them, for interactive requests alone; less than batch_size
    int64_t step_tokens = 0;        // at most in one step; 0: what the plan says
    int64_t step_ms = 250;          // a prompt's share is cut so that a step lasts no longer
};

}  // namespace ft
