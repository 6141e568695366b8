// Answers of a given form: which tokens may come next, so that the whole text is one that a grammar allows.
//
//    Expected<std::shared_ptr<const Grammar>> grammar = compile_json_schema(schema, tokenizer);
//    GrammarState state(*grammar, GrammarStart::at_once);
//    for (;;) {
//        const auto allowed = state.allowed();     // to Sampler::sample()
//        …
//        state.accept(id);                         // what was drawn
//        if (state.must_end()) break;              // nothing may follow
//    }
//
// docs/structured-output.md says what schemas and grammars may hold. Whatever they hold, compiling and asking
// take bounded time and memory; what would not is an error.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "grammar/stepper.h"

namespace ft {

class Tokenizer;
struct Prompt;

namespace grammar {
struct Compiled;
}

// Does not change, and may be shared by any number of answers and threads. What has been found out about its
// states is kept with it, in a few MB at most.
class Grammar {
 public:
    Grammar(grammar::Machine machine, const Tokenizer& tokenizer);
    ~Grammar();
    Grammar(const Grammar&) = delete;
    Grammar& operator=(const Grammar&) = delete;

 private:
    friend class GrammarState;
    const std::unique_ptr<grammar::Compiled> compiled_;
};

using SharedGrammar = std::shared_ptr<const Grammar>;

// The tokenizer must outlive the grammar; the first grammar of a tokenizer takes some tenths of a second.
// Errors begin with "grammar" or "schema" and name the line, or the place in the schema.

// GBNF, the form of llama.cpp's grammars. The rule `root` is the whole text.
Expected<SharedGrammar> compile_gbnf(std::string_view text, const Tokenizer& tokenizer);

// Any value that the schema allows, as JSON.
Expected<SharedGrammar> compile_json_schema(const nlohmann::ordered_json& schema, const Tokenizer& tokenizer);

// Any object, as JSON.
Expected<SharedGrammar> compile_json_object(const Tokenizer& tokenizer);

constexpr size_t k_largest_grammar_bytes = size_t{1} << 20;

// Where in an answer its grammar begins.
enum class GrammarStart : uint8_t {
    at_once,
    may_think_first,  // at once, or behind </think> where the model begins with <think>
    after_thinking,   // behind </think>: the template has opened <think> for the model
};

// Of an answer to a chat.
GrammarStart start_of_grammar(const Prompt& prompt);

// Of one answer. Owner: the thread that runs the sequence. Copies go on independently.
class GrammarState {
 public:
    explicit GrammarState(SharedGrammar grammar, GrammarStart start = GrammarStart::at_once);

    // Bits by id, rounded up to whole words, valid until the next call: the tokens that may come. End tokens
    // are among them where the text may end. An error: none may, or finding them would take too long.
    Expected<std::span<const uint64_t>> allowed();

    // The token that came. An error: it is not allowed.
    Status accept(int32_t id);

    bool may_end() const;
    bool must_end() const;  // the text is complete, and nothing may follow

 private:
    enum class Stage : uint8_t { before_thinking, thinking, after_thinking, text };
    Status accept_thinking(int32_t id);
    Status read(std::string_view bytes);
    void forget_stacks();

    SharedGrammar grammar_;
    Stage stage_;
    bool at_beginning_;  // of the text that is shown
    grammar::Stepper stepper_;
    grammar::Stacks stacks_;
    grammar::Configs configs_, next_;
    std::string tail_;  // of the thinking, where </think> may have begun
    std::string bytes_;
    std::vector<uint64_t> allowed_;
};

}  // namespace ft
