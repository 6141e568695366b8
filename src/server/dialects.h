// The readers of bodies and the shapes of answers of each dialect, as parse_endpoint puts them together.
// Readers fill in the call; what is wrong they say in `fields`.
#pragma once

#include <memory>
#include <string>

#include "server/endpoint_call.h"
#include "server/json_fields.h"

namespace ft {

// POST /generate {"prompt", "raw", "system", …}
void read_generate(JsonFields& fields, const ServedModel& model, OpenAiCall& call);
std::unique_ptr<AnswerShape> generate_shape(const OpenAiCall& call, const ResponseHead& head,
                                            const Tokenizer& tokenizer);

// OpenAI's /v1/responses, without what it would have to keep. Returns what the answer repeats of the request.
nlohmann::ordered_json read_responses(JsonFields& fields, const ServedModel& model, OpenAiCall& call);
std::unique_ptr<AnswerShape> responses_shape(const ResponseHead& head, nlohmann::ordered_json repeated);

// Anthropic's /v1/messages.
void read_anthropic(JsonFields& fields, const ServedModel& model, OpenAiCall& call);
std::unique_ptr<AnswerShape> anthropic_shape(const OpenAiCall& call, const ResponseHead& head);

// Ollama's /api/chat and /api/generate. Without messages or a prompt the call has no request.
void read_ollama(bool chat, JsonFields& fields, const ServedModel& model, const std::string& served_name,
                 OpenAiCall& call);
std::unique_ptr<AnswerShape> ollama_shape(bool chat, const OpenAiCall& call, const ResponseHead& head,
                                          const Tokenizer& tokenizer);

// {"type": "error", "error": {"type", "message"}}
nlohmann::ordered_json anthropic_error(const ApiError& error);

}  // namespace ft
