#include <algorithm>

#include "base/error.h"
#include "text/jinja/filters.h"
#include "text/jinja/interpreter.h"
#include "text/jinja/operators.h"
#include "text/jinja/show.h"
#include "text/jinja/tests.h"

namespace ft::jinja {

Value Interpreter::evaluate(const Expression& expression) {
    const Level level(*this);
    heap_.step();
    line_ = expression.line;
    switch (expression.kind) {
        case ExpressionKind::constant:
            return static_cast<const ConstantExpression&>(expression).value;
        case ExpressionKind::name:
            return evaluate_name(static_cast<const NameExpression&>(expression));
        case ExpressionKind::sequence:
            return evaluate_sequence(static_cast<const SequenceExpression&>(expression));
        case ExpressionKind::dict:
            return evaluate_dict(static_cast<const DictExpression&>(expression));
        case ExpressionKind::sign: {
            const auto& sign_of = static_cast<const SignExpression&>(expression);
            return sign(evaluate(*sign_of.operand), sign_of.negative);
        }
        case ExpressionKind::negation:
            return Value::boolean(
                !truth(evaluate(*static_cast<const NegationExpression&>(expression).operand)));
        case ExpressionKind::arithmetic:
            return evaluate_arithmetic(static_cast<const ArithmeticExpression&>(expression));
        case ExpressionKind::concat:
            return evaluate_concat(static_cast<const ConcatExpression&>(expression));
        case ExpressionKind::compare:
            return evaluate_compare(static_cast<const CompareExpression&>(expression));
        case ExpressionKind::logic:
            return evaluate_logic(static_cast<const LogicExpression&>(expression));
        case ExpressionKind::choice:
            return evaluate_choice(static_cast<const ChoiceExpression&>(expression));
        case ExpressionKind::chain:
            return evaluate_chain(static_cast<const ChainExpression&>(expression));
    }
    throw Failure("an expression of an unknown kind");
}

Value Interpreter::evaluate_name(const NameExpression& name) {
    for (const Scope* scope = scope_; scope != nullptr; scope = scope->outer)
        if (const Value* value = scope->find(name.name)) return *value;
    if (template_.owned[name.name])
        for (const Scope* scope = scope_; scope != nullptr; scope = scope->outer)
            if (scope->own != nullptr &&
                std::find(scope->own->begin(), scope->own->end(), name.name) != scope->own->end())
                return heap_.undefined(
                    fmt::format("'{}' is undefined", printable(template_.names[name.name])));
    return globals_[name.name];
}

Value Interpreter::evaluate_sequence(const SequenceExpression& sequence) {
    std::vector<Value> items;
    items.reserve(sequence.items.size());
    for (const ExpressionPtr& item : sequence.items) items.push_back(evaluate(*item));
    return sequence.tuple ? heap_.tuple(std::move(items)) : heap_.list(std::move(items));
}

Value Interpreter::evaluate_dict(const DictExpression& dict) {
    std::vector<std::pair<Value, Value>> entries;
    entries.reserve(dict.entries.size());
    for (const auto& [key, value] : dict.entries) {
        Value evaluated_key = evaluate(*key);
        entries.emplace_back(std::move(evaluated_key), evaluate(*value));
    }
    return heap_.map(std::move(entries));
}

Value Interpreter::evaluate_arithmetic(const ArithmeticExpression& expression) {
    Value result = evaluate(*expression.first);
    for (const auto& [op, operand] : expression.rest) {
        const Value right = evaluate(*operand);
        line_ = expression.line;
        result = arithmetic(heap_, op, result, right);
    }
    return result;
}

Value Interpreter::evaluate_concat(const ConcatExpression& concat) {
    std::string text;
    for (const ExpressionPtr& item : concat.items) append_text(heap_, text, evaluate(*item));
    return heap_.string(std::move(text));
}

Value Interpreter::evaluate_compare(const CompareExpression& compare) {
    Value left = evaluate(*compare.first);
    for (const auto& [op, operand] : compare.rest) {
        Value right = evaluate(*operand);
        line_ = compare.line;
        bool holds = false;
        switch (op) {
            case Comparison::equal:
                holds = equal(left, right);
                break;
            case Comparison::not_equal:
                holds = !equal(left, right);
                break;
            case Comparison::less:
                holds = less(left, right);
                break;
            case Comparison::less_equal:
                holds = less(left, right, true);
                break;
            case Comparison::greater:
                holds = less(right, left);
                break;
            case Comparison::greater_equal:
                holds = less(right, left, true);
                break;
            case Comparison::in:
                holds = contains(heap_, right, left);
                break;
            case Comparison::not_in:
                holds = !contains(heap_, right, left);
                break;
        }
        if (!holds) return Value::boolean(false);
        left = std::move(right);
    }
    return Value::boolean(true);
}

Value Interpreter::evaluate_logic(const LogicExpression& logic) {
    Value value;
    for (const ExpressionPtr& item : logic.items) {
        value = evaluate(*item);
        if (truth(value) != logic.all) break;
    }
    return value;
}

Value Interpreter::evaluate_choice(const ChoiceExpression& choice) {
    for (auto branch = choice.branches.rbegin(); branch != choice.branches.rend(); ++branch) {
        if (truth(evaluate(*branch->test))) continue;
        if (branch->otherwise) return evaluate(*branch->otherwise);
        return heap_.undefined(fmt::format(
            "the inline if-expression on line {} evaluated to false and no else section was defined.",
            choice.line));
    }
    return evaluate(*choice.value);
}

Value Interpreter::evaluate_chain(const ChainExpression& chain, const Value* caller) {
    Value value = evaluate(*chain.first);
    for (const Link& link : chain.links) {
        heap_.step();
        line_ = link.line;
        value = follow(value, link, &link == &chain.links.back() ? caller : nullptr);
    }
    return value;
}

Value Interpreter::follow(const Value& value, const Link& link, const Value* caller) {
    switch (link.kind) {
        case LinkKind::attribute:
            return get_attribute(heap_, value, link.name);
        case LinkKind::item: {
            const Value index = evaluate(*link.index);
            line_ = link.line;
            return get_item(heap_, value, index);
        }
        case LinkKind::slice:
            return slice(value, link);
        case LinkKind::call: {
            Arguments given = arguments_of(link.arguments);
            if (caller != nullptr) given.named.emplace_back("caller", *caller);
            line_ = link.line;
            return call(value, std::move(given));
        }
        case LinkKind::filter: {
            if (link.filter == nullptr) throw Failure(unknown_filter(link.name));
            const Arguments given = arguments_of(link.arguments);
            line_ = link.line;
            return link.filter->call(heap_, value, given);
        }
        case LinkKind::test: {
            if (link.test == nullptr) throw Failure(unknown_test(link.name));
            const Arguments given = arguments_of(link.arguments);
            line_ = link.line;
            return Value::boolean(link.test->holds(heap_, value, given) != link.negated);
        }
    }
    throw Failure("a link of an unknown kind");
}

Value Interpreter::slice(const Value& value, const Link& link) {
    const Value start = link.index ? evaluate(*link.index) : Value();
    const Value stop = link.stop ? evaluate(*link.stop) : Value();
    const Value step = link.step ? evaluate(*link.step) : Value();
    line_ = link.line;
    return get_slice(heap_, value, start, stop, step);
}

Value Interpreter::apply_filters(const std::vector<Link>& filters, Value value) {
    for (const Link& link : filters) {
        heap_.step();
        line_ = link.line;
        value = follow(value, link, nullptr);
    }
    return value;
}

Arguments Interpreter::arguments_of(const CallArguments& arguments) {
    Arguments given;
    given.positional.reserve(arguments.positional.size());
    for (const ExpressionPtr& item : arguments.positional) given.positional.push_back(evaluate(*item));
    for (const auto& [name, item] : arguments.named) given.named.emplace_back(name, evaluate(*item));
    if (arguments.star) {
        const Value more = items_of(heap_, evaluate(*arguments.star));
        const auto& items = more.sequence().items;
        heap_.check_items(items.size());
        given.positional.insert(given.positional.end(), items.begin(), items.end());
    }
    if (arguments.double_star) {
        const Value more = evaluate(*arguments.double_star);
        if (!more.is_map())
            throw Failure(fmt::format("argument after ** must be a mapping, not {}", type_name(more)));
        constexpr size_t k_most_named = 256;
        if (more.map().entries.size() > k_most_named) throw Failure("a call has too many named arguments");
        for (const auto& [key, value] : more.map().entries) {
            if (!key.is_string()) throw Failure("keywords must be strings");
            for (const auto& [name, unused] : given.named)
                if (name == key.text())
                    throw Failure(fmt::format("the argument '{}' is given twice", printable(name)));
            given.named.emplace_back(key.text(), value);
        }
    }
    return given;
}

}  // namespace ft::jinja
