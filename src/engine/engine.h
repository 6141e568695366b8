// A loaded model and the sequences that run on it.
//   Engine   file, weights, thread pool; immutable after load
//   Session  one sequence: its KV cache, recurrent state and position
// Owner of both: one thread at a time. The result of a session depends on the ids fed alone: not on threads,
// on chunk lengths or on the instruction table (docs/arithmetic.md).
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "device/cpu.h"
#include "engine/serving_options.h"
#include "engine/swap_folder.h"
#include "io/file.h"
#include "tiers/cache_stats.h"
#include "tiers/plan.h"
#include "tiers/policy.h"

namespace ft {

class Gguf;
struct Prediction;

// What is known of a model before its weights are read.
struct ModelOutline {
    const Gguf& file;
    int64_t n_vocab = 0;
    int64_t n_ctx = 0;        // of the sessions to come
    int64_t n_ctx_model = 0;  // context_length of the file
    bool endless = false;     // a full context goes on (kv_cache.auto_evict)

    // An error that says what a session with n_past tokens could not be fed: an id outside the vocabulary,
    // more ids than the context has room for.
    Status check_ids(std::span<const int32_t> ids, int64_t n_past = 0) const;
};

// What the sessions of an engine did so far. May be read from any thread.
struct EngineActivity {
    std::atomic<uint64_t> prompt_tokens{0};
    std::atomic<uint64_t> generated_tokens{0};  // fed one at a time
    std::atomic<uint64_t> generating_us{0};     // of the steps that they were part of

    void generated_in(Seconds seconds) { generating_us += static_cast<uint64_t>(seconds * 1e6); }
};

struct LoadOptions {
    std::string model_path;
    std::string model_name;              // for whoever tells of the engine; "": the file's
    int threads = 0;                     // 0: physical cores
    int64_t n_ctx = 0;                   // 0: the smaller of the model's context and 8192
    int64_t n_ctx_least = 0;             // the context is raised to this where n_ctx is less
    int64_t chunk = 0;                   // prompt tokens in one step at most; 0: what the plan says
    KvOptions kv;                        // memory of keys and values
    StepOptions steps;                   // sequences and tokens of a step
    int64_t top_k_experts = 0;           // of each layer; 0: the model's own number
    std::optional<uint64_t> ram_budget;  // bytes of RAM; nothing: what the machine can spare (tiers/plan.h)
    RequestRoom requests = {};           // of the budget
    bool cpu_offload = true;             // false: refused, as long as nothing computes on a card
    std::string expert_policy = k_default_policy;  // a row of policies(); speed only
    bool prefetch = true;                          // an idle drive reads ahead
    bool warm_start =
        false;             // the hottest experts of earlier runs are read first, and this run is remembered
    std::string swap_dir;  // "": none; else a folder for a copy of the experts, where its drive is faster
    CompareDrives compare_drives = &ft::compare_drives;  // a test says what a second drive would
    std::function<Expected<Ram>()> read_memory = [] { return read_ram(); };
    double memory_look_seconds = 0.5;  // between two looks at what RAM others need
    bool reads_by_threads = false;     // experts are read by threads even where io_uring works
    bool reference = false;            // weights dequantised to f32, f32 activations, f32 KV
    // Called once the model is known to fit and before its weights are read: for what can be refused by then.
    std::function<Status(const ModelOutline&)> before_weights;
    std::function<void(uint64_t done, uint64_t total)>
        progress;  // bytes; called from the loading thread, may be empty
    OpenFile open_file = &File::open;
    std::shared_ptr<EngineActivity> activity = std::make_shared<EngineActivity>();
};

// One line of routing: the experts that a layer chose for the token at a position, by falling router weight.
struct Route {
    int layer;  // the file's own number (blk.N)
    int64_t position;
    std::vector<int> experts;
};

class Session;

class Engine {
 public:
    static Expected<std::unique_ptr<Engine>> load(const LoadOptions& options);
    ~Engine();

