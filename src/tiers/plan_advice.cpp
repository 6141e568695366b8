#include <algorithm>

#include "base/bytes.h"
#include "base/gib_digits.h"
#include "base/size_text.h"
#include "tiers/plan.h"
#include "tiers/plan_predict.h"

namespace ft {

namespace {

// The longest context of whole pages with which the model fits; 0 where none does.
int64_t longest_context(const Machine& machine, const ModelShape& shape, PlanSettings settings) {
    const int64_t page = shape.kv_page_tokens;
    int64_t fits = 0, too_long = ceil_div(shape.n_ctx_model, page) + 1;
    const auto works = [&](int64_t pages) {
        settings.n_ctx = std::min(pages * page, shape.n_ctx_model);
        return plan(machine, shape, settings).fits;
    };
    while (too_long - fits > 1) {
        const int64_t middle = (fits + too_long) / 2;
        (works(middle) ? fits : too_long) = middle;
    }
    return std::min(fits * page, shape.n_ctx_model);
}

// The smallest budget for one sequence at a time.
uint64_t minimum_alone(const Machine& machine, const ModelShape& shape, PlanSettings settings) {
    settings.n_sequences = 1;
    return plan(machine, shape, settings).minimum_ram;
}

// Digits with which the smallest budget and that of one sequence at a time, both rounded up, read
// differently.
int digits_of_budgets(uint64_t least, uint64_t alone) {
    int digits = 2;
    while (digits < k_most_gib_digits && alone != least &&
           gib_rounded_up(alone, digits) >= gib_rounded_up(least, digits))
        digits++;
    return digits;
}

// No card holds the experts, and RAM may not: more of it would change nothing.
bool bars_experts(const PlanSettings& settings, const Plan& plan) {
    return !settings.cpu_offload && plan.n_ram_slots() + plan.n_on_drive > 0;
}

constexpr std::string_view k_allow_offload =
    "Set memory.cpu_offload to true, so that experts may lie in RAM.";

void advise_on_shortage(const Machine& machine, const ModelShape& shape, const PlanSettings& settings,
                        const Plan& p, std::vector<std::string>& advice) {
    const uint64_t spare = machine.ram_available;
    if (p.ram_budget < p.minimum_ram && p.minimum_ram <= spare && p.n_ctx <= shape.n_ctx_model)
        advice.push_back(
            fmt::format("Allow {:.2f} GiB of RAM with --ram or memory.ram_budget; {} are available.",
                        gib_rounded_up(p.minimum_ram), size_text(spare)));
    if (machine.card && settings.gpu_expert_capacity.value_or(0) > 0)
        advice.push_back("Lower memory.gpu_expert_capacity, or leave it out.");
    if (p.ram_budget < p.minimum_ram && shape.kv_int8_bytes_per_token > 0) {
        const auto tokens = static_cast<uint64_t>(p.pool_tokens);
        advice.push_back(fmt::format(
            "Store keys and values as int8: with --set kv_cache.quant=int8 they take {} in place of {}.",
            size_text(tokens * shape.kv_int8_bytes_per_token), size_text(p.kv_bytes)));
    }
    if (const uint64_t alone = minimum_alone(machine, shape, settings);
        p.ram_budget < p.minimum_ram && alone < p.minimum_ram) {
        const int digits = digits_of_budgets(p.minimum_ram, alone);
        advice.push_back(
            fmt::format("Run fewer sequences at once: {} are asked for; --parallel 1 needs {:.{}f} GiB.",
                        settings.n_sequences, gib_rounded_up(alone, digits), digits));
    }
    if (p.ram_budget < p.minimum_ram || p.n_ctx > shape.n_ctx_model) {
        const int64_t n = longest_context(machine, shape, settings);
        if (n > 0 && n < p.n_ctx)
            advice.push_back(fmt::format("Choose a context of {} tokens: --ctx {}.", n, n));
    }
    if (bars_experts(settings, p)) advice.emplace_back(k_allow_offload);
    if (p.ram_budget < p.minimum_ram) {
        if (p.minimum_ram > spare && spare > 0)
            advice.push_back(
                fmt::format("Close other programs: {} of RAM are available now.", size_text(spare)));
        advice.push_back("If all that is not enough, choose a smaller quantisation last: it costs quality.");
    }
}

// What would help most of what money or a setting can change, by the prediction.
void advise_on_speed(const Machine& machine, const ModelShape& shape, const PlanSettings& settings,
                     const Plan& p, const MachineProfile& profile, std::vector<std::string>& advice) {
    const double now = predict(machine, shape, p, profile).decode_per_second;
    struct Change {
        double rate;
        std::string text;
    };
    std::vector<Change> changes;
    const auto faster = [&](double rate, std::string text) {
        if (rate > 1.1 * now) changes.push_back({rate, std::move(text)});
    };
    PlanSettings more = settings;
    if (!p.experts_resident) {
        more.ram_budget = p.resident_ram;
        const double rate = predict(machine, shape, plan(machine, shape, more), profile).decode_per_second;
        faster(rate, fmt::format("With {} of RAM no expert is read from the drive: about {:.1f} tok/s.",
                                 size_text_up(p.resident_ram), rate));
        more.ram_budget = p.ram_budget + p.ram_budget / 4;
        const double some = predict(machine, shape, plan(machine, shape, more), profile).decode_per_second;
        if (*more.ram_budget < p.resident_ram)
            faster(some, fmt::format("With {} of RAM (a quarter more): about {:.1f} tok/s.",
                                     size_text_up(*more.ram_budget), some));
        if (shape.kv_int8_bytes_per_token > 0) {
            ModelShape smaller = shape;
            smaller.kv_bytes_per_token = shape.kv_int8_bytes_per_token;
            const double int8 =
                predict(machine, smaller, plan(machine, smaller, settings), profile).decode_per_second;
            faster(int8, fmt::format("With keys and values as int8 (kv_cache.quant) there is room for more "
                                     "experts: about {:.1f} tok/s.",
                                     int8));
        }
        MachineProfile drive = profile;
        for (DriveRate& rate_of : drive.drive.rates) rate_of.gb_per_second *= 2;
        drive.drive.latency_us /= 2;
        const double twice = predict(machine, shape, p, drive).decode_per_second;
        faster(twice, fmt::format("With a drive twice as fast: about {:.1f} tok/s.", twice));
    }
    std::sort(changes.begin(), changes.end(),
              [](const Change& a, const Change& b) { return a.rate > b.rate; });
    for (const Change& change : changes) advice.push_back(change.text);
}

}  // namespace

std::vector<std::string> plan_advice(const Machine& machine, const ModelShape& shape,
                                     const PlanSettings& settings, const Plan& plan,
                                     const MachineProfile* profile) {
    std::vector<std::string> advice;
    if (!plan.fits) advise_on_shortage(machine, shape, settings, plan, advice);
    else if (profile != nullptr) advise_on_speed(machine, shape, settings, plan, *profile, advice);
    if (plan.fits && !plan.experts_resident &&
        plan.n_ram_slots() + plan.n_vram_slots() < shape.demand_slots())
        advice.push_back(
            fmt::format("The slots hold less than the {} experts ({}) that one token asks for: "
                        "keep memory.expert_policy away from lru, which finds next to nothing then.",
                        shape.demand_slots(), size_text(shape.demand_bytes())));
    return advice;
}

std::string shortage_remedy(const Machine& machine, const ModelShape& shape, const PlanSettings& settings,
                            const Plan& plan) {
    std::string text;
    if (bars_experts(settings, plan)) text = k_allow_offload;
    if (plan.ram_budget >= plan.minimum_ram) return text;
    if (!text.empty()) text += " ";
    const uint64_t alone = minimum_alone(machine, shape, settings);
    const int digits = digits_of_budgets(plan.minimum_ram, alone);
    const std::string fewer =
        alone < plan.minimum_ram
            ? fmt::format("Answer one at a time with --parallel 1, which needs {:.{}f} GiB, or raise",
                          gib_rounded_up(alone, digits), digits)
            : "Raise";
    return text + fmt::format(
                      "{} memory.ram_budget (--ram) to {:.{}f} GiB or more, choose a shorter context with "
                      "--ctx, or take a smaller model or quantisation.",
                      fewer, gib_rounded_up(plan.minimum_ram, digits), digits);
}

}  // namespace ft
