#include "server/sampling_fields.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <string_view>

#include "server/constraint_fields.h"
#include "text/tokens_with.h"

namespace ft {

namespace {

using Json = JsonFields::Json;

// A field, the setting whose range it has, and where its value goes.
struct NumberField {
    const char* name;
    const char* setting;
    float& (*value)(SamplerParams& params);
};

constexpr NumberField k_numbers[] = {
    {"temperature", "temperature", [](SamplerParams& p) -> float& { return p.temperature; }},
    {"top_p", "top_p", [](SamplerParams& p) -> float& { return p.top_p; }},
    {"min_p", "min_p", [](SamplerParams& p) -> float& { return p.min_p; }},
    {"typical_p", "typical_p", [](SamplerParams& p) -> float& { return p.typical_p; }},
    {"top_n_sigma", "top_n_sigma", [](SamplerParams& p) -> float& { return p.top_n_sigma; }},
    {"xtc_probability", "xtc_probability", [](SamplerParams& p) -> float& { return p.xtc_probability; }},
    {"xtc_threshold", "xtc_threshold", [](SamplerParams& p) -> float& { return p.xtc_threshold; }},
    {"repeat_penalty", "repetition_penalty", [](SamplerParams& p) -> float& { return p.repeat_penalty; }},
    {"repetition_penalty", "repetition_penalty", [](SamplerParams& p) -> float& { return p.repeat_penalty; }},
    {"frequency_penalty", "frequency_penalty",
     [](SamplerParams& p) -> float& { return p.frequency_penalty; }},
    {"presence_penalty", "presence_penalty", [](SamplerParams& p) -> float& { return p.presence_penalty; }},
    {"dry_multiplier", "dry_multiplier", [](SamplerParams& p) -> float& { return p.dry.multiplier; }},
    {"dry_base", "dry_base", [](SamplerParams& p) -> float& { return p.dry.base; }},
    {"mirostat_tau", "mirostat_tau", [](SamplerParams& p) -> float& { return p.mirostat_tau; }},
    {"mirostat_eta", "mirostat_eta", [](SamplerParams& p) -> float& { return p.mirostat_eta; }},
};

struct IntegerField {
    const char* name;
    const char* setting;
    int& (*value)(SamplerParams& params);
};

constexpr IntegerField k_integers[] = {
    {"repeat_last_n", "repeat_last_n", [](SamplerParams& p) -> int& { return p.repeat_last_n; }},
    {"dry_allowed_length", "dry_allowed_length",
     [](SamplerParams& p) -> int& { return p.dry.allowed_length; }},
    {"dry_penalty_last_n", "dry_penalty_last_n", [](SamplerParams& p) -> int& { return p.dry.last_n; }},
};

const Key& setting(const char* name) {
    const Key* key = find_key(fmt::format("inference.{}", name));
    check(key != nullptr, "a field whose setting is no row of the table");
    return *key;
}

void read_numbers(JsonFields& fields, double hottest, SamplerParams& params) {
    for (const NumberField& field : k_numbers) {
        const Key& key = setting(field.setting);
        const double most =
            field.name == std::string_view("temperature") ? std::min(key.most, hottest) : key.most;
        if (const auto value = fields.number(field.name, key.least, most))
            field.value(params) = static_cast<float>(*value);
    }
    for (const IntegerField& field : k_integers) {
        const Key& key = setting(field.setting);
        if (const auto value =
                fields.integer(field.name, static_cast<int64_t>(key.least), static_cast<int64_t>(key.most)))
            field.value(params) = static_cast<int>(*value);
    }
    // -1 is vLLM's word for all, 0 llama-server's.
    if (const auto top_k = fields.integer("top_k", -1, std::numeric_limits<int32_t>::max()))
        params.top_k = static_cast<int>(std::max<int64_t>(*top_k, 0));
    if (const auto mirostat = fields.integer("mirostat", 0, 2)) {
        params.mirostat = *mirostat == 2;
        if (*mirostat == 1) fields.fail("mirostat", "mirostat takes 0 or 2; version 1 is not offered.");
    }
}

// A text or a list of them.
std::optional<std::vector<std::string>> read_texts(JsonFields& fields, const char* name) {
    const Json* value = fields.find(name);
    if (!value) return std::nullopt;
    std::vector<std::string> texts;
    const auto take = [&](const Json& item) {
        if (item.is_string() && !item.get_ref<const std::string&>().empty() &&
            item.get_ref<const std::string&>().size() <= k_longest_stop)
            return texts.push_back(item.get<std::string>());
        fields.expected(name, fmt::format("texts of 1 to {} bytes", k_longest_stop), item);
    };
    if (value->is_array())
        for (const Json& item : *value) take(item);
    else take(*value);
    if (texts.size() > k_most_stops)
        fields.fail(name,
                    fmt::format("{} takes at most {} texts, not {}.", name, k_most_stops, texts.size()));
    return texts;
}

void read_end(JsonFields& fields, const RequestDefaults& defaults, const char* stop_name, Request& request) {
    if (const auto stop = read_texts(fields, stop_name)) request.stop = *stop;
    if (fields.boolean("ignore_eos").value_or(defaults.ignore_eos)) request.ignore_end();
    const Json* ids = fields.find("stop_token_ids");
    if (!ids) return;
    if (!ids->is_array() || ids->size() > k_most_stops)
        return fields.expected("stop_token_ids", "a list of at most 64 token ids", *ids);
    for (const Json& id : *ids) {
        if (!id.is_number_integer() || id < 0 || id > std::numeric_limits<int32_t>::max())
            return fields.expected("stop_token_ids", "token ids", id);
        request.end_ids.push_back(id.get<int32_t>());
    }
}

// One entry; false: it is none.
bool add_bias(std::string_view id_text, const Json& value, int n_vocab, std::vector<LogitBias>& out) {
    LogitBias entry;
    const auto [end, error] = std::from_chars(id_text.data(), id_text.data() + id_text.size(), entry.id);
    if (error != std::errc() || end != id_text.data() + id_text.size()) return false;
    if (entry.id < 0 || entry.id >= n_vocab) return false;
    if (value == false) entry.bias = -std::numeric_limits<float>::infinity();
    else if (!value.is_number() || !(std::abs(value.get<double>()) <= 100)) return false;
    else entry.bias = value.get<float>();
    out.push_back(entry);
    return true;
}

// OpenAI's map of id to bias, or llama-server's list of [id, bias].
void read_bias(JsonFields& fields, int n_vocab, std::vector<LogitBias>& out) {
    const Json* value = fields.find("logit_bias");
    if (!value) return;
    const auto refuse = [&](const Json& got) {
        fields.expected(
            "logit_bias",
            fmt::format("a map of token ids below {} to numbers from -100 to 100, or to false", n_vocab),
            got);
    };
    out.clear();
    if (value->is_object()) {
        for (const auto& [id, bias] : value->items())
            if (!add_bias(id, bias, n_vocab, out)) return refuse(Json{{id, bias}});
    } else if (value->is_array()) {
        for (const Json& pair : *value)
            if (!pair.is_array() || pair.size() != 2 || !pair[0].is_number_integer() ||
                !add_bias(pair[0].dump(), pair[1], n_vocab, out))
                return refuse(pair);
    } else {
        refuse(*value);
    }
}

// Numbers beyond any context are as good as no limit, as long as they are numbers of 64 bits.
void read_length(JsonFields& fields, const SamplingNames& names, Request& request) {
    constexpr int64_t k_most = std::numeric_limits<int64_t>::max();
    if (const auto n = fields.integer(names.open_length, -2, k_most)) {
        if (*n == 0)
            fields.fail(names.open_length,
                        fmt::format("{} takes -1 or an integer of at least 1, not 0.", names.open_length));
        request.max_tokens = *n < 0 ? std::nullopt : n;
    }
    for (const char* name : names.lengths)
        if (const auto n = fields.integer(name, 1, k_most)) request.max_tokens = n;
}

uint64_t read_seed(JsonFields& fields, const RequestDefaults& defaults) {
    const auto seed = fields.integer("seed", INT64_MIN, INT64_MAX);
    if (seed && *seed != -1) return static_cast<uint64_t>(*seed);
    return defaults.seed_is_chosen && !seed ? defaults.request.sampling.seed : random_seed();
}

}  // namespace

Request read_sampling(JsonFields& fields, const RequestDefaults& defaults, const Tokenizer& tokenizer,
                      const SamplingNames& names) {
    Request request = defaults.request;
    SamplerParams& params = request.sampling;
    read_numbers(fields, names.hottest, params);
    read_bias(fields, tokenizer.vocab_size(), params.logit_bias);
    if (const auto breakers = read_texts(fields, "dry_sequence_breakers"))
        params.dry.breakers = tokens_with(tokenizer, *breakers);
    read_end(fields, defaults, names.stop, request);
    read_length(fields, names, request);
    params.seed = read_seed(fields, defaults);
    read_constraint(fields, tokenizer, request);
    if (const auto n = fields.integer("n", 1, k_most_choices)) request.n_choices = static_cast<int>(*n);
    return request;
}

void open_top_p(const JsonFields& fields, const RequestDefaults& defaults, Request& request) {
    if (fields.find("temperature") && !fields.find("top_p") && !defaults.top_p_is_chosen)
        request.sampling.top_p = 1;
}

}  // namespace ft
