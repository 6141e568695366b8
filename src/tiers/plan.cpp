#include "tiers/plan.h"

#include <algorithm>
#include <numeric>

#include "base/bytes.h"
#include "base/gib_digits.h"

namespace ft {

namespace {

constexpr int64_t k_default_ctx = 8192;
constexpr int64_t k_chunk_least = 32;      // a step shorter than this only happens at the end of a prompt
constexpr int64_t k_chunk_resident = 256;  // where nothing is read, longer steps are not faster
constexpr int64_t k_chunk_most =
    1024;  // a pass over the drive is paid for by then, and Ctrl-C waits for a step
constexpr uint64_t k_copies_share = 4;    // of what is left over, one part in so many for copies of state
constexpr uint64_t k_scratch_share = 16;  // of the room for slots, one part in so many goes to a longer step

// Adds item after item and keeps the sums.
class Ledger {
 public:
    explicit Ledger(Plan& plan) : plan_(plan) {}
    void add(std::string name, Tier tier, uint64_t bytes) {
        if (bytes == 0) return;
        (tier == Tier::vram  ? plan_.total.vram
         : tier == Tier::ram ? plan_.total.ram
                             : plan_.total.drive) += bytes;
        plan_.items.push_back({std::move(name), tier, bytes});
    }

 private:
    Plan& plan_;
};

// What RAM must hold whatever the number of slots, a step's rows aside.
struct Fixed {
    uint64_t parts = 0, kv = 0, state = 0, scratch = 0, program = 0, requests = 0, copies = 0, guess = 0;
    uint64_t sum() const { return parts + kv + state + scratch + program + requests + copies + guess; }
};

// Room for model and KV cache on the card: 85 % of it, and at least the larger of 256 MiB and 5 % left free
// beside what others use and the driver's context.
uint64_t auto_vram_budget(const CardShape& card) {
    const uint64_t margin = std::max(256 * k_mib, card.total_bytes / 20);
    const uint64_t taken = card.used_by_others + card.context_bytes + margin;
    const uint64_t aim = card.total_bytes / 100 * 85;
    const uint64_t below_aim = aim > card.context_bytes ? aim - card.context_bytes : 0;
    return std::min(below_aim, card.total_bytes > taken ? card.total_bytes - taken : 0);
}

class Planner {
 public:
    Planner(const Machine& machine, const ModelShape& shape, const PlanSettings& settings)
        : machine_(machine), shape_(shape), settings_(settings), ledger_(plan_) {}

    Plan run() {
        choose_context();
        plan_.ram_budget = settings_.ram_budget.value_or(auto_ram_budget(machine_));
        plan_.ram_slots.assign(shape_.classes.size(), 0);
        plan_.vram_slots.assign(shape_.classes.size(), 0);
        if (machine_.card) place_on_card();
        else plan_.vram_budget = 0;
        place_fixed();
        place_experts();
        check_context();
        check_card();
        check_offload();
        list_items();
        return std::move(plan_);
    }

 private:
    void choose_context() {
        plan_.n_ctx = settings_.n_ctx > 0 ? settings_.n_ctx : std::min(shape_.n_ctx_model, k_default_ctx);
        plan_.n_sequences = settings_.n_sequences;
        size_pool();
        state_ = static_cast<uint64_t>(plan_.n_sequences) * shape_.state_bytes;
        on_card_.assign(shape_.parts.size(), false);
    }

    int64_t pages(int64_t tokens) const { return ceil_div(tokens, shape_.kv_page_tokens); }

