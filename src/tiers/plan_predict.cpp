#include "tiers/plan_predict.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace ft {

namespace {

constexpr double k_gb = 1e9;
constexpr double k_barrier_seconds = 20e-6;  // a layer's work is handed out and gathered several times
constexpr double k_drive_share = 0.9;  // of the measured rate, while reads of a layer start and end together
// Of the rate of large products alone, what a whole token reaches: norms, routing, attention and the
// recurrence read little and take time.
constexpr double k_token_share = 0.88;

// Of the shorter of reading and computing, what the longer cannot hide: in a long step, and for one token.
// There the next layer's experts are guessed while this one computes, but wrong guesses are read too, and
// starting and ending reads takes the processors' time.
constexpr double k_overlap_loss = 0.1, k_decode_overlap_loss = 0.3;

// Exponent of the rank with which the use of experts falls, as if each token chose for itself: what the
// unions of 8 to 149 neighbouring tokens in recorded routes of published mixtures come to, where one topic
// goes on.
constexpr double k_use_falls = 1.2;

struct Point {
    double share, hits;
};
constexpr std::array<Point, 12> k_hits = {{{0, 0},
                                           {0.0234, 0.22},
                                           {0.047, 0.36},
                                           {0.094, 0.53},
                                           {0.14, 0.63},
                                           {0.19, 0.71},
                                           {0.28, 0.82},
                                           {0.32, 0.86},
                                           {0.375, 0.89},
                                           {0.5, 0.94},
                                           {0.75, 0.985},
                                           {1, 1}}};

// With 128 experts and more.
double hit_rate_of_many(double share) {
    if (share <= 0) return 0;
    for (size_t i = 1; i < k_hits.size(); i++) {
        const Point &a = k_hits[i - 1], &b = k_hits[i];
        if (share <= b.share) return a.hits + (b.hits - a.hits) * (share - a.share) / (b.share - a.share);
    }
    return 1;
}

// How much of that holds for n experts: nothing at 8, all at 128. The exponent is that of the bundled model,
// whose slots for a sixth, a quarter, a third and two thirds of 24 experts find 28, 38, 48 and 79 %.
double unevenness(int n_expert) {
    const double doublings = std::log2(std::max(n_expert, 8) / 8.0) / std::log2(128 / 8.0);
    return std::pow(std::min(doublings, 1.0), 1.6);
}

// Of all experts, what is read of each class and layer, for one generated token.
struct Traffic {
    double experts = 0;        // bytes that a token asks for
    double on_card = 0;        // of them, that VRAM slots hold
    double from_drive = 0;     // of them, that slots nowhere hold
    double drive_seconds = 0;  // in which they come
};

struct Rates {
    double cpu = 0;   // bytes of weights a second, one token
    double card = 0;  // the same on the card; 0: none
    double flops = 0;
};

Rates rates_of(const Machine& machine, const MachineProfile& profile) {
    Rates rates;
    const double ram = std::max(0.1, profile.ram_read_gb_per_second);
    rates.cpu = k_gb * (profile.cpu_read_gb_per_second > 0 ? profile.cpu_read_gb_per_second : ram);
    // without a measurement: a core does 40 GFLOP/s in 8-bit products
    const double gflops = profile.cpu_gflops > 0 ? profile.cpu_gflops : 40.0 * profile.physical_cores;
    rates.flops = k_gb * gflops;
    if (machine.card) rates.card = k_gb * machine.card->read_gb_per_second;
    return rates;
}

double part_of(int64_t slots, int64_t n) {
    return n > 0 ? std::clamp(static_cast<double>(slots) / static_cast<double>(n), 0.0, 1.0) : 1.0;
}

// Seconds to read `bytes` in slices, `n_reads` at a time.
double read_seconds(const DriveProfile& drive, double bytes, double slice_bytes, double n_reads) {
    if (bytes <= 0) return 0;
    const double rate = drive.gb_per_second(static_cast<uint64_t>(slice_bytes), std::max(1.0, n_reads)) *
                        k_gb * k_drive_share;
    return rate > 0 ? bytes / rate : 0;
}

Traffic decode_traffic(const ModelShape& shape, const Plan& plan, const MachineProfile& profile) {
    Traffic t;
    for (const MixtureLayer& layer : shape.mixtures) {
        const auto c = static_cast<size_t>(layer.expert_class);
        const ExpertClass& kind = shape.classes[c];
        const double on_card = part_of(plan.vram_slots[c], kind.n_experts);
        const double cached =
            plan.experts_resident ? 1.0 : part_of(plan.vram_slots[c] + plan.ram_slots[c], kind.n_experts);
        const double hits = expected_hit_rate(cached, layer.n_expert), k = layer.top_k;
        const auto expert = static_cast<double>(kind.expert_bytes());
        const double missing = k * (1 - hits) * expert;
        t.experts += k * expert;
        t.on_card += k * expected_hit_rate(on_card, layer.n_expert) * expert;
        t.from_drive += missing;
        if (missing <= 0) continue;
        const auto slices = static_cast<double>(std::max<size_t>(1, kind.slices.size()));
        const double some = 1 - std::pow(hits, k);  // a layer in which anything misses waits at least once
        const double reads = std::max(1.0, k * (1 - hits) / some) * slices;
        t.drive_seconds += some * profile.drive.latency_us * 1e-6 +
                           read_seconds(profile.drive, missing, expert / slices, reads);
    }
    return t;
}

struct DecodeTime {
    double cpu = 0, card = 0, drive = 0;
    double total() const {
        const double compute = cpu + card;
        return std::max(compute, drive) + k_decode_overlap_loss * std::min(compute, drive);
    }
};

DecodeTime decode_time(const ModelShape& shape, const Plan& plan, const Traffic& traffic,
                       const Rates& rates) {
    DecodeTime time;
    double on_cpu = 0, on_card = 0;
    for (const StaticPart& part : shape.parts) {
        const bool card = std::any_of(plan.items.begin(), plan.items.end(), [&](const PlanItem& item) {
            return item.tier == Tier::vram && item.name == part.name;
        });
        (card ? on_card : on_cpu) += static_cast<double>(part.read_per_token);
    }
    on_cpu += traffic.experts - traffic.on_card;
    on_card += traffic.on_card;
    time.cpu = on_cpu / (k_token_share * rates.cpu) + shape.n_layer * k_barrier_seconds;
    time.card = rates.card > 0 ? on_card / rates.card + shape.n_layer * k_barrier_seconds : 0;
    time.drive = traffic.drive_seconds;
    return time;
}

// Seconds in which a step of n tokens reads the experts that they ask for and no slot holds: as many reads in
// flight as the drive can use. Full slots stay as they are in such a step, and hold what they happen to hold.
double chunk_read_seconds(const ModelShape& shape, const Plan& plan, const MachineProfile& profile,
                          int64_t n) {
    double bytes = 0, wanted = 0;
    const MixtureLayer* same = nullptr;
    for (const MixtureLayer& layer : shape.mixtures) {
        const auto c = static_cast<size_t>(layer.expert_class);
        const ExpertClass& kind = shape.classes[c];
        if (same == nullptr || same->n_expert != layer.n_expert || same->top_k != layer.top_k)
            wanted = expected_union(layer.n_expert, layer.top_k, n);
        same = &layer;
        const double cached = part_of(plan.vram_slots[c] + plan.ram_slots[c], kind.n_experts);
        bytes += wanted * (1 - cached) * layer.n_expert * static_cast<double>(kind.expert_bytes());
    }
    const double rate = profile.drive.streaming_gb_per_second() * k_gb;
    return rate > 0 ? bytes / rate : 0;
}

// Reading the next experts and computing with the last go side by side.
double prefill_seconds(const ModelShape& shape, const Plan& plan, const MachineProfile& profile,
                       const Rates& rates, int64_t n_token) {
    double seconds = 0;
    for (int64_t left = n_token; left > 0; left -= plan.chunk) {
        const int64_t n = std::min(left, plan.chunk);
        const double read = plan.experts_resident ? 0.0 : chunk_read_seconds(shape, plan, profile, n);
        const double compute = 2 * shape.active_parameters * static_cast<double>(n) / rates.flops;
        seconds += std::max(compute, read) + k_overlap_loss * std::min(compute, read);
    }
    return seconds;
}

Limit limit_of(const DecodeTime& time, const MachineProfile& profile) {
    if (time.drive >= time.cpu && time.drive >= time.card && time.drive > 0) return Limit::drive;
    if (time.card > time.cpu) return Limit::gpu;
    const bool slower_than_ram = profile.cpu_read_gb_per_second > 0 &&
                                 profile.cpu_read_gb_per_second < 0.8 * profile.ram_read_gb_per_second;
    return slower_than_ram ? Limit::cpu : Limit::ram;
}

}  // namespace

