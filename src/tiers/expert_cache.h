// The experts of a model of which RAM holds a part: slots, what lies in them, and the reads that bring the
// rest.
//
// A layer's step asks for its experts by begin(), gets what is resident at once, and the others by next() as
// they come from the drive, so that the first are computed while the others are read. Where a step needs more
// experts than there are slots, next() hands them out in waves: giving back leases makes room for those that
// are still missing. Results must not depend on the order (they are kept per token and expert, and summed
// afterwards).
//
// A missed expert that its policy does not admit passes through: some slots of each class are places of
// passage, whose content may be used again until the next one needs the place, and is admitted later if the
// policy then says so.
//
// Owner: one thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/fifo.h"
#include "io/read_queue.h"
#include "tiers/cache_stats.h"
#include "tiers/expert_records.h"
#include "tiers/guess_worth.h"
#include "tiers/policy.h"
#include "tiers/slots.h"
#include "tiers/streamer.h"

namespace ft {

class ExpertCache;

// The right to compute on an expert in a slot: while it lives the slot keeps its content. Move-only.
class Lease {
 public:
    Lease(ExpertCache& cache, int slot) : cache_(&cache), slot_(slot) {}
    Lease(Lease&& other) noexcept : cache_(std::exchange(other.cache_, nullptr)), slot_(other.slot_) {}
    Lease& operator=(Lease&& other) noexcept {
        std::swap(cache_, other.cache_);
        std::swap(slot_, other.slot_);
        return *this;
    }
    ~Lease();

    int expert() const;
    const std::byte* slice(int slice) const;  // as the file has it

 private:
    ExpertCache* cache_;
    int slot_;
};

struct CacheOptions {
    std::string policy = k_default_policy;
    PolicyOptions policy_options = {};
    ReadMethod method = ReadMethod::automatic;
    std::vector<uint32_t> profile =
        {};                  // [layers * experts of the largest layer] uses in earlier runs, or empty
    bool look_ahead = true;  // an idle drive reads what the next layer will likely ask for
    int threads = 1;         // that commit the slots
    std::vector<int64_t> least_slots = {};  // of each class, that give_back() leaves; empty: one
};

class ExpertCache {
 public:
    // slots_of_class: of each size class that the records name, at least one. Files of the records must
    // outlive the cache. Errors: memory, an unknown policy.
    static Expected<std::unique_ptr<ExpertCache>> create(ExpertRecords records,
                                                         std::span<const int64_t> slots_of_class,
                                                         const CacheOptions& options);

    // Moves the policy's clock by one, in a long step by its tokens, and forgets an error of the step before.
    void begin_step(int n_token = 1);

    // Visit of a layer. ids: what the router chose for the tokens of the step, all in a row. The policy sees
    // each expert once, in a long step each choice. `ready` gets the experts that are there now, each once;
    // the reads of all others are on their way.
    void begin(int layer, std::span<const int32_t> ids, std::vector<Lease>& ready);
    // Gives back the leases in `ready` and replaces them by those of experts that came meanwhile; waits for
    // one where there is none. False: all experts of the visit were handed out, or status() is an error.
    bool next(std::vector<Lease>& ready);
    // Whether a guess of what the next layer asks for is welcome now: it was worth it lately. A long step
    // asks for most experts of every layer, so that one that reads at all will read again.
    bool wants_guess() const { return look_ahead_ && (is_long_ ? is_reading() : worth_.pays()); }
    // What the given layer will likely ask for, the likeliest first: read once the drive has nothing needed
    // to read, into free slots and places of passage.
    void guess(int layer, std::span<const int32_t> ids);
    // In a long step, while the caller computes something else: sees what was read and begins the next
    // guesses.
    void tend();
    // Why experts of the present step could not be had: a failed read, with file and offset.
    const Status& status() const { return status_; }

    // Experts (layer, expert) to read while the drive is idle and slots are free, in this order.
    void warm(std::span<const std::pair<int, int>> experts);
    // Between steps: sees what of them was read and begins the next; waits for nothing. False: all that finds
    // a free slot is read.
    bool fill();

