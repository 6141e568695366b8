#include "text/go/interpreter.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "text/go/functions.h"

namespace ft::go {

// One level of nested execution or evaluation while it lives.
class Interpreter::Level {
 public:
    explicit Level(Interpreter& interpreter) : interpreter_(interpreter) {
        constexpr int k_deepest = 2 * jinja::k_max_nesting;
        if (++interpreter_.depth_ > k_deepest)
            throw jinja::Failure(fmt::format("templates call each other deeper than {} levels", k_deepest));
    }
    ~Level() { interpreter_.depth_--; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

 private:
    Interpreter& interpreter_;
};

void Interpreter::render(const Json& data, bool before_end) {
    Value root = value_of(data, Type::root);
    variables_.assign(1, root);
    first_variable_ = 0;
    last_ = before_end ? template_.response : UINT32_MAX;
    try {
        execute(template_.body, root);
    } catch (const jinja::Failure& failure) {
        if (failure.line > 0) throw;
        throw jinja::Failure(failure.what(), line_);
    }
}

void Interpreter::write(std::string_view text) {
    run_.heap().check_string(output_.size() + text.size());
    output_ += text;
}

Interpreter::Flow Interpreter::execute(const Block& block, const Value& dot) {
    const Level level(*this);
    for (const Node& node : block) {
        if (node.order > last_) break;
        if (const Flow flow = execute(node, dot); flow != Flow::next) return flow;
    }
    return Flow::next;
}

Interpreter::Flow Interpreter::execute(const Node& node, const Value& dot) {
    run_.heap().step();
    line_ = node.line;
    switch (node.kind) {
        case NodeKind::text:
            write(node.text);
            return Flow::next;
        case NodeKind::action: {
            const Value value = evaluate(node.pipeline, dot);
            if (!node.pipeline.variables.empty()) return Flow::next;
            std::string text;
            append_value(run_, text, value);
            write(text);
            return Flow::next;
        }
        case NodeKind::branch:
        case NodeKind::with: {
            const Value value = evaluate(node.pipeline, dot);
            if (!truth(value)) return execute(node.otherwise, dot);
            return execute(node.body, node.kind == NodeKind::with ? value : dot);
        }
        case NodeKind::range:
            return execute_range(node, dot);
        case NodeKind::call:
            execute_call(node, dot);
            return Flow::next;
        case NodeKind::leave:
            return Flow::leave;
        case NodeKind::next:
            return Flow::turn;
    }
    return Flow::next;
}

Interpreter::Flow Interpreter::execute_range(const Node& node, const Value& dot) {
    const Value over = evaluate(node.pipeline, dot, true);
    int64_t n = 0;
    std::vector<std::pair<std::string_view, Value>> entries;
    if (over.kind == Kind::integer) n = std::max<int64_t>(0, over.integer);
    else if (over.kind == Kind::list) n = length_of(over);
    else if (over.kind == Kind::map && length_of(over) > 0) entries = entries_of(run_, over);
    else if (truth(over)) throw jinja::Failure(fmt::format("range cannot go over {}", kind_name(over)));
    if (n == 0 && entries.empty()) {
        for (const size_t variable : node.pipeline.variables) set(variable, over);
        return execute(node.otherwise, dot);
    }
    for (const auto& [key, item] : entries)
        if (execute_turn(node, Value::of_text(key), item) == Flow::leave) return Flow::next;
    for (int64_t i = 0; i < n; i++) {
        const Value item = over.kind == Kind::list ? item_of(over, static_cast<size_t>(i)) : Value::number(i);
        if (execute_turn(node, Value::number(i), item) == Flow::leave) return Flow::next;
    }
    return Flow::next;
}

Interpreter::Flow Interpreter::execute_turn(const Node& node, const Value& place, const Value& item) {
    run_.heap().step();
    const std::vector<size_t>& variables = node.pipeline.variables;
    if (!variables.empty()) set(variables.back(), item);
    if (variables.size() > 1) set(variables.front(), place);
    return execute(node.body, item);
}

void Interpreter::execute_call(const Node& node, const Value& dot) {
    const Level level(*this);
    const Value data = node.pipeline.commands.empty() ? Value{} : evaluate(node.pipeline, dot);
    const size_t first = std::exchange(first_variable_, variables_.size());
    const uint32_t last = std::exchange(last_, UINT32_MAX);
    variables_.push_back(data);
    execute(template_.defined.find(node.text)->second, data);
    variables_.resize(first_variable_);
    first_variable_ = first;
    last_ = last;
}

Value Interpreter::evaluate(const Pipeline& pipeline, const Value& dot, bool of_range) {
    const Level level(*this);
    line_ = pipeline.line;
    Value value;
    for (const Command& command : pipeline.commands)
        value = evaluate(command, dot, &command == pipeline.commands.data() ? nullptr : &value);
    if (!of_range)
        for (const size_t variable : pipeline.variables) set(variable, value);
    return value;
}

Value Interpreter::evaluate(const Command& command, const Value& dot, const Value* piped) {
    run_.heap().step(1 + command.operands.size());
    if (!command.function) return evaluate(command.operands.front(), dot);
    const Function& function = *command.function;
    const size_t n = command.operands.size() + (piped ? 1 : 0);
    const auto argument = [&](size_t i) {
        return i < command.operands.size() ? evaluate(command.operands[i], dot) : *piped;
    };
    if (function.evaluation != Evaluation::all) {
        Value value;
        for (size_t i = 0; i < n; i++) {
            value = argument(i);
            if (truth(value) == (function.evaluation == Evaluation::until_true)) break;
        }
        return value;
    }
    std::vector<Value> arguments;
    arguments.reserve(n);
    for (size_t i = 0; i < n; i++) arguments.push_back(argument(i));
    return function.apply(run_, arguments);
}

Value Interpreter::evaluate(const Operand& operand, const Value& dot) {
    Value value;
    switch (operand.kind) {
        case OperandKind::dot:
            value = dot;
            break;
        case OperandKind::nil:
            value.kind = Kind::nil;
            break;
        case OperandKind::boolean:
            return Value::boolean(operand.integer != 0);
        case OperandKind::integer:
            return Value::number(operand.integer);
        case OperandKind::real:
            return {.kind = Kind::real, .real = operand.real};
        case OperandKind::text:
            return Value::of_text(operand.text);
        case OperandKind::call:
            return operand.function->apply(run_, {});
        case OperandKind::variable:
            value = variables_[first_variable_ + static_cast<size_t>(operand.integer)];
            break;
        case OperandKind::pipeline:
            value = evaluate(*operand.inner, dot);
            break;
    }
    for (const std::string& name : operand.path) value = field_of(run_, value, name);
    return value;
}

void Interpreter::set(size_t variable, const Value& value) {
    const size_t at = first_variable_ + variable;
    if (at >= variables_.size()) variables_.resize(at + 1);
    variables_[at] = value;
}

}  // namespace ft::go