const char* limit_name(Limit limit) {
    switch (limit) {
        case Limit::ram:
            return "ram";
        case Limit::drive:
            return "drive";
        case Limit::cpu:
            return "cpu";
        case Limit::gpu:
            return "gpu";
        case Limit::pcie:
            return "pcie";
    }
    return "";
}

double expected_hit_rate(double share, int n_expert) {
    const double uneven = unevenness(n_expert);
    return uneven * hit_rate_of_many(share) + (1 - uneven) * std::clamp(share, 0.0, 1.0);
}

double expected_union(int n_expert, int top_k, int64_t n_token) {
    if (n_expert <= 0) return 0;
    double weights = 0;
    for (int rank = 1; rank <= n_expert; rank++) weights += std::pow(rank, -k_use_falls);
    double sum = 0;
    for (int rank = 1; rank <= n_expert; rank++) {
        const double p = std::min(1.0, top_k * std::pow(rank, -k_use_falls) / weights);
        sum += 1 - std::pow(1 - p, static_cast<double>(n_token));
    }
    return sum / n_expert;
}

Prediction predict(const Machine& machine, const ModelShape& shape, const Plan& plan,
                   const MachineProfile& profile) {
    const Rates rates = rates_of(machine, profile);
    const Traffic traffic = decode_traffic(shape, plan, profile);
    const DecodeTime time = decode_time(shape, plan, traffic, rates);
    Prediction p;
    p.decode_per_second = 1 / std::max(1e-9, time.total());
    const int64_t prompt = std::clamp<int64_t>(plan.n_ctx - 1, 1, k_predicted_prompt);
    const double seconds = prefill_seconds(shape, plan, profile, rates, prompt);
    p.prefill_per_second = static_cast<double>(prompt) / std::max(1e-9, seconds);
    p.ttft_ms = seconds * 1e3;
    p.hit_rate = traffic.experts > 0 ? 1 - traffic.from_drive / traffic.experts : 1;
    p.drive_bytes_per_token = traffic.from_drive;
    p.limit = limit_of(time, profile);
    return p;
}

}  // namespace ft