    // Between steps: gives the memory of the least valuable experts back to the system, as far as a step's
    // least slots allow, and takes it again. Both return the bytes that it came to.
    uint64_t give_back(uint64_t bytes);
    uint64_t take_again(uint64_t bytes);
    uint64_t bytes_parked() const;  // given back and not taken again
    int n_parked() const;           // slots

    CacheStats stats() const;
    // Uses of every expert so far, the profile's included: the profile of a next run.
    std::vector<uint32_t> uses() const;
    uint64_t bytes() const { return slots_.bytes(); }
    int n_slot() const { return slots_.count(); }
    std::string_view read_method() const { return read_method_; }

 private:
    friend class Lease;
    struct Slot {
        int layer = -1, expert = -1;  // -1: empty
        int pins = 0;
        int open = 0;          // reads that are not over
        uint64_t visit = 0;    // the last visit that asked for its content
        bool failed = false;   // one of its reads
        bool passing = false;  // unknown to the policy
        bool guess = false;    // being read before anyone asked
    };

    ExpertCache(ExpertRecords records, Slots slots, std::unique_ptr<ReadQueue> queue);
    void make_policy(const CacheOptions& options, const PolicyRow& row);
    void reserve_lists();
    int& slot_of(int layer, int expert) {
        return slot_of_[static_cast<size_t>(layer) * static_cast<size_t>(n_expert_) +
                        static_cast<size_t>(expert)];
    }
    bool is_still(int slot) const { return slots_state_[slot].pins == 0 && slots_state_[slot].open == 0; }
    void time_step();
    void use(std::span<const int32_t> ids);
    void ask_for(int expert);
    void judge_guesses();
    void admit_late(int slot);
    void grant();
    int take_slot(int expert);
    int choose_victim(int layer);
    int take_free(int layer);
    int take_passage(int size_class, bool of_this_visit, int but_layer);
    int add_passage(int layer, size_t most);
    int take_guess_slot(int layer, bool for_next_layer);
    int slot_to_park(size_t size_class);
    void empty(int slot);
    void load(int slot, int layer, int expert, bool guess);
    void add_read(Slot& slot, const Read& read);
    void absorb(bool wait);
    void read_over(const ReadDone& done);
    void abandon();
    void hand_out(std::vector<Lease>& ready);
    bool is_reading() const { return waiting_ > 0 || !missing_.empty(); }
    void feed_guesses();
    void start_guesses(int most);

    const ExpertRecords records_;
    Slots slots_;
    Streamer streamer_;
    std::string read_method_;
    std::unique_ptr<EvictionPolicy> policy_;
    bool look_ahead_ = true;
    int n_expert_ = 0;  // of the largest layer

    std::vector<Slot> slots_state_;
    std::vector<int> slot_of_;               // [layer, expert]; -1: nowhere
    std::vector<std::vector<int>> free_;     // [class]
    std::vector<std::vector<int>> passage_;  // [class], a few; the next to be given up first
    std::vector<size_t> passage_limit_;      // [class]
    std::vector<std::vector<int>> parked_;   // [class] slots without memory
    std::vector<int64_t> n_of_class_, least_of_class_, layers_of_class_;
    Fifo<std::pair<int, int>> guesses_;  // for the next layer
    Fifo<std::pair<int, int>> warm_;     // for free slots
    int open_guesses_ = 0;
    std::vector<std::pair<int, int>> guessed_;  // for the next layer, under way or read
    GuessWorth worth_;

    int64_t clock_ = 0;  // the policy's, after the present step
    int64_t before_step_ = 0;
    int n_token_ = 1;
    size_t n_visit_of_step_ = 0;  // short ones
    Seconds step_began_ = 0;

    // the present visit
    int layer_ = 0;
    uint64_t visit_ = 0;
    bool is_long_ = false;         // it asks for most experts
    std::vector<uint64_t> asked_;  // [expert] the last visit that asked for it
    std::vector<int> missing_;     // experts without a slot, the next one last
    int waiting_ = 0;              // slots of the visit whose reads are not over
    std::vector<int> arrived_;     // slots of the visit that were not handed out yet
    std::vector<ReadDone> done_;
    Status status_;
    Status last_failure_;  // of a read, also of one that nobody waited for
    uint64_t hits_ = 0, misses_ = 0;
};

}  // namespace ft