    // With a window a sequence takes what the window holds, the sinks and one step; pages are taken whole,
    // and both ends of the window may lie inside one.
    void size_pool() {
        plan_.window = settings_.window;
        if (settings_.endless) {  // goes on, but sees no more than a context
            const int64_t most = std::max<int64_t>(1, plan_.n_ctx - settings_.sinks);
            plan_.window = plan_.window > 0 ? std::min(plan_.window, most) : most;
        }
        int64_t tokens = plan_.n_ctx;
        plan_.sequence_pages = pages(tokens);
        if (plan_.window > 0) {
            const int64_t moving = plan_.window + longest(k_chunk_resident);
            const int64_t held = moving + settings_.sinks,
                          held_pages = pages(settings_.sinks) + pages(moving) + 1;
            tokens = settings_.endless ? held : std::min(tokens, held);
            plan_.sequence_pages =
                settings_.endless ? held_pages : std::min(plan_.sequence_pages, held_pages);
        }
        if (settings_.pool_tokens > 0) {
            plan_.pool_pages = pages(settings_.pool_tokens);
            plan_.pool_tokens = plan_.pool_pages * shape_.kv_page_tokens;
        } else {
            plan_.pool_tokens = plan_.n_sequences * tokens;
            plan_.pool_pages = plan_.n_sequences * plan_.sequence_pages;
        }
        plan_.kv_bytes = static_cast<uint64_t>(plan_.pool_tokens) * shape_.kv_bytes_per_token;
        kv_pages_ = shape_.kv_bytes(plan_.pool_pages * shape_.kv_page_tokens);
    }

    // What every token reads comes first, then the KV cache, then slots, the same number for each layer.
    void place_on_card() {
        plan_.vram_budget = settings_.vram_budget.value_or(auto_vram_budget(*machine_.card));
        uint64_t room = plan_.vram_budget;
        card_scratch_ = std::min(room, shape_.scratch_fixed + scratch(longest(k_chunk_resident)));
        room -= card_scratch_;
        for (size_t i = 0; i < shape_.parts.size(); i++) {
            if (!shape_.parts[i].on_card || shape_.parts[i].bytes > room) continue;
            on_card_[i] = true;
            room -= shape_.parts[i].bytes;
        }
        kv_on_card_ = kv_pages_ + state_ <= room;
        if (kv_on_card_) room -= kv_pages_ + state_;
        place_slots_on_card(room);
    }

    void place_slots_on_card(uint64_t room) {
        uint64_t one_for_each_layer = 0;
        int most = 0;
        for (const MixtureLayer& layer : shape_.mixtures) {
            one_for_each_layer += shape_.classes[layer.expert_class].slot_bytes();
            most = std::max(most, layer.n_expert);
        }
        if (one_for_each_layer == 0) return;
        auto capacity = std::min<int64_t>(most, static_cast<int64_t>(room / one_for_each_layer));
        if (settings_.gpu_expert_capacity) capacity = std::min(capacity, *settings_.gpu_expert_capacity);
        for (const MixtureLayer& layer : shape_.mixtures)
            plan_.vram_slots[layer.expert_class] += std::min<int64_t>(capacity, layer.n_expert);
    }

    void place_fixed() {
        for (size_t i = 0; i < shape_.parts.size(); i++)
            if (!on_card_[i]) fixed_.parts += shape_.parts[i].bytes;
        fixed_.kv = kv_on_card_ ? 0 : kv_pages_;
        fixed_.state = kv_on_card_ ? 0 : state_;
        fixed_.scratch = shape_.scratch_fixed;
        fixed_.program = shape_.program_bytes;
        fixed_.requests = settings_.requests.bytes(plan_.ram_budget);
    }

    uint64_t scratch(int64_t tokens) const {
        return static_cast<uint64_t>(tokens) * shape_.scratch_per_token;
    }
    int64_t longest(int64_t tokens) const {
        const int64_t asked = settings_.chunk > 0 ? settings_.chunk : tokens;
        return std::max<int64_t>(1, std::min({asked, tokens, plan_.n_ctx}));
    }
    // Longer than that where it is asked for; but the pool of a window has room for a step of one length.
    int64_t most_of_step(int64_t most) const {
        return plan_.window > 0 ? k_chunk_resident : std::max(most, settings_.chunk);
    }
    int64_t least_chunk() const { return longest(k_chunk_least); }

