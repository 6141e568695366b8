// The messages of a chat, and the prompt that they make with the model's template.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "base/error.h"
#include "text/chat_history.h"

namespace ft::cli {

class Conversation {
 public:
    // think: the template's enable_thinking; nothing leaves it to the template. Both references must outlive
    // this.
    Conversation(const ChatTemplate& chat_template, const Tokenizer& tokenizer, std::optional<bool> think)
        : template_(chat_template), tokenizer_(tokenizer), think_(think) {}

    void set_think(std::optional<bool> think) { think_ = think; }
    // Empty: none.
    void set_system(std::string text) { system_ = std::move(text); }
    const std::string& system() const { return system_; }

    void add_user(std::string text);
    // thinking is kept beside the answer; most templates leave it out of later turns.
    void add_assistant(std::string text, std::string thinking);
    void drop_last() { messages_.erase(messages_.size() - 1); }
    void clear() { messages_.clear(); }
    // System prompt and messages as JSON, and back. An error: it is no such text.
    std::string saved() const;
    Status restore(const std::string& saved);
    bool empty() const { return messages_.empty(); }

    // The prompt for the next answer. An error is the template's.
    Expected<Prompt> prompt() const;
    // The same for a context of n_ctx tokens: turns that it has no room for are gone afterwards, unless the
    // prompt is too long without them, too.
    Expected<FittedPrompt> fitted_prompt(int64_t n_ctx);

 private:
    ChatContext context() const;

    const ChatTemplate& template_;
    const Tokenizer& tokenizer_;
    std::optional<bool> think_;
    std::string system_;
    nlohmann::ordered_json messages_ = nlohmann::ordered_json::array();
};

}  // namespace ft::cli
