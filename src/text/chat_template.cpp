#include "text/chat_template.h"

#include <chrono>
#include <cstdio>
#include <new>

#include "text/go/chat.h"
#include "text/go/parser.h"
#include "text/jinja/interpreter.h"
#include "text/jinja/template.h"

namespace ft {

namespace {

using Json = nlohmann::ordered_json;

jinja::Value value_of(jinja::Heap& heap, const Json& json, int depth) {
    using jinja::Value;
    if (depth > jinja::k_max_nesting)
        throw jinja::Failure(
            fmt::format("the context is nested deeper than {} levels", jinja::k_max_nesting));
    switch (json.type()) {
        case Json::value_t::boolean:
            return Value::boolean(json.get<bool>());
        case Json::value_t::number_integer:
            return Value::integer(json.get<int64_t>());
        case Json::value_t::number_unsigned: {
            const auto number = json.get<uint64_t>();
            if (number <= INT64_MAX) return Value::integer(static_cast<int64_t>(number));
            return heap.make<jinja::BigIntegerObject>(
                jinja::Kind::big_integer, sizeof(jinja::BigIntegerObject), std::to_string(number));
        }
        case Json::value_t::number_float:
            return Value::real(json.get<double>());
        case Json::value_t::string:
            return heap.string(json.get_ref<const std::string&>());
        case Json::value_t::array: {
            std::vector<Value> items;
            items.reserve(json.size());
            for (const Json& item : json) items.push_back(value_of(heap, item, depth + 1));
            return heap.list(std::move(items));
        }
        case Json::value_t::object: {
            std::vector<std::pair<Value, Value>> entries;
            entries.reserve(json.size());
            for (const auto& [key, item] : json.items())
                entries.emplace_back(heap.string(key), value_of(heap, item, depth + 1));
            return heap.map(std::move(entries));
        }
        default:
            return {};
    }
}

Error error_of(const jinja::Failure& failure) {
    const std::string place = failure.line > 0 ? fmt::format("template line {}: ", failure.line) : "";
    return Error{Code::invalid, place + failure.what(), ""};
}

const Error k_no_memory{Code::too_large, "not enough memory for the template", ""};

}  // namespace

Expected<ChatTemplate> ChatTemplate::parse(std::string_view source) {
    if (source.size() > k_largest_template_bytes)
        return Error{Code::too_large,
                     fmt::format("the template has {} bytes, more than 1 MiB", source.size()), ""};
    try {
        if (go::looks_like_go(source))
            return ChatTemplate(source, nullptr,
                                std::make_shared<const go::Template>(go::parse_template(source)));
        return ChatTemplate(source, std::make_shared<const jinja::Template>(jinja::parse_template(source)),
                            nullptr);
    } catch (const jinja::Failure& failure) {
        return error_of(failure);
    } catch (const std::bad_alloc&) {
        return k_no_memory;
    }
}

Expected<std::string> ChatTemplate::render(const Json& context, const RenderOptions& options) const {
    if (!context.is_object())
        return Error{Code::invalid, "the context of a chat template is not a JSON object", ""};
    try {
        if (go_) return go::render_chat(*go_, context, options.limits, options.now);
        jinja::Interpreter interpreter(*jinja_, options.limits, options.now);
        return interpreter.run(value_of(interpreter.heap(), context, 0));
    } catch (const jinja::Failure& failure) {
        return error_of(failure);
    } catch (const std::bad_alloc&) {
        return k_no_memory;
    }
}

bool ChatTemplate::names_tools() const {
    return source_->find(go_ ? ".Tools" : "tools") != std::string::npos;
}

bool ChatTemplate::names_thinking() const {
    return source_->find("<think>") != std::string::npos ||
           (go_ && source_->find(".Think") != std::string::npos);
}

Json ChatContext::to_json() const {
    Json context = {{"messages", messages},   {"tools", tools},
                    {"documents", documents}, {"add_generation_prompt", add_generation_prompt},
                    {"bos_token", bos_token}, {"eos_token", eos_token}};
    if (enable_thinking) context["enable_thinking"] = *enable_thinking;
    for (const auto& [key, value] : extra.items()) context[key] = value;
    return context;
}

std::optional<jinja::LocalTime> parse_local_time(std::string_view text) {
    jinja::LocalTime t;
    const std::string copy(text);
    char separator = 0;
    int used = 0;
    const int fields = std::sscanf(copy.c_str(), "%4d-%2d-%2d%c%2d:%2d%n:%2d%n", &t.year, &t.month, &t.day,
                                   &separator, &t.hour, &t.minute, &used, &t.second, &used);
    const std::chrono::year_month_day date{std::chrono::year{t.year},
                                           std::chrono::month{static_cast<unsigned>(t.month)},
                                           std::chrono::day{static_cast<unsigned>(t.day)}};
    const bool good = fields >= 6 && static_cast<size_t>(used) == text.size() &&
                      (separator == 'T' || separator == ' ') && date.ok() && t.year >= 1 && t.hour >= 0 &&
                      t.hour < 24 && t.minute >= 0 && t.minute < 60 && t.second >= 0 && t.second < 61 &&
                      text.find_first_of("+ ") >= 10;
    return good ? std::optional(t) : std::nullopt;
}

}  // namespace ft
