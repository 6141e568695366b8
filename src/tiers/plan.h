// Where every byte of a model goes, worked out before anything of it is read: a pure function of the machine,
// the model's shape and the settings. `freetoken plan` prints it, and every command that loads a model obeys
// it.
//
// What a plan says is what is used: the sum of its items in RAM is at most the budget. A budget too small for
// the step of one layer is refused with the smallest one that works.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "device/profile.h"
#include "tiers/model_shape.h"

namespace ft {

struct CardShape {
    uint64_t total_bytes = 0;
    uint64_t used_by_others = 0;
    uint64_t context_bytes = 0;  // what the driver takes for a process; outside memory.gpu_vram_budget
    double read_gb_per_second = 0;
    double pcie_gb_per_second = 0;
};

struct Machine {
    uint64_t ram_total = 0;
    uint64_t ram_available = 0;  // that can be filled without swapping
    std::optional<CardShape> card = {};
};

// RAM for what a server's requests take beside the model: one part in `part` of the budget, from `least` to
// `most` bytes; `least` whatever the budget where part is 0.
struct RequestRoom {
    uint64_t part = 0, least = 0, most = 0;
    uint64_t bytes(uint64_t ram_budget) const {
        return part == 0 ? least : std::clamp(ram_budget / part, least, most);
    }
};

struct PlanSettings {
    std::optional<uint64_t> ram_budget =
        {};  // bytes; nothing: 70 % of all RAM, and no more than is available
    std::optional<uint64_t> vram_budget = {};  // bytes for model and KV cache; nothing: 85 % of the card
    std::optional<int64_t> gpu_expert_capacity =
        {};                   // VRAM slots of each layer; nothing: what the budget allows
    bool cpu_offload = true;  // false: experts may lie on the card only
    int64_t n_ctx = 0;        // tokens of one sequence; 0: the smaller of the model's and 8192
    int64_t n_sequences = 1;  // that may run at once
    int64_t pool_tokens = 0;  // of the KV cache; 0: what n_sequences may have together
    int64_t window = 0;       // a token sees so many, and older ones are forgotten; 0: all
    int64_t sinks = 0;        // the first tokens of a sequence, which a window does not forget
    bool endless = false;     // a sequence goes on when the context is full, and forgets
    int64_t chunk = 0;  // tokens of a step at most, fewer where the budget affords no more; 0: chosen here
    RequestRoom requests = {};
    bool prefetch = true;                 // experts are guessed, where RAM does not hold all of them
    uint64_t state_checkpoint_bytes = 0;  // of RAM at most, for copies of recurrent state
};

enum class Tier { vram, ram, drive };
const char* tier_name(Tier tier);  // "vram"

// Copies of its recurrent state that a sequence is planned to have, to go back to.
inline constexpr int64_t k_kept_states = 2;

// The item that counts what the driver takes for a process, which is outside the card's budget.
inline constexpr std::string_view k_context_item = "GPU context";

struct PlanItem {
    std::string name;
    Tier tier = Tier::ram;
    uint64_t bytes = 0;
};

struct TierBytes {
    uint64_t vram = 0, ram = 0, drive = 0;
};

struct Plan {
    bool fits = false;
    std::vector<PlanItem> items;
    TierBytes total;  // sums of the items
    uint64_t ram_budget = 0, vram_budget = 0;
    uint64_t minimum_ram = 0;   // the smallest ram_budget that is accepted, to the byte
    uint64_t resident_ram = 0;  // the smallest ram_budget with which every expert lies in RAM (or VRAM)

    int64_t n_ctx = 0, n_sequences = 1;
    int64_t window = 0;          // 0: a token sees all before it
    int64_t sequence_pages = 0;  // of the KV cache, that one sequence may take
    int64_t pool_tokens = 0;     // of all sequences; where the settings name them, rounded up to whole pages
    int64_t pool_pages = 0;      // that hold them
    uint64_t kv_bytes = 0;       // of pool_tokens; its item counts whole pages
    int64_t chunk = 0;           // tokens of the longest step
    // Copies of recurrent state, k_kept_states for each sequence where there is room: a quarter of what is
    // left beside the least that works (or beside all experts) goes to them, so they never decide what fits.
    int64_t state_copies = 0;

    // Every expert that is not in VRAM lies in RAM, as in the file; otherwise slots hold some of them.
    bool experts_resident = false;
    std::vector<int64_t> ram_slots;   // for each class of the shape
    std::vector<int64_t> vram_slots;  // for each class
    int64_t n_ram_slots() const;
    int64_t n_vram_slots() const;
    int64_t n_on_drive = 0;  // experts that have a slot nowhere

    std::string shortage;            // where it does not fit: one sentence with the numbers
    std::vector<std::string> notes;  // what a reader should know although it fits
};

// Of RAM, where the settings name no budget: 70 % of all, and no more than is available.
uint64_t auto_ram_budget(const Machine& machine);

// Never fails: what cannot work has fits == false, `shortage` and minimum_ram.
Plan plan(const Machine& machine, const ModelShape& shape, const PlanSettings& settings);

// What an endless sequence keeps of a full context (Plan::n_ctx) are its first tokens and a window. Refuses
// first tokens that leave no room for one.
Status check_first_tokens(const PlanSettings& settings, int64_t n_ctx);

// What to change, the most useful first. Where the plan does not fit: budget, slots of the card, the type of
// keys and values, sequences, context, quantisation last.
std::vector<std::string> plan_advice(const Machine& machine, const ModelShape& shape,
                                     const PlanSettings& settings, const Plan& plan,
                                     const MachineProfile* profile);

// The same in a sentence, for a command that asked for what does not fit: into its budget of RAM, or without
// experts in RAM.
std::string shortage_remedy(const Machine& machine, const ModelShape& shape, const PlanSettings& settings,
                            const Plan& plan);

}  // namespace ft
