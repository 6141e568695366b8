// A model's chat template: source that turns messages into the prompt text. Parsed once, rendered any number
// of times, from any thread. The language is Jinja2 as the transformers library configures it, or Go's
// text/template as Ollama has it (text/go/parser.h says how they are told apart); what is not supported is
// refused, never rendered otherwise. Rendering is bounded in time, memory and depth whatever the template
// says.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "text/jinja/heap.h"
#include "text/jinja/strftime.h"

namespace ft {

namespace jinja {
struct Template;
}
namespace go {
struct Template;
}

// The largest published templates have some 30 KB.
constexpr size_t k_largest_template_bytes = size_t{1} << 20;

struct RenderOptions {
    std::optional<jinja::LocalTime> now;  // what strftime_now says; the clock when not given
    jinja::Limits limits;
};

class ChatTemplate {
 public:
    // The error names the line, or the size where the source is larger than k_largest_template_bytes.
    static Expected<ChatTemplate> parse(std::string_view source);

    // context: an object with everything the template may read, such as that of ChatContext. An error names
    // the line; what the template passes to raise_exception is part of its text.
    Expected<std::string> render(const nlohmann::ordered_json& context,
                                 const RenderOptions& options = {}) const;

    const std::string& source() const { return *source_; }
    // Whether the source speaks of tools, and of thinking: what it makes of them is not known.
    bool names_tools() const;
    bool names_thinking() const;

 private:
    ChatTemplate(std::string_view source, std::shared_ptr<const jinja::Template> jinja,
                 std::shared_ptr<const go::Template> go)
        : source_(std::make_shared<const std::string>(source)),
          jinja_(std::move(jinja)),
          go_(std::move(go)) {}

    std::shared_ptr<const std::string> source_;
    std::shared_ptr<const jinja::Template> jinja_;  // one of these two
    std::shared_ptr<const go::Template> go_;
};

// The context that published templates expect of a chat.
struct ChatContext {
    nlohmann::ordered_json messages = nlohmann::ordered_json::array();  // objects with role and content
    nlohmann::ordered_json tools;                                       // null: defined, but none
    nlohmann::ordered_json documents;                                   // likewise
    bool add_generation_prompt = true;
    std::string bos_token, eos_token;
    std::optional<bool> enable_thinking;  // left out of the context when not given
    nlohmann::ordered_json extra =
        nlohmann::ordered_json::object();  // further keys; they replace those above

    nlohmann::ordered_json to_json() const;
};

// "2026-01-31T12:34:56", also with a blank for the T and without seconds. Nothing where it is no such time.
std::optional<jinja::LocalTime> parse_local_time(std::string_view text);

}  // namespace ft