    // Experts of a class that RAM or the drive must hold.
    int64_t off_card(size_t c) const {
        return std::max<int64_t>(0, shape_.classes[c].n_experts - plan_.vram_slots[c]);
    }
    // One layer's step needs so many slots of a class at once.
    int64_t least_slots(size_t c) const { return std::min<int64_t>(shape_.classes[c].top_k, off_card(c)); }

    void place_experts() {
        uint64_t all = 0, least = 0;
        for (size_t c = 0; c < shape_.classes.size(); c++) {
            all += static_cast<uint64_t>(off_card(c)) * shape_.classes[c].expert_bytes();
            least += static_cast<uint64_t>(least_slots(c)) * shape_.classes[c].slot_bytes();
        }
        const uint64_t step = scratch(least_chunk());
        const uint64_t base = fixed_.sum() - fixed_.requests + step;
        plan_.resident_ram = budget_for(base + all);
        const uint64_t guess = settings_.prefetch ? shape_.guess_bytes : 0;
        plan_.minimum_ram = budget_for(base + std::min(least + guess, all));
        plan_.fits = plan_.ram_budget >= plan_.minimum_ram;
        plan_.experts_resident = plan_.ram_budget >= plan_.resident_ram;
        if (!plan_.experts_resident) fixed_.guess = guess;
        place_copies();
        if (plan_.experts_resident) place_all(all);
        else if (plan_.fits) place_some(least);
        else place_least();
        for (size_t c = 0; c < shape_.classes.size(); c++)
            plan_.n_on_drive += std::max<int64_t>(0, off_card(c) - plan_.ram_slots[c]);
    }

    // The smallest budget that holds so much and what it gives to requests itself. What is left of a budget
    // beside its requests never falls as it grows, so every larger one does too.
    uint64_t budget_for(uint64_t bytes) const {
        uint64_t budget = bytes, needed = bytes + settings_.requests.bytes(bytes);
        while (needed > budget) {
            budget = needed;
            needed = bytes + settings_.requests.bytes(budget);
        }
        return budget;
    }

    // In bytes first, so that a larger budget never gives fewer slots; what is no whole copy stays free.
    void place_copies() {
        if (!plan_.fits || shape_.state_bytes == 0) return;
        const uint64_t needed = plan_.experts_resident ? plan_.resident_ram : plan_.minimum_ram;
        const auto wanted = static_cast<uint64_t>(k_kept_states * plan_.n_sequences) * shape_.state_bytes;
        fixed_.copies = std::min(
            {wanted, settings_.state_checkpoint_bytes, (plan_.ram_budget - needed) / k_copies_share});
        plan_.state_copies = static_cast<int64_t>(fixed_.copies / shape_.state_bytes);
    }

    void place_all(uint64_t all) {
        const uint64_t room = plan_.ram_budget - fixed_.sum() - all;
        plan_.chunk = affordable_chunk(room, k_chunk_least, most_of_step(k_chunk_resident));
        for (size_t c = 0; c < shape_.classes.size(); c++) plan_.ram_slots[c] = off_card(c);
    }

    // A longer step makes better use of a pass over the drive, and costs slots. It gets a fixed share of what
    // is left over, so that a larger budget never gives fewer slots.
    void place_some(uint64_t least) {
        const uint64_t left = plan_.ram_budget - fixed_.sum() - least - scratch(least_chunk());
        const uint64_t for_step = scratch(least_chunk()) + left / k_scratch_share;
        const int64_t most = most_of_step(k_chunk_most);
        plan_.chunk = affordable_chunk(for_step, k_chunk_least, most);
        share_slots(plan_.ram_budget - fixed_.sum() - std::min(for_step, scratch(longest(most))));
    }

    void place_least() {
        plan_.chunk = least_chunk();
        for (size_t c = 0; c < shape_.classes.size(); c++) plan_.ram_slots[c] = least_slots(c);
    }

