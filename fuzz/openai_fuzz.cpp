// Any bytes as the body of a completion or a chat: the end is a call whose numbers are in their ranges, or an
// error.
#include <memory>

#include "server/json_body.h"
#include "server/openai_request.h"
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
        *ft::ChatTemplate::parse("{% for m in messages %}{{ m.role }}:{{ m.content }}\n{% endfor %}"));
    model.defaults = *ft::request_defaults(*ft::load_settings({}), *model.tokenizer);
    return model;
}

void check_call(const ft::OpenAiCall& call) {
    ft::check(!call.requests.empty(), "a call has a request");
    for (const ft::Request& request : call.requests) {
        ft::check(!request.prompt.empty() && request.prompt.size() < 4096, "a prompt fits");
        ft::check(request.n_choices >= 1 && request.max_tokens.value_or(1) >= 1, "counts are positive");
        const ft::Sampler sampler(request.sampling);  // checks its numbers
        for (const std::string& stop : request.stop) ft::check(!stop.empty(), "no stop text is empty");
    }
}

}  // namespace

// The first byte chooses the route.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    static const Model model = make_model();
    if (size == 0) return 0;
    const auto body = ft::parse_json({reinterpret_cast<const char*>(data) + 1, size - 1});
    if (!body) return 0;
    const auto route = data[0] % 2 ? ft::OpenAiRoute::chat : ft::OpenAiRoute::completions;
    const ft::ParsedCall parsed =
        ft::parse_openai(route, *body, {*model.tokenizer, model.chat_template.get(), model.defaults, 4096});
    if (parsed.call) check_call(*parsed.call);
    else ft::check(!parsed.error.message.empty(), "an error has a sentence");
    return 0;
}
