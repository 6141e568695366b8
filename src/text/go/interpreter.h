// Renders a parsed Go template, once or several times into one text.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "text/go/ast.h"
#include "text/go/value.h"

namespace ft::go {

class Interpreter {
 public:
    Interpreter(const Template& parsed, Run& run) : template_(parsed), run_(run) {}

    // Adds the text of the template with `data`, a map that outlives this, to what was rendered before.
    // before_end: only up to the first .Response, that included. Fails (jinja::Failure) with the line.
    void render(const Json& data, bool before_end);
    std::string take() { return std::move(output_); }

 private:
    enum class Flow : uint8_t { next, leave, turn };  // what a statement asks of the range around it

    Flow execute(const Block& block, const Value& dot);
    Flow execute(const Node& node, const Value& dot);
    Flow execute_range(const Node& node, const Value& dot);
    Flow execute_turn(const Node& node, const Value& place, const Value& item);
    void execute_call(const Node& node, const Value& dot);
    void write(std::string_view text);

    // Sets the pipeline's variables, but not those of a range.
    Value evaluate(const Pipeline& pipeline, const Value& dot, bool of_range = false);
    Value evaluate(const Command& command, const Value& dot, const Value* piped);
    Value evaluate(const Operand& operand, const Value& dot);
    void set(size_t variable, const Value& value);

    class Level;

    const Template& template_;
    Run& run_;
    std::string output_;
    std::vector<Value> variables_;  // of all templates that are being executed
    size_t first_variable_ = 0;     // $ of the one that is
    uint32_t last_ = UINT32_MAX;    // nodes of a higher order are left out
    int depth_ = 0;
    int line_ = 0;
};

}  // namespace ft::go
