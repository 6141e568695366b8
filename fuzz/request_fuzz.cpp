// Any bytes as the body of a request in each dialect: the end is a call whose numbers are in their ranges, or
// an error that each dialect can say.
#include <memory>

#include "server/endpoint_call.h"
#include "server/json_body.h"
#include "text/chat_template.h"
#include "text/vocabulary_for_test.h"

namespace {

struct Model {
    std::unique_ptr<ft::Tokenizer> tokenizer;
    std::unique_ptr<ft::ChatTemplate> chat_template;
    ft::RequestDefaults defaults;
};

Model make_model() {
    Model model;
    model.tokenizer = std::move(*ft::load_byte_bpe(ft::byte_vocabulary(), "gpt-2"));
    model.chat_template = std::make_unique<ft::ChatTemplate>(
        *ft::ChatTemplate::parse("{% for t in tools or [] %}{{ t | tojson }}{% endfor %}{% for m in messages "
                                 "%}{{ m.role }}:{{ m.content }}\n"
                                 "{% for c in m.tool_calls or [] %}{{ c.function.name + c.function.arguments "
                                 "}}{% endfor %}{% endfor %}"));
    model.defaults = *ft::request_defaults(*ft::load_settings({}), *model.tokenizer);
    return model;
}

void check_call(const ft::OpenAiCall& call) {
    for (const ft::Request& request : call.requests) {
        ft::check(!request.prompt.empty() && request.prompt.size() < 4096, "a prompt fits");
        ft::check(request.n_choices >= 1 && request.max_tokens.value_or(1) >= 1, "counts are positive");
        const ft::Sampler sampler(request.sampling);  // checks its numbers
        for (const std::string& stop : request.stop) ft::check(!stop.empty(), "no stop text is empty");
    }
}

constexpr ft::Endpoint k_endpoints[] = {ft::Endpoint::completions,        ft::Endpoint::chat,
                                        ft::Endpoint::generate,           ft::Endpoint::responses,
                                        ft::Endpoint::anthropic_messages, ft::Endpoint::ollama_chat,
                                        ft::Endpoint::ollama_generate};

}  // namespace

// The first byte chooses the endpoint.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    static const Model model = make_model();
    if (size == 0) return 0;
    const auto body = ft::parse_json({reinterpret_cast<const char*>(data) + 1, size - 1});
    if (!body) return 0;
    const ft::Endpoint endpoint = k_endpoints[data[0] % std::size(k_endpoints)];
    ft::ParsedEndpoint parsed = ft::parse_endpoint(
        endpoint, *body, {*model.tokenizer, model.chat_template.get(), model.defaults, 4096},
        {.id = "1", .model = "m"});
    if (parsed.call) {
        check_call(parsed.call->call);
        parsed.call->shape->begin();
    } else {
        ft::check(!parsed.error.message.empty(), "an error has a sentence");
        ft::check(!ft::error_body(ft::dialect_of(endpoint), parsed.error).empty(), "an error has a body");
    }
    return 0;
}
