#include "server/constraint_fields.h"

#include <nlohmann/json.hpp>

#include "base/utf8.h"
#include "engine/request.h"
#include "server/json_body.h"

namespace ft {

namespace {

using ConstraintJson = nlohmann::ordered_json;
using MadeGrammar = Expected<SharedGrammar>;

// What a field of vLLM may hold: a schema, or the text of one.
MadeGrammar grammar_of_schema_or_text(const ConstraintJson& value, const Tokenizer& tokenizer) {
    if (!value.is_string()) return compile_json_schema(value, tokenizer);
    const Expected<ConstraintJson> schema = parse_json(value.get_ref<const std::string&>());
    if (!schema) return schema.error().within("schema");
    return compile_json_schema(*schema, tokenizer);
}

MadeGrammar grammar_of_text(const ConstraintJson& value, const Tokenizer& tokenizer) {
    if (!value.is_string()) return Error{Code::invalid, "a grammar is a text", "Write it in GBNF."};
    return compile_gbnf(value.get_ref<const std::string&>(), tokenizer);
}

// One of some texts, as they are.
MadeGrammar grammar_of_choices(const ConstraintJson& value, const Tokenizer& tokenizer) {
    if (!value.is_array() || value.empty() || value.size() > k_most_guided_choices)
        return Error{Code::invalid, fmt::format("a choice is a list of 1 to {} texts", k_most_guided_choices),
                     ""};
    std::string text = "root ::= ";
    for (const ConstraintJson& choice : value) {
        if (!choice.is_string()) return Error{Code::invalid, "a choice is a list of texts", ""};
        const auto& bytes = choice.get_ref<const std::string&>();
        if (text.back() == '"') text += " | ";
        text += '"';
        for (size_t at = 0; at < bytes.size();) {
            const Utf8Char c = utf8_at(bytes, at);
            text += fmt::format("\\U{:08X}", static_cast<uint32_t>(c.code));
            at += static_cast<size_t>(c.size);
        }
        text += '"';
    }
    return compile_gbnf(text, tokenizer);
}

MadeGrammar grammar_of_format(const ConstraintJson& format, const Tokenizer& tokenizer) {
    if (!format.is_object()) return Error{Code::invalid, "it takes an object with a type", ""};
    const ConstraintJson type = format.value("type", ConstraintJson());
    if (type == "text") return SharedGrammar();
    if (type != "json_object" && type != "json_schema")
        return Error{Code::unsupported, fmt::format("there is no type {}", shown(type)),
                     "Types are text, json_object and json_schema."};
    // OpenAI has the schema inside of json_schema, its newer interface and llama-server beside the type.
    const ConstraintJson* holder = &format;
    if (format.contains("json_schema") && format["json_schema"].is_object()) holder = &format["json_schema"];
    if (holder->contains("schema")) return compile_json_schema((*holder)["schema"], tokenizer);
    if (type == "json_object") return compile_json_object(tokenizer);
    return Error{Code::invalid, "json_schema has no schema", "Give it as json_schema.schema."};
}

MadeGrammar grammar_of_structured_outputs(const ConstraintJson& value, const Tokenizer& tokenizer) {
    if (!value.is_object() || value.size() > 1)
        return Error{Code::invalid, "it takes an object with one of json, json_object, choice and grammar",
                     ""};
    if (value.empty()) return SharedGrammar();
    const ConstraintJson& what = value.front();
    if (value.contains("json")) return grammar_of_schema_or_text(what, tokenizer);
    if (value.contains("choice")) return grammar_of_choices(what, tokenizer);
    if (value.contains("grammar")) return grammar_of_text(what, tokenizer);
    if (value.contains("json_object") && what.is_boolean())
        return what == true ? compile_json_object(tokenizer) : SharedGrammar();
    return Error{Code::unsupported, fmt::format("\"{}\" is not offered", printable(value.begin().key())),
                 "It takes json, json_object, choice or grammar."};
}

struct ConstraintField {
    const char* name;
    const char* harmless;  // the value that asks for nothing, as JSON
    MadeGrammar (*make)(const ConstraintJson& value, const Tokenizer& tokenizer);
};

constexpr ConstraintField k_constraints[] = {{"response_format", "null", grammar_of_format},
                                             {"grammar", R"("")", grammar_of_text},
                                             {"json_schema", "{}", grammar_of_schema_or_text},
                                             {"guided_json", "{}", grammar_of_schema_or_text},
                                             {"guided_grammar", R"("")", grammar_of_text},
                                             {"guided_choice", "[]", grammar_of_choices},
                                             {"structured_outputs", "{}", grammar_of_structured_outputs}};

void take_grammar(JsonFields& fields, const std::string& name, MadeGrammar made, Request& request) {
    if (!made) {
        const std::string why = made.error().sentence();
        return fields.fail(name, why.starts_with(name) ? why : fmt::format("{}: {}", name, why));
    }
    if (*made && request.grammar)
        return fields.fail(name,
                           fmt::format("{}: another field already says of which form the answer is.", name));
    if (*made) request.grammar = std::move(*made);
}

}  // namespace

void read_constraint(JsonFields& fields, const Tokenizer& tokenizer, Request& request) {
    for (const ConstraintField& field : k_constraints) {
        const ConstraintJson* value = fields.find(field.name);
        if (!value || fields.failed() || *value == ConstraintJson::parse(field.harmless)) continue;
        take_grammar(fields, field.name, field.make(*value, tokenizer), request);
    }
}

void read_answer_format(JsonFields& fields, const std::string& name, const nlohmann::ordered_json& format,
                        const Tokenizer& tokenizer, Request& request) {
    take_grammar(fields, name, grammar_of_format(format, tokenizer), request);
}

void read_ollama_format(JsonFields& fields, const Tokenizer& tokenizer, Request& request) {
    const ConstraintJson* format = fields.find("format");
    if (!format || fields.failed() || *format == "") return;
    if (*format == "json") return take_grammar(fields, "format", compile_json_object(tokenizer), request);
    if (format->is_string())
        return fields.fail("format",
                           fmt::format("format takes \"json\" or a schema, not {}.", shown(*format)));
    take_grammar(fields, "format", compile_json_schema(*format, tokenizer), request);
}

}  // namespace ft
