// A simulation as tables for people and as JSON.
#include <nlohmann/json.hpp>

#include "base/size_text.h"
#include "cli/json_text.h"
#include "cli/simulation.h"

namespace ft::cli {

namespace {

std::string demand_text(double demands) {
    std::string text = fmt::format("{:.2f}", demands);
    while (text.back() == '0') text.pop_back();
    if (text.back() == '.') text.pop_back();
    return text;
}

void add_table(std::string& text, const Simulation& s, std::string_view title,
               double (ReplayCounts::*rate)() const) {
    text += fmt::format("{}\n{:>8}{:>10}{:>11}", title, "slots", "x demand", s.demand_bytes ? "size" : "");
    for (const Simulation::Line& line : s.lines) text += fmt::format("{:>11}", line.policy.name);
    text += '\n';
    for (size_t i = 0; i < s.sizes.size(); ++i) {
        const Simulation::Size& size = s.sizes[i];
        text += fmt::format("{:>8}{:>10}{:>11}", size.slots, demand_text(size.demands),
                            size.bytes > 0 ? size_text(size.bytes) : "");
        for (const Simulation::Line& line : s.lines)
            text += fmt::format("{:>11.1f}", 100 * (line.counts[i].*rate)());
        text += '\n';
    }
}

}  // namespace

std::string simulation_table(const Simulation& s) {
    std::string text = fmt::format(
        "{}: {} layers of {} experts, {} for a token\n"
        "one token asks for {} experts{}; {} tokens of the prompt fill the cache, {} of the answer are "
        "counted\n\n",
        printable(s.model), s.n_layers, s.n_experts, s.top_k, s.demand_slots,
        s.demand_bytes ? ", " + size_text(s.demand_bytes) : "", s.n_prompt, s.n_tokens - s.n_prompt);
    add_table(text, s, "hits, % of uses", &ReplayCounts::hit_rate);
    add_table(text, s, "\nexperts put into the cache, % of uses", &ReplayCounts::insertion_rate);
    text += '\n';
    for (const Simulation::Line& line : s.lines)
        text += fmt::format("{:>10}  {}{}\n", line.policy.name, line.policy.summary,
                            line.policy.name == k_default_policy ? " (the default)" : "");
    if (const int64_t n = s.n_tokens - s.n_prompt; n < k_few_trace_tokens)
        text += fmt::format(
            "\nSo short an answer ({} token{}) says little: a large cache is still being filled by then, so "
            "its hits are\nless than in a long one. `freetoken trace` records more with --max-tokens N "
            "--ignore-eos.\n",
            n, n == 1 ? "" : "s");
    return text;
}

std::string simulation_json(const Simulation& s) {
    nlohmann::ordered_json policies;
    for (const Simulation::Line& line : s.lines) {
        nlohmann::ordered_json rows = nlohmann::ordered_json::array();
        for (size_t i = 0; i < s.sizes.size(); ++i)
            rows.push_back({{"slots", s.sizes[i].slots},
                            {"bytes", s.sizes[i].bytes},
                            {"demands", s.sizes[i].demands},
                            {"hit_rate", line.counts[i].hit_rate()},
                            {"insertion_rate", line.counts[i].insertion_rate()},
                            {"missed_bytes", line.counts[i].missed_bytes}});
        policies[std::string(line.policy.name)] = std::move(rows);
    }
    const nlohmann::ordered_json out = {{"model", s.model},
                                        {"layers", s.n_layers},
                                        {"experts", s.n_experts},
                                        {"top_k", s.top_k},
                                        {"tokens", s.n_tokens},
                                        {"prompt_tokens", s.n_prompt},
                                        {"demand", {{"slots", s.demand_slots}, {"bytes", s.demand_bytes}}},
                                        {"default", k_default_policy},
                                        {"policies", std::move(policies)}};
    return json_text(out);
}

}  // namespace ft::cli