    // The longest step between `least` and `most` whose rows fit the room.
    int64_t affordable_chunk(uint64_t room, int64_t least, int64_t most) const {
        const auto tokens = static_cast<int64_t>(
            std::min<uint64_t>(room / std::max<uint64_t>(1, shape_.scratch_per_token), 1 << 20));
        const int64_t rounded = tokens / k_chunk_least * k_chunk_least;
        return longest(std::clamp(rounded, std::min(least, most), most));
    }

    // Every class gets the same share of its experts, and at least what one step needs.
    void share_slots(uint64_t room) {
        uint64_t wanted = 0;
        for (size_t c = 0; c < shape_.classes.size(); c++) {
            plan_.ram_slots[c] = least_slots(c);
            room -= std::min(room, static_cast<uint64_t>(least_slots(c)) * shape_.classes[c].slot_bytes());
            wanted += static_cast<uint64_t>(off_card(c) - least_slots(c)) * shape_.classes[c].slot_bytes();
        }
        if (wanted == 0) return;
        const double share = std::min(1.0, static_cast<double>(room) / static_cast<double>(wanted));
        for (size_t c = 0; c < shape_.classes.size(); c++)
            plan_.ram_slots[c] +=
                static_cast<int64_t>(share * static_cast<double>(off_card(c) - least_slots(c)));
    }

    void check_context() {
        if (plan_.n_ctx > shape_.n_ctx_model) {
            refuse(fmt::format("a context of {} tokens is asked for, but the model was made for {}",
                               plan_.n_ctx, shape_.n_ctx_model));
        } else if (!plan_.fits) {
            const uint64_t missing = plan_.minimum_ram - plan_.ram_budget;
            const int digits =
                std::max(gib_digits(plan_.minimum_ram, plan_.ram_budget), gib_digits(missing, 0));
            refuse(fmt::format(
                "{:.{}f} GiB of RAM are needed at least, {:.{}f} GiB are allowed: {:.{}f} GiB are missing{}",
                gib_rounded_up(plan_.minimum_ram, digits), digits, gib(plan_.ram_budget), digits,
                gib_rounded_up(missing, digits), digits, counted_text()));
        }
    }

    // What a server's or a batch's need has that one answer's has not.
    std::string counted_text() const {
        std::string text;
        if (settings_.n_sequences > 1) text = fmt::format("{} sequences at once", settings_.n_sequences);
        if (const uint64_t requests = settings_.requests.bytes(plan_.minimum_ram); requests > 0)
            text += fmt::format("{}{} MiB for requests, server.requests_mib", text.empty() ? "" : " and ",
                                requests / k_mib);
        return text.empty() ? text : fmt::format(" (counted are {})", text);
    }

    void check_card() {
        if (!machine_.card || !settings_.vram_budget) return;
        const CardShape& card = *machine_.card;
        const uint64_t taken = card.used_by_others + card.context_bytes;
        const uint64_t room = card.total_bytes > taken ? card.total_bytes - taken : 0;
        if (*settings_.vram_budget > room)
            refuse(fmt::format(
                "memory.gpu_vram_budget of {:.2f} GiB is more than the {:.2f} GiB that the card of "
                "{:.2f} GiB has left; {:.2f} GiB would keep its margin",
                gib(*settings_.vram_budget), gib(room), gib(card.total_bytes), gib(auto_vram_budget(card))));
    }

    void check_offload() {
        if (settings_.cpu_offload) return;
        int64_t outside = 0;
        for (size_t c = 0; c < shape_.classes.size(); c++) outside += off_card(c);
        if (outside == 0) return;
        if (machine_.card)
            refuse(fmt::format("memory.cpu_offload is false, and {} of {} experts find no place on the card",
                               outside, shape_.n_experts()));
        else refuse("memory.cpu_offload is false, and no card is used that could hold the experts");
    }

