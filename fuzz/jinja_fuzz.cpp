// Any bytes as a chat template of either language, rendered with small limits: the end is a text or an error,
// within the limits.
#include <string>

#include "text/chat_template.h"

namespace {

const nlohmann::ordered_json& context() {
    static const nlohmann::ordered_json json = {
        {"messages",
         {{{"role", "system"}, {"content", "Be brief."}},
          {{"role", "user"}, {"content", "a <b> \"c\"\n\xC3\xA9\xF0\x9F\x98\x80"}},
          {{"role", "assistant"},
           {"content", nullptr},
           {"tool_calls", {{{"name", "f"}, {"arguments", {{"x", 1.5}}}}}}}}},
        {"tools", nullptr},
        {"add_generation_prompt", true},
        {"bos_token", "<s>"},
        {"s", "text"},
        {"l", {3, 1, 2}},
        {"d", {{"a", 1}, {"b", "x"}}}};
    return json;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const auto parsed = ft::ChatTemplate::parse({reinterpret_cast<const char*>(data), size});
    if (!parsed) {
        ft::check(!parsed.error().what.empty(), "an error has a sentence");
        return 0;
    }
    ft::RenderOptions options;
    options.now = ft::parse_local_time("2026-01-31T12:34:56");
    options.limits.nodes = 2000;
    options.limits.work_bytes = 1 << 20;
    options.limits.memory_bytes = 1 << 20;
    options.limits.string_bytes = 1 << 16;
    options.limits.range_items = 1000;
    const auto text = parsed->render(context(), options);
    if (text) ft::check(text->size() <= options.limits.string_bytes, "the output keeps its limit");
    else ft::check(!text.error().what.empty(), "an error has a sentence");
    return 0;
}
