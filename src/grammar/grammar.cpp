#include "grammar/grammar.h"

#include <nlohmann/json.hpp>

#include "grammar/compiled.h"
#include "grammar/gbnf.h"
#include "grammar/json_rules.h"
#include "grammar/json_schema.h"
#include "text/prompt.h"

namespace ft {

namespace {

Expected<SharedGrammar> grammar_of(const grammar::Rules& rules, const Tokenizer& tokenizer) {
    Expected<grammar::Machine> machine = grammar::build_machine(rules);
    if (!machine) return machine.error();
    grammar::Stepper stepper(*machine);
    grammar::Stacks stacks;
    grammar::Configs configs;
    if (Status begun = stepper.start(stacks, configs); !begun) return begun.error();
    if (configs.empty())
        return Error{Code::too_large,
                     fmt::format("its rules call each other more than {} deep before any text",
                                 grammar::Stacks::k_deepest),
                     "Write it with fewer rules that only name another one."};
    return SharedGrammar(std::make_shared<const Grammar>(std::move(*machine), tokenizer));
}

}  // namespace

Grammar::Grammar(grammar::Machine machine, const Tokenizer& tokenizer)
    : compiled_(std::make_unique<grammar::Compiled>(std::move(machine), tokenizer)) {}

Grammar::~Grammar() = default;

Expected<SharedGrammar> compile_gbnf(std::string_view text, const Tokenizer& tokenizer) {
    const Expected<grammar::Rules> rules = grammar::parse_gbnf(text);
    if (!rules) return rules.error();
    Expected<SharedGrammar> made = grammar_of(*rules, tokenizer);
    if (!made) return made.error().within("grammar");
    return made;
}

Expected<SharedGrammar> compile_json_schema(const nlohmann::ordered_json& schema,
                                            const Tokenizer& tokenizer) {
    const Expected<grammar::Rules> rules = grammar::rules_of_schema(schema);
    if (!rules) return rules.error();
    Expected<SharedGrammar> made = grammar_of(*rules, tokenizer);
    if (!made) return made.error().within("schema");
    return made;
}

Expected<SharedGrammar> compile_json_object(const Tokenizer& tokenizer) {
    grammar::Rules rules;
    const int root = rules.add("root");
    grammar::JsonRules json(rules);
    rules.bodies[static_cast<size_t>(root)] = json.object();
    return grammar_of(rules, tokenizer);
}

}  // namespace ft
