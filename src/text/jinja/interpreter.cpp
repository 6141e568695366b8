#include "text/jinja/interpreter.h"

#include <algorithm>

#include "base/error.h"
#include "text/jinja/loop.h"
#include "text/jinja/operators.h"
#include "text/jinja/show.h"

namespace ft::jinja {

const Value* Scope::find(NameId name) const {
    for (const auto& [id, value] : variables)
        if (id == name) return &value;
    return nullptr;
}

void Scope::set(NameId name, Value value) {
    for (auto& [id, old] : variables)
        if (id == name) {
            old = std::move(value);
            return;
        }
    variables.emplace_back(name, std::move(value));
}

Interpreter::Interpreter(const Template& parsed, const Limits& limits, std::optional<LocalTime> now)
    : template_(parsed), heap_(limits), environment_{heap_, now, {}} {
    const auto id_of = [&](std::string_view name) {
        const auto at = std::find(parsed.names.begin(), parsed.names.end(), name);
        return at == parsed.names.end() ? ~0U : static_cast<NameId>(at - parsed.names.begin());
    };
    loop_name_ = id_of("loop");
    special_names_[0] = id_of("caller");
    special_names_[1] = id_of("varargs");
    special_names_[2] = id_of("kwargs");
}

// What holds itself would otherwise stay alive.
Interpreter::~Interpreter() {
    for (const Value& each : environment_.may_hold_itself) {
        if (each.is(Kind::name_space)) each.as<NamespaceObject>().attributes.clear();
        else each.as<LoopObject>().last_changed = Value();
    }
    for (Scope& scope : scopes_) scope.variables.clear();
}

Interpreter::Level::Level(Interpreter& interpreter) : interpreter_(interpreter) {
    if (interpreter_.depth_ >= interpreter_.heap_.limits().eval_depth)
        throw Failure("the template's macros and blocks are nested too deep");
    interpreter_.depth_++;
}

Scope* Interpreter::push_scope(Scope* outer) {
    Scope* scope = nullptr;
    if (!free_scopes_.empty()) {
        scope = free_scopes_.back();
        free_scopes_.pop_back();
    } else {
        heap_.charge(sizeof(Scope) + 64);
        scope = &scopes_.emplace_back();
    }
    scope->outer = outer;
    return scope;
}

void Interpreter::pop_scope(Scope* scope) {
    if (scope->captured) return;
    scope->variables.clear();
    free_scopes_.push_back(scope);
}

void Interpreter::capture(Scope* scope) {
    for (; scope != nullptr && !scope->captured; scope = scope->outer) scope->captured = true;
}

std::string Interpreter::run(const Value& context) {
    globals_.reserve(template_.names.size());
    for (const std::string& name : template_.names) {
        if (const Value* given = context.map().find(std::string_view(name))) {
            globals_.push_back(*given);
            continue;
        }
        std::optional<Value> function = global_function(heap_, name);
        globals_.push_back(function ? *std::move(function)
                                    : heap_.undefined(fmt::format("'{}' is undefined", printable(name))));
    }
    try {
        const Inside top(*this, nullptr, &template_.body.own);
        execute(template_.body.statements);
    } catch (const Failure& failure) {
        if (failure.line != 0) throw;
        throw Failure(failure.what(), line_);
    }
    return std::move(output_);
}

void Interpreter::write(std::string_view text) {
    heap_.work(text.size());
    heap_.check_string(output_.size() + text.size());
    heap_.charge(text.size());
    output_charged_ += text.size();
    output_ += text;
}

Interpreter::Capture::Capture(Interpreter& interpreter)
    : interpreter_(interpreter),
      waiting_(std::exchange(interpreter.output_, {})),
      waiting_charged_(std::exchange(interpreter.output_charged_, 0)) {}

Interpreter::Capture::~Capture() {
    interpreter_.heap_.release(interpreter_.output_charged_);
    interpreter_.output_ = std::move(waiting_);
    interpreter_.output_charged_ = waiting_charged_;
}

std::string Interpreter::Capture::take() {
    interpreter_.heap_.release(std::exchange(interpreter_.output_charged_, 0));
    return std::exchange(interpreter_.output_, {});
}

Interpreter::Flow Interpreter::execute(const Block& block) {
    const Level level(*this);
    for (const auto& statement : block) {
        const Flow flow = execute(*statement);
        if (flow != Flow::next) return flow;
    }
    return Flow::next;
}

Interpreter::Flow Interpreter::execute(const Statement& statement) {
    heap_.step();
    line_ = statement.line;
    switch (statement.kind) {
        case StatementKind::text:
            write(static_cast<const TextStatement&>(statement).text);
            break;
        case StatementKind::print:
            print(static_cast<const PrintStatement&>(statement));
            break;
        case StatementKind::branch:
            return execute_if(static_cast<const IfStatement&>(statement));
        case StatementKind::loop: {
            const auto& loop = static_cast<const ForStatement&>(statement);
            execute_for(loop, evaluate(*loop.items), scope_, 0);
            break;
        }
        case StatementKind::set: {
            const auto& set = static_cast<const SetStatement&>(statement);
            const Value value = evaluate(*set.value);
            line_ = statement.line;
            assign(set.target, value);
            break;
        }
        case StatementKind::set_block:
            execute_set_block(static_cast<const SetBlockStatement&>(statement));
            break;
        case StatementKind::macro: {
            const auto& macro = static_cast<const MacroStatement&>(statement);
            capture(scope_);
            scope_->set(macro.id, heap_.make<MacroObject>(Kind::macro, sizeof(MacroObject), &macro, scope_));
            break;
        }
        case StatementKind::call:
            execute_call_block(static_cast<const CallStatement&>(statement));
            break;
        case StatementKind::filter: {
            const auto& filter = static_cast<const FilterStatement&>(statement);
            write(to_text(heap_, apply_filters(filter.filters, block_text(filter.body))));
            break;
        }
        case StatementKind::with:
            return execute_with(static_cast<const WithStatement&>(statement));
        case StatementKind::scoped:
            return execute_inside(static_cast<const ScopedStatement&>(statement).body);
        case StatementKind::leave:
            return Flow::leave;
        case StatementKind::next:
            return Flow::turn;
    }
    return Flow::next;
}

void Interpreter::print(const PrintStatement& statement) {
    for (const ExpressionPtr& expression : statement.values) {
        const Value value = evaluate(*expression);
        if (value.is_string()) write(value.text());
        else write(to_text(heap_, value));
    }
}

Interpreter::Flow Interpreter::execute_if(const IfStatement& statement) {
    for (const IfStatement::Branch& branch : statement.branches) {
        heap_.step();
        if (truth(evaluate(*branch.test))) return execute(branch.body);
    }
    return execute(statement.otherwise);
}

// What is left of the items after the loop's `if`.
Value Interpreter::chosen_items(const ForStatement& statement, const Value& iterable) {
    Value items = items_of(heap_, iterable);
    if (!statement.filter) return items;
    std::vector<Value> chosen;
    for (const Value& item : items.sequence().items) {
        heap_.step();
        const Inside inside(*this, scope_, nullptr);
        assign(statement.target, item);
        if (truth(evaluate(*statement.filter))) chosen.push_back(item);
    }
    return heap_.list(std::move(chosen));
}

// scope: the one around the loop, which is not the current one when a recursive loop calls itself.
void Interpreter::execute_for(const ForStatement& statement, const Value& iterable, Scope* scope, int depth) {
    line_ = statement.line;
    const Value made = heap_.make<LoopObject>(Kind::loop, sizeof(LoopObject));
    auto& loop = made.as<LoopObject>();
    {
        const Inside around(*this, scope, nullptr);
        loop.items = chosen_items(statement, iterable);
    }
    loop.depth = depth;
    if (statement.recursive) {
        capture(scope);
        loop.recursive = &statement;
        loop.scope = scope;
    }
    // The sequence stays alive by itself: a loop variable may be kept beyond the loop, its items may not
    // change.
    const Value sequence = loop.items;
    const auto& items = sequence.sequence().items;
    for (size_t i = 0; i < items.size(); i++) {
        heap_.step();
        loop.index = static_cast<int64_t>(i);
        const Inside turn(*this, scope, &statement.body.own);
        line_ = statement.line;
        assign(statement.target, items[i]);
        if (loop_name_ != ~0U) scope_->set(loop_name_, made);
        if (execute(statement.body.statements) == Flow::leave) break;
    }
    if (!items.empty()) return;
    const Inside otherwise(*this, scope, &statement.otherwise.own);
    execute(statement.otherwise.statements);
}

Interpreter::Flow Interpreter::execute_inside(const Body& body) {
    const Inside inside(*this, scope_, &body.own);
    return execute(body.statements);
}

// What a block with variables of its own writes.
Value Interpreter::block_text(const Body& body) {
    Capture capture(*this);
    execute_inside(body);
    return heap_.string(capture.take());
}

void Interpreter::execute_set_block(const SetBlockStatement& statement) {
    const Value text = apply_filters(statement.filters, block_text(statement.body));
    line_ = statement.line;
    assign(statement.target, text);
}

void Interpreter::execute_call_block(const CallStatement& statement) {
    capture(scope_);
    const Value caller =
        heap_.make<MacroObject>(Kind::macro, sizeof(MacroObject), statement.caller.get(), scope_);
    write(to_text(heap_, evaluate_chain(*statement.call, &caller)));
}

Interpreter::Flow Interpreter::execute_with(const WithStatement& statement) {
    std::vector<Value> values;
    for (const auto& [target, expression] : statement.variables) values.push_back(evaluate(*expression));
    const Inside inside(*this, scope_, &statement.body.own);
    for (size_t i = 0; i < values.size(); i++) assign(statement.variables[i].first, values[i]);
    return execute(statement.body.statements);
}

void Interpreter::assign(const Target& target, const Value& value) {
    if (target.kind == Target::Kind::name) {
        scope_->set(target.name, value);
        return;
    }
    if (target.kind == Target::Kind::attribute) {
        const NameExpression name(target.name, line_);
        const Value owner = evaluate_name(name);
        if (!owner.is(Kind::name_space)) throw Failure("cannot assign attribute on non-namespace object");
        heap_.charge(64);
        owner.as<NamespaceObject>().set(target.attribute, value);
        return;
    }
    if (!is_iterable(value))
        throw Failure(fmt::format("cannot unpack non-iterable {} object", type_name(value)));
    const Value items = items_of(heap_, value);
    const auto& parts = items.sequence().items;
    if (parts.size() > target.items.size())
        throw Failure(fmt::format("too many values to unpack (expected {})", target.items.size()));
    if (parts.size() < target.items.size())
        throw Failure(fmt::format("not enough values to unpack (expected {}, got {})", target.items.size(),
                                  parts.size()));
    for (size_t i = 0; i < parts.size(); i++) assign(target.items[i], parts[i]);
}

}  // namespace ft::jinja
