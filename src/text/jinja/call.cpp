// Calling functions, methods, macros and recursive loops.
#include "base/error.h"
#include "text/jinja/interpreter.h"
#include "text/jinja/loop.h"
#include "text/jinja/methods.h"
#include "text/jinja/operators.h"

namespace ft::jinja {

Value Interpreter::call(const Value& callee, Arguments given) {
    switch (callee.kind()) {
        case Kind::undefined:
            fail_undefined(callee);
        case Kind::macro:
            return call_macro(callee.as<MacroObject>(), std::move(given));
        case Kind::loop:
            return call_loop(callee, given);
        case Kind::method: {
            const auto& method = callee.as<MethodObject>();
            return method.method->call(heap_, method.self, given);
        }
        case Kind::function: {
            const auto& function = callee.as<FunctionObject>();
            return function.function->call(environment_, function.self, given);
        }
        case Kind::joiner: {
            const Parameters none("joiner", given, {});
            auto& joiner = callee.as<JoinerObject>();
            return std::exchange(joiner.used, true) ? joiner.separator : heap_.string("");
        }
        default:
            throw Failure(fmt::format("'{}' object is not callable", type_name(callee)));
    }
}

namespace {

// Takes the argument of that name out of `named`.
std::optional<Value> take_named(std::vector<std::pair<std::string, Value>>& named, std::string_view name) {
    for (auto at = named.begin(); at != named.end(); ++at)
        if (at->first == name) {
            Value value = std::move(at->second);
            named.erase(at);
            return value;
        }
    return std::nullopt;
}

}  // namespace

Value Interpreter::call_macro(const MacroObject& object, Arguments given) {
    const MacroStatement& macro = *object.macro;
    if (macro_depth_ >= heap_.limits().macro_depth)
        throw Failure(fmt::format("macros call each other more than {} deep", heap_.limits().macro_depth));
    struct Deeper {
        explicit Deeper(int& d) : depth(d) { depth++; }
        ~Deeper() { depth--; }
        int& depth;
    };
    const Deeper deeper(macro_depth_);
    Inside inside(*this, object.scope, &macro.body.own);
    Scope& scope = inside.scope();
    for (size_t i = 0; i < macro.parameters.size(); i++) {
        const Parameter& parameter = macro.parameters[i];
        std::optional<Value> value;
        if (i < given.positional.size()) value = given.positional[i];
        else value = take_named(given.named, parameter.name);
        if (!value && parameter.otherwise) value = evaluate(*parameter.otherwise);
        scope.set(parameter.id,
                  value ? *std::move(value)
                        : heap_.undefined(fmt::format("parameter '{}' was not provided", parameter.name)));
    }
    if (macro.uses_caller) {
        std::optional<Value> caller = take_named(given.named, "caller");
        scope.set(special_names_[0], caller ? *std::move(caller) : heap_.undefined("No caller defined"));
    }
    if (macro.uses_kwargs) {
        std::vector<std::pair<Value, Value>> entries;
        for (auto& [name, value] : given.named) entries.emplace_back(heap_.string(name), std::move(value));
        scope.set(special_names_[2], heap_.map(std::move(entries)));
    } else if (!given.named.empty()) {
        throw Failure(
            fmt::format("macro '{}' takes no keyword argument '{}'", macro.name, given.named[0].first));
    }
    const size_t n = macro.parameters.size();
    if (macro.uses_varargs) {
        std::vector<Value> more;
        for (size_t i = n; i < given.positional.size(); i++) more.push_back(given.positional[i]);
        scope.set(special_names_[1], heap_.tuple(std::move(more)));
    } else if (given.positional.size() > n) {
        throw Failure(fmt::format("macro '{}' takes not more than {} argument(s)", macro.name, n));
    }
    Capture capture(*this);
    execute(macro.body.statements);
    return heap_.string(capture.take());
}

Value Interpreter::call_loop(const Value& value, const Arguments& given) {
    const Parameters p("loop", given, {"iterable"}, 1);
    const auto& loop = value.as<LoopObject>();
    if (loop.recursive == nullptr)
        throw Failure("The loop must have the 'recursive' marker to be called recursively.");
    if (loop.depth + 1 >= heap_.limits().macro_depth)
        throw Failure(
            fmt::format("a recursive loop calls itself more than {} deep", heap_.limits().macro_depth));
    Capture capture(*this);
    execute_for(*loop.recursive, p[0], loop.scope, loop.depth + 1);
    return heap_.string(capture.take());
}

}  // namespace ft::jinja