    const Gguf& file() const;
    int64_t n_ctx() const;
    int64_t n_vocab() const;
    int64_t n_ctx_model() const;  // context_length of the file
    int threads() const;
    const char* kernels_name() const;
    double load_ms() const;    // from open to the first session
    const Plan& plan() const;  // where every byte is
    // What the plan foresaw, from the machine's profile as far as it is known: nothing is measured for it.
    std::optional<Prediction> prediction() const;
    // Free slots for experts are filled until the first step begins. Waits so long for it; whether it is
    // over.
    bool slots_filled_within(Seconds most);
    uint64_t slot_bytes() const;       // of all slots; 0 where all experts are resident
    bool experts_resident() const;     // false: RAM holds some, the drive the others
    uint64_t bytes_loaded() const;     // weights read from the file(s) before the first session
    uint64_t bytes_per_token() const;  // weights that one generated token reads
    uint64_t kv_bytes() const;         // of one session's cache
    KvTypes kv_types() const;          // as they are stored, which may be f16 where others are asked for
    // What of the options could not be taken as it was, or makes answers worse: a sentence each.
    const std::vector<std::string>& notes() const;
    bool endless() const;  // a full context goes on (kv_cache.auto_evict)
    // Tokens of a sequence of n_past that no token after them sees, because it went on beyond the context.
    int64_t forgotten(int64_t n_past) const;

    uint64_t memory_margin() const;    // bytes of RAM that slots of experts leave to other programs
    int64_t slots_given_back() const;  // because other programs need the memory
    bool reads_pack() const;           // experts come from a copy in swap_dir

    CacheStats expert_stats() const;  // of all sessions; zeros where all experts are resident

    // An error: not enough memory for the KV cache.
    Expected<std::unique_ptr<Session>> new_session();

 private:
    friend class Session;
    friend class Scheduler;
    struct State;  // engine/engine_state.h
    explicit Engine(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

class Session {
 public:
    ~Session();

    // Feeds ids at the next positions. Afterwards logits() are those that follow the last id.
    // Errors: an id outside the vocabulary; more ids than the context has room for (nothing is fed then;
    // a context of kv_cache.auto_evict always has room);
    // `stop` became true meanwhile, which is seen within a layer of a longer step (Code::negative); an expert
    // could not be read. n_past() then says what was kept: the steps that were whole; where the model has
    // recurrent layers, which cannot go back, and the end came inside a step, what keep_state() kept last.
    Status feed(std::span<const int32_t> ids, const std::atomic<bool>* stop = nullptr);

    // The same, and calls sink once per id in order with the n_vocab logits that follow it.
    Status feed_all(std::span<const int32_t> ids, const std::function<Status(std::span<const float>)>& sink);

    std::span<const float> logits() const;  // n_vocab values; empty before the first feed
    int64_t n_past() const;
    int64_t step_tokens() const;      // ids that feed() reads in one pass over the weights, at most
    CacheStats expert_stats() const;  // since the session was made
    void clear();
    // Drops what is newer than n_past tokens, and more where the model has recurrent layers: back to the last
    // place where keep_state() was called. All, where there is none or a window has moved on from it. Returns
    // how many tokens are left.
    int64_t rewind(int64_t n_past);
    // Keeps the state of recurrent layers at n_past() for rewind(), of the newest few places. The memory is
    // the plan's (Plan::state_copies), taken at the first call.
    void keep_state();
    bool keeps_states() const;  // false: no recurrent layers, or no memory; keep_state() does nothing
    // `ids`, those that were fed, with their keys, values and state as a file (engine/sequence_file.h), and a
    // note of the caller's. load() gives the same sequence again, to the bit, and what was saved beside it;
    // it refuses what is damaged, of another model, or longer than the context. After an error of load() the
    // session is empty where the file turned out damaged late, else as it was.
    Status save(const std::string& path, std::span<const int32_t> ids, const std::string& note) const;
    struct Saved {
        std::vector<int32_t> ids;
        std::string note;
    };
    Expected<Saved> load(const std::string& path);
    // Called for every mixture layer and token while set; for traces.
    void set_route_sink(std::function<void(const Route&)> sink);

 private:
    friend class Engine;
    struct State;
    explicit Session(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace ft
