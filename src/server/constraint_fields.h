// The fields of a request that say of which form an answer must be: OpenAI's response_format, llama-server's
// grammar and json_schema, vLLM's guided_* and structured_outputs, Ollama's format. docs/structured-output.md
// says what schemas and grammars may hold.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "server/json_fields.h"

namespace ft {

class Tokenizer;
struct Request;

// Sets request.grammar where one of them asks for it; two at once are refused.
void read_constraint(JsonFields& fields, const Tokenizer& tokenizer, Request& request);

// {"type": "text" | "json_object" | "json_schema", "schema": …} where a dialect has it, under its full name.
void read_answer_format(JsonFields& fields, const std::string& name, const nlohmann::ordered_json& format,
                        const Tokenizer& tokenizer, Request& request);

// Ollama: "json", or a schema.
void read_ollama_format(JsonFields& fields, const Tokenizer& tokenizer, Request& request);

constexpr size_t k_most_guided_choices = 1000;

}  // namespace ft
