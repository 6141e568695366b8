// Renders a parsed template once. Statements: interpreter.cpp; expressions: evaluate.cpp; calls and macros:
// call.cpp.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "text/jinja/callables.h"
#include "text/jinja/heap.h"
#include "text/jinja/template.h"

namespace ft::jinja {

// Variables of one block. Reading looks outwards, setting stays inside.
struct Scope {
    Scope* outer = nullptr;
    const std::vector<NameId>* own = nullptr;  // names that are not looked for further out: see Body
    std::vector<std::pair<NameId, Value>> variables;
    bool captured = false;  // a macro may still look into it: not used again before the rendering ends

    const Value* find(NameId name) const;
    void set(NameId name, Value value);
};

class Interpreter {
 public:
    Interpreter(const Template& parsed, const Limits& limits, std::optional<LocalTime> now);
    ~Interpreter();
    Interpreter(const Interpreter&) = delete;
    Interpreter& operator=(const Interpreter&) = delete;

    Heap& heap() { return heap_; }
    // context: a map. Fails with the line of the statement that failed.
    std::string run(const Value& context);

 private:
    enum class Flow : uint8_t { next, leave, turn };  // what a statement asks of the loop around it

    // ---- statements
    Flow execute(const Block& block);
    Flow execute(const Statement& statement);
    void print(const PrintStatement& statement);
    void write(std::string_view text);
    Flow execute_if(const IfStatement& statement);
    void execute_for(const ForStatement& statement, const Value& iterable, Scope* scope, int depth);
    Value chosen_items(const ForStatement& statement, const Value& iterable);
    Flow execute_inside(const Body& body);
    Value block_text(const Body& body);
    void execute_set_block(const SetBlockStatement& statement);
    void execute_call_block(const CallStatement& statement);
    Flow execute_with(const WithStatement& statement);
    void assign(const Target& target, const Value& value);

    // ---- expressions
    Value evaluate(const Expression& expression);
    Value evaluate_name(const NameExpression& name);
    Value evaluate_sequence(const SequenceExpression& sequence);
    Value evaluate_dict(const DictExpression& dict);
    Value evaluate_arithmetic(const ArithmeticExpression& arithmetic);
    Value evaluate_concat(const ConcatExpression& concat);
    Value evaluate_compare(const CompareExpression& compare);
    Value evaluate_logic(const LogicExpression& logic);
    Value evaluate_choice(const ChoiceExpression& choice);
    Value evaluate_chain(const ChainExpression& chain, const Value* caller = nullptr);
    Value follow(const Value& value, const Link& link, const Value* caller);
    Value slice(const Value& value, const Link& link);
    Value apply_filters(const std::vector<Link>& filters, Value value);
    Arguments arguments_of(const CallArguments& arguments);

    // ---- calls
    Value call(const Value& callee, Arguments given);
    Value call_macro(const MacroObject& macro, Arguments given);
    Value call_loop(const Value& loop, const Arguments& given);

    Scope* push_scope(Scope* outer);
    void pop_scope(Scope* scope);
    void capture(Scope* scope);

    // Enters a scope while it lives.
    class Inside {
     public:
        // own: those of the Body that is entered, null for a scope that holds no variables of the source's
        // own
        Inside(Interpreter& interpreter, Scope* outer, const std::vector<NameId>* own)
            : interpreter_(interpreter), before_(interpreter.scope_), scope_(interpreter.push_scope(outer)) {
            scope_->own = own;
            interpreter_.scope_ = scope_;
        }
        ~Inside() {
            interpreter_.scope_ = before_;
            interpreter_.pop_scope(scope_);
        }
        Inside(const Inside&) = delete;
        Inside& operator=(const Inside&) = delete;
        Scope& scope() { return *scope_; }

     private:
        Interpreter& interpreter_;
        Scope* before_;
        Scope* scope_;
    };

    // Collects what is written while it lives; what was written before waits.
    class Capture {
     public:
        explicit Capture(Interpreter& interpreter);
        ~Capture();
        Capture(const Capture&) = delete;
        Capture& operator=(const Capture&) = delete;
        std::string take();

     private:
        Interpreter& interpreter_;
        std::string waiting_;
        uint64_t waiting_charged_;
    };

    // One level of nested evaluation while it lives.
    class Level {
     public:
        explicit Level(Interpreter& interpreter);
        ~Level() { interpreter_.depth_--; }
        Level(const Level&) = delete;
        Level& operator=(const Level&) = delete;

     private:
        Interpreter& interpreter_;
    };

    const Template& template_;
    Heap heap_;  // first: it outlives the values below
    Environment environment_;
    std::vector<Value> globals_;  // by NameId: the context's value, a function, or undefined
    std::deque<Scope> scopes_;
    std::vector<Scope*> free_scopes_;
    Scope* scope_ = nullptr;
    std::string output_;
    uint64_t output_charged_ = 0;
    NameId loop_name_ = ~0U;
    NameId special_names_[3] = {~0U, ~0U, ~0U};  // caller, varargs, kwargs
    int depth_ = 0;
    int macro_depth_ = 0;
    int line_ = 0;  // of what is being evaluated
};

}  // namespace ft::jinja
