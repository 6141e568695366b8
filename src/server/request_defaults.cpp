#include "server/request_defaults.h"

#include <charconv>
#include <cmath>
#include <random>

#include "text/tokens_with.h"

namespace ft {

namespace {

// "15043+1.5", "15043-inf"
std::optional<LogitBias> parse_bias(std::string_view text) {
    LogitBias entry;
    const char* const last = text.data() + text.size();
    const auto [sign, failed] = std::from_chars(text.data(), last, entry.id);
    if (failed != std::errc() || sign == last || (*sign != '+' && *sign != '-')) return std::nullopt;
    const auto [end, wrong] = std::from_chars(*sign == '+' ? sign + 1 : sign, last, entry.bias);
    if (wrong != std::errc() || end != last || std::isnan(entry.bias) || entry.bias == INFINITY)
        return std::nullopt;
    return entry;
}

Expected<std::vector<LogitBias>> biases(const Settings& settings, int n_vocab) {
    std::vector<LogitBias> out;
    for (const std::string& text : settings.list("inference.logit_bias")) {
        const std::optional<LogitBias> entry = parse_bias(text);
        if (!entry)
            return Error{Code::invalid,
                         fmt::format("inference.logit_bias: \"{}\" is not ID+X or ID-X", printable(text)),
                         "Write a token's id and what is added to its logit: 15043+1.5, or 15043-inf."};
        if (entry->id < 0 || entry->id >= n_vocab)
            return Error{Code::invalid,
                         fmt::format("inference.logit_bias: there is no token {}, the vocabulary has {}",
                                     entry->id, n_vocab),
                         "freetoken tokenize shows the ids of a text."};
        out.push_back(*entry);
    }
    return out;
}

float number(const Settings& settings, const char* name) { return static_cast<float>(settings.number(name)); }
int integer(const Settings& settings, const char* name) { return static_cast<int>(settings.integer(name)); }

SamplerParams sampler_params(const Settings& settings, const Tokenizer& tokenizer) {
    SamplerParams params;
    params.temperature = number(settings, "inference.temperature");
    params.top_k = integer(settings, "inference.top_k");
    params.top_p = number(settings, "inference.top_p");
    params.min_p = number(settings, "inference.min_p");
    params.typical_p = number(settings, "inference.typical_p");
    params.top_n_sigma = number(settings, "inference.top_n_sigma");
    params.xtc_probability = number(settings, "inference.xtc_probability");
    params.xtc_threshold = number(settings, "inference.xtc_threshold");
    params.repeat_penalty = number(settings, "inference.repetition_penalty");
    params.repeat_last_n = integer(settings, "inference.repeat_last_n");
    params.frequency_penalty = number(settings, "inference.frequency_penalty");
    params.presence_penalty = number(settings, "inference.presence_penalty");
    params.dry = {number(settings, "inference.dry_multiplier"), number(settings, "inference.dry_base"),
                  integer(settings, "inference.dry_allowed_length"),
                  integer(settings, "inference.dry_penalty_last_n"),
                  tokens_with(tokenizer, settings.list("inference.dry_sequence_breakers"))};
    params.mirostat = settings.text("inference.mirostat") == "2";
    params.mirostat_tau = number(settings, "inference.mirostat_tau");
    params.mirostat_eta = number(settings, "inference.mirostat_eta");
    return params;
}

}  // namespace

uint64_t random_seed() { return std::random_device()(); }

Expected<RequestDefaults> request_defaults(const Settings& settings, const Tokenizer& tokenizer) {
    RequestDefaults defaults;
    Request& request = defaults.request;
    request.sampling = sampler_params(settings, tokenizer);
    Expected<std::vector<LogitBias>> bias = biases(settings, tokenizer.vocab_size());
    if (!bias) return bias.error();
    request.sampling.logit_bias = std::move(*bias);
    defaults.seed_is_chosen = settings.has("inference.seed") && settings.integer("inference.seed") >= 0;
    request.sampling.seed =
        defaults.seed_is_chosen ? static_cast<uint64_t>(settings.integer("inference.seed")) : random_seed();
    if (settings.has("inference.max_tokens")) request.max_tokens = settings.integer("inference.max_tokens");
    request.stop = settings.list("inference.stop");
    request.end_ids.assign(tokenizer.end_ids().begin(), tokenizer.end_ids().end());
    defaults.top_p_is_chosen = settings.origin("inference.top_p") != "default";
    defaults.ignore_eos = settings.boolean("inference.ignore_eos");
    if (settings.has("inference.think")) defaults.think = settings.text("inference.think") != "off";
    if (settings.has("inference.system")) defaults.system = settings.text("inference.system");
    return defaults;
}

}  // namespace ft
