#include "cli/plan_report.h"

#include <algorithm>
#include <cmath>

#include "base/size_text.h"

namespace ft::cli {

namespace {

using Json = nlohmann::ordered_json;

// Rounded so that three digits stay: 0.123, 4.56, 78.9, 123.
std::string number_text(double value) {
    return fmt::format("{:.{}f}", value, value < 1 ? 3 : value < 10 ? 2 : value < 100 ? 1 : 0);
}

std::string time_text(double ms) {
    return ms < 1000 ? fmt::format("{:.0f} ms", ms) : fmt::format("{} s", number_text(ms / 1e3));
}

Json prediction_json(const std::optional<Prediction>& p) {
    if (!p) return nullptr;
    return {{"decode_per_second", p->decode_per_second},
            {"prefill_per_second", p->prefill_per_second},
            {"ttft_ms", p->ttft_ms},
            {"hit_rate", p->hit_rate},
            {"drive_bytes_per_token", static_cast<uint64_t>(p->drive_bytes_per_token)}};
}

Json planned_experts_json(const PlanReport& r) {
    return {{"bytes", r.shape.expert_bytes()},       {"count", r.shape.n_experts()},
            {"vram_slots", r.plan.n_vram_slots()},   {"ram_slots", r.plan.n_ram_slots()},
            {"on_drive", r.plan.n_on_drive},         {"demand_slots", r.shape.demand_slots()},
            {"demand_bytes", r.shape.demand_bytes()}};
}

Json contexts_json(const PlanReport& r) {
    Json rows = Json::array();
    for (const ContextRow& row : r.contexts)
        rows.push_back(
            {{"context", row.plan.n_ctx},
             {"fits", row.plan.fits},
             {"kv_bytes", row.plan.kv_bytes},
             {"ram_slots", row.plan.n_ram_slots()},
             {"decode_per_second", row.predicted ? Json(row.predicted->decode_per_second) : Json()}});
    return rows;
}

std::string head_text(const PlanReport& r) {
    const ModelShape& s = r.shape;
    std::string text =
        fmt::format("{}: {}, {} layers", printable(s.name), size_text(r.file_bytes), s.n_layer);
    if (s.classes.empty()) return text + ", no experts\n";
    uint64_t least = UINT64_MAX, most = 0;
    for (const ExpertClass& c : s.classes) {
        least = std::min(least, c.expert_bytes());
        most = std::max(most, c.expert_bytes());
    }
    const std::string sizes = least == most ? size_text(least) : size_text(least) + " to " + size_text(most);
    return text + fmt::format(", {} experts of {}\nOne token asks for {} of them: {}\n", s.n_experts(), sizes,
                              s.demand_slots(), size_text(s.demand_bytes()));
}

constexpr int k_plan_name_width = 37;  // "experts in RAM slots (10240 of 10240)"

std::string row_text(std::string_view name, const TierBytes& bytes, bool has_card) {
    const auto cell = [](uint64_t n) { return n == 0 ? std::string() : size_text(n); };
    std::string line = fmt::format("  {:<{}}{:>11}", name, k_plan_name_width, cell(bytes.ram));
    if (has_card) line += fmt::format("{:>12}", cell(bytes.vram));
    line += fmt::format("{:>12}", cell(bytes.drive));
    line.erase(line.find_last_not_of(' ') + 1);
    return line + "\n";
}

std::string least_row_text(std::string_view name, uint64_t ram) {
    return fmt::format("  {:<{}}{:>11}\n", name, k_plan_name_width, size_text_up(ram));
}

std::string item_name(const PlanReport& r, const PlanItem& item) {
    if (item.name == "experts in RAM slots")
        return fmt::format("{} ({} of {})", item.name, r.plan.n_ram_slots(), r.shape.n_experts());
    if (item.name == "KV cache") return fmt::format("{} ({} tokens)", item.name, r.plan.pool_tokens);
    return item.name;
}

// What a plan's experts lie in that are found at once.
const char* fast_place(const PlanReport& r) {
    return r.plan.n_vram_slots() > 0 ? "RAM or on the card" : "RAM";
}

// The driver's own memory on a card stands outside the budget, so it is shown below it and not in the total.
uint64_t context_bytes(const PlanReport& r) { return r.machine.card ? r.machine.card->context_bytes : 0; }

std::string items_text(const PlanReport& r) {
    const bool card = r.machine.card.has_value();
    std::string text =
        fmt::format("  {:<{}}{:>11}{}{:>12}\n", "", k_plan_name_width, "RAM",
                    card ? fmt::format("{:>12}", "card") : "", r.plan.total.drive > 0 ? "drive" : "");
    text.replace(0, text.size(), text.substr(0, text.find_last_not_of(" \n") + 1) + "\n");
    for (const PlanItem& item : r.plan.items) {
        if (item.name == k_context_item) continue;
        TierBytes bytes;
        (item.tier == Tier::ram    ? bytes.ram
         : item.tier == Tier::vram ? bytes.vram
                                   : bytes.drive) = item.bytes;
        text += row_text(item_name(r, item), bytes, card);
    }
    const TierBytes& total = r.plan.total;
    text += row_text("total", {total.vram - context_bytes(r), total.ram, total.drive}, card);
    text += row_text("budget", {r.plan.vram_budget, r.plan.ram_budget, 0}, card);
    if (card) text += row_text("GPU context, beside the budget", {context_bytes(r), 0, 0}, card);
    if (!r.some_budget_works) return text;
    text += least_row_text("smallest budget that works", r.plan.minimum_ram);
    if (!r.shape.classes.empty() && !r.plan.experts_resident)
        text += least_row_text(card ? "with no expert on the drive" : "with every expert in RAM",
                               r.plan.resident_ram);
    return text;
}

// The hit rate is that of routers which prefer some experts; one that does not finds what chance gives.
std::string hits_text(const PlanReport& r, const Prediction& p) {
    if (p.drive_bytes_per_token <= 0) return "";
    const double by_chance = static_cast<double>(r.plan.n_ram_slots() + r.plan.n_vram_slots()) /
                             static_cast<double>(std::max<int64_t>(1, r.shape.n_experts()));
    return fmt::format(
        "Of the experts that a token asks for {:.0f} % are expected in {}; the rest is {} from the drive.\n"
        "That supposes a model whose choices are as uneven as those of published mixtures, and a cache that "
        "has\nlearned them: even choices, and the first tokens, find {:.0f} %.\n",
        100 * p.hit_rate, fast_place(r), size_text(static_cast<uint64_t>(p.drive_bytes_per_token)),
        100 * std::min(1.0, by_chance));
}

const char* limit_text(Limit limit) {
    switch (limit) {
        case Limit::ram:
            return "the bandwidth of RAM";
        case Limit::drive:
            return "the drive";
        case Limit::cpu:
            return "the processor";
        case Limit::gpu:
            return "the card";
        case Limit::pcie:
            return "the link to the card";
    }
    return "";
}

// What is said of prompts for a card is the least of it (cli/planned_card.h).
std::string prediction_text(const PlanReport& r, const Prediction& p) {
    const int64_t prompt = std::min<int64_t>(k_predicted_prompt, std::max<int64_t>(1, r.plan.n_ctx - 1));
    const bool card = r.machine.card.has_value();
    return fmt::format(
        "Predicted: {} tok/s{}; prompts {}{} tok/s, so the answer to a prompt of {} tokens begins {} {}.\n",
        number_text(p.decode_per_second), r.plan.n_sequences > 1 ? " for one answer alone" : "",
        card ? "at least " : "", number_text(p.prefill_per_second), prompt, card ? "within" : "after",
        time_text(p.ttft_ms));
}

std::string verdict_text(const PlanReport& r) {
    if (!r.plan.fits) return "It does not fit: " + r.plan.shortage + ".\n";
    std::string text = r.plan.experts_resident
                           ? fmt::format("It fits, with every expert in {}.\n", fast_place(r))
                           : "It fits, with experts read from the drive as they are needed.\n";
    if (!r.predicted) return text;
    return text + prediction_text(r, *r.predicted) + hits_text(r, *r.predicted) +
           fmt::format("The limit is {}.\n", limit_text(r.predicted->limit));
}

std::string contexts_text(const PlanReport& r) {
    if (r.contexts.empty()) return "";
    std::string text =
        fmt::format("\n  {:>8}{:>12}{:>15}{:>10}\n", "context", "KV cache", "expert slots", "tok/s");
    for (const ContextRow& row : r.contexts)
        text += fmt::format(
            "  {:>8}{:>12}{:>15}{:>10}\n", row.plan.n_ctx, size_text(row.plan.kv_bytes),
            row.plan.fits ? fmt::format("{}", row.plan.n_ram_slots() + row.plan.n_vram_slots()) : "-",
            !row.plan.fits && row.plan.ram_budget < row.plan.minimum_ram ? "no room"
            : row.predicted ? number_text(row.predicted->decode_per_second)
                            : "-");
    return text;
}

}  // namespace

nlohmann::ordered_json plan_json(const PlanReport& r) {
    Json items = Json::array();
    for (const PlanItem& item : r.plan.items)
        items.push_back({{"name", item.name}, {"tier", tier_name(item.tier)}, {"bytes", item.bytes}});
    const TierBytes& total = r.plan.total;
    return {{"model", printable(r.shape.name)},
            {"fits", r.plan.fits},
            {"context", r.plan.n_ctx},
            {"sequences", r.plan.n_sequences},
            {"items", items},
            {"total", {{"vram", total.vram}, {"ram", total.ram}, {"drive", total.drive}}},
            {"budget", {{"ram", r.plan.ram_budget}, {"vram", r.plan.vram_budget}}},
            {"minimum", {{"ram", r.some_budget_works ? Json(r.plan.minimum_ram) : Json()}}},
            {"resident", {{"ram", r.some_budget_works ? Json(r.plan.resident_ram) : Json()}}},
            {"kv_cache", {{"bytes", r.plan.kv_bytes}}},
            {"step_tokens", r.plan.chunk},
            {"experts", planned_experts_json(r)},
            {"predicted", prediction_json(r.predicted)},
            {"limit", r.predicted ? Json(limit_name(r.predicted->limit)) : Json()},
            {"short", r.plan.shortage.empty() ? Json() : Json(r.plan.shortage)},
            {"advice", r.advice},
            {"notes", r.notes},
            {"contexts", contexts_json(r)}};
}

std::string plan_text(const PlanReport& r) {
    std::string text = head_text(r) + "\n" + items_text(r) + "\n" + verdict_text(r) + contexts_text(r);
    for (const auto* lines : {&r.notes, &r.advice}) {
        if (!lines->empty()) text += lines == &r.notes ? "\nNote\n" : "\nAdvice\n";
        for (const std::string& line : *lines) text += "  " + line + "\n";
    }
    return text;
}

}  // namespace ft::cli