    void refuse(std::string sentence) {
        plan_.fits = false;
        if (!plan_.shortage.empty()) plan_.shortage += "; ";
        plan_.shortage += sentence;
    }

    void list_items() {
        for (size_t i = 0; i < shape_.parts.size(); i++)
            ledger_.add(shape_.parts[i].name, on_card_[i] ? Tier::vram : Tier::ram, shape_.parts[i].bytes);
        list_experts();
        ledger_.add("routers for guesses", Tier::ram, fixed_.guess);
        const Tier sequences = kv_on_card_ ? Tier::vram : Tier::ram;
        ledger_.add("KV cache", sequences, kv_pages_);
        ledger_.add("recurrent state", sequences, state_);
        ledger_.add("checkpoints of it", Tier::ram,
                    static_cast<uint64_t>(plan_.state_copies) * shape_.state_bytes);
        ledger_.add("activations and scratch", Tier::ram, fixed_.scratch + scratch(plan_.chunk));
        ledger_.add("program and tokenizer", Tier::ram, fixed_.program);
        ledger_.add("requests", Tier::ram, fixed_.requests);
        if (!machine_.card) return;
        ledger_.add("activations on the card", Tier::vram, card_scratch_);
        ledger_.add(std::string(k_context_item), Tier::vram, machine_.card->context_bytes);
    }

    void list_experts() {
        uint64_t vram = 0, ram = 0, drive = 0;
        for (size_t c = 0; c < shape_.classes.size(); c++) {
            const ExpertClass& kind = shape_.classes[c];
            vram += static_cast<uint64_t>(plan_.vram_slots[c]) * kind.slot_bytes();
            const uint64_t in_ram = plan_.experts_resident ? kind.expert_bytes() : kind.slot_bytes();
            ram += static_cast<uint64_t>(plan_.ram_slots[c]) * in_ram;
            drive += static_cast<uint64_t>(std::max<int64_t>(0, off_card(c) - plan_.ram_slots[c])) *
                     kind.expert_bytes();
        }
        ledger_.add("experts in VRAM slots", Tier::vram, vram);
        ledger_.add(plan_.experts_resident ? "experts" : "experts in RAM slots", Tier::ram, ram);
        ledger_.add("experts on the drive", Tier::drive, drive);
    }

    const Machine& machine_;
    const ModelShape& shape_;
    const PlanSettings& settings_;
    Plan plan_;
    Ledger ledger_;
    Fixed fixed_;
    uint64_t kv_pages_ = 0, state_ = 0, card_scratch_ = 0;
    bool kv_on_card_ = false;
    std::vector<bool> on_card_;
};

}  // namespace

uint64_t auto_ram_budget(const Machine& machine) {
    return std::min(machine.ram_total / 10 * 7, machine.ram_available);
}

const char* tier_name(Tier tier) {
    switch (tier) {
        case Tier::vram:
            return "vram";
        case Tier::ram:
            return "ram";
        case Tier::drive:
            return "drive";
    }
    return "";
}

int64_t Plan::n_ram_slots() const { return std::accumulate(ram_slots.begin(), ram_slots.end(), int64_t{0}); }
int64_t Plan::n_vram_slots() const {
    return std::accumulate(vram_slots.begin(), vram_slots.end(), int64_t{0});
}

Plan plan(const Machine& machine, const ModelShape& shape, const PlanSettings& settings) {
    return Planner(machine, shape, settings).run();
}

Status check_first_tokens(const PlanSettings& settings, int64_t n_ctx) {
    if (!settings.endless || settings.sinks < n_ctx) return {};
    return Error{Code::invalid,
                 fmt::format("kv_cache.sink_tokens is {}, which fills the context of {} tokens, so that "
                             "kv_cache.auto_evict could forget none",
                             settings.sinks, n_ctx),
                 fmt::format("Choose sink_tokens of {} or less.", n_ctx - 1)};
}

}  // namespace ft
