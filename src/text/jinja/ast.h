// The parsed template. What stands in a row in the source (a + b + c, x|f|g, a.b[c].d, elif, a and b) is a
// list here, not a chain of nodes: evaluating or destroying a long one takes no stack. Real nesting is
// limited by the parser.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "text/jinja/numbers.h"
#include "text/jinja/value.h"

namespace ft::jinja {

struct Filter;  // filters.h
struct Test;    // tests.h

using NameId = uint32_t;  // index into Template's names

enum class ExpressionKind : uint8_t {
    constant,
    name,
    sequence,
    dict,
    sign,
    negation,
    arithmetic,
    concat,
    compare,
    logic,
    choice,
    chain
};

struct Expression {
    Expression(ExpressionKind k, int at) : kind(k), line(at) {}
    virtual ~Expression() = default;
    ExpressionKind kind;
    int line;
};
using ExpressionPtr = std::unique_ptr<Expression>;

struct ConstantExpression : Expression {
    ConstantExpression(Value v, int at) : Expression(ExpressionKind::constant, at), value(std::move(v)) {}
    ConstantExpression(std::string text, int at) : Expression(ExpressionKind::constant, at) {
        owned = std::make_unique<StringObject>(std::move(text), false);
        owned->refs = Object::k_immortal;
        value = Value(Kind::string, owned.get());
    }
    std::unique_ptr<StringObject> owned;  // never counted, so that threads can share it
    Value value;
};

struct NameExpression : Expression {
    NameExpression(NameId n, int at) : Expression(ExpressionKind::name, at), name(n) {}
    NameId name;
};

struct SequenceExpression : Expression {
    SequenceExpression(bool t, int at) : Expression(ExpressionKind::sequence, at), tuple(t) {}
    bool tuple;
    std::vector<ExpressionPtr> items;
};

struct DictExpression : Expression {
    explicit DictExpression(int at) : Expression(ExpressionKind::dict, at) {}
    std::vector<std::pair<ExpressionPtr, ExpressionPtr>> entries;
};

struct SignExpression : Expression {
    SignExpression(bool n, int at) : Expression(ExpressionKind::sign, at), negative(n) {}
    bool negative;
    ExpressionPtr operand;
};

struct NegationExpression : Expression {
    explicit NegationExpression(int at) : Expression(ExpressionKind::negation, at) {}
    ExpressionPtr operand;
};

// first op operand op operand …, from the left
struct ArithmeticExpression : Expression {
    explicit ArithmeticExpression(int at) : Expression(ExpressionKind::arithmetic, at) {}
    ExpressionPtr first;
    std::vector<std::pair<Arithmetic, ExpressionPtr>> rest;
};

struct ConcatExpression : Expression {
    explicit ConcatExpression(int at) : Expression(ExpressionKind::concat, at) {}
    std::vector<ExpressionPtr> items;
};

enum class Comparison : uint8_t { equal, not_equal, less, less_equal, greater, greater_equal, in, not_in };

// a < b < c holds when every neighbouring pair does
struct CompareExpression : Expression {
    explicit CompareExpression(int at) : Expression(ExpressionKind::compare, at) {}
    ExpressionPtr first;
    std::vector<std::pair<Comparison, ExpressionPtr>> rest;
};

struct LogicExpression : Expression {
    LogicExpression(bool a, int at) : Expression(ExpressionKind::logic, at), all(a) {}
    bool all;  // and; else or
    std::vector<ExpressionPtr> items;
};

// value if test [else otherwise] [if test …]: the last test decides first
struct ChoiceExpression : Expression {
    explicit ChoiceExpression(int at) : Expression(ExpressionKind::choice, at) {}
    struct Branch {
        ExpressionPtr test;
        ExpressionPtr otherwise;  // may be null
    };
    ExpressionPtr value;
    std::vector<Branch> branches;
};

struct CallArguments {
    std::vector<ExpressionPtr> positional;
    std::vector<std::pair<std::string, ExpressionPtr>> named;
    ExpressionPtr star;         // *list
    ExpressionPtr double_star;  // **map
};

enum class LinkKind : uint8_t { attribute, item, slice, call, filter, test };

// One step after a value: .name [index] [a:b:c] (…) |filter(…) is test(…)
struct Link {
    LinkKind kind;
    int line;
    std::string name;          // attribute, filter, test
    bool negated = false;      // is not
    ExpressionPtr index;       // item; start of a slice
    ExpressionPtr stop, step;  // slice; null where left out
    CallArguments arguments;   // call, filter, test
    const Filter* filter = nullptr;
    const Test* test = nullptr;
};

struct ChainExpression : Expression {
    explicit ChainExpression(int at) : Expression(ExpressionKind::chain, at) {}
    ExpressionPtr first;
    std::vector<Link> links;
};

enum class StatementKind : uint8_t {
    text,
    print,
    branch,
    loop,
    set,
    set_block,
    macro,
    call,
    filter,
    with,
    scoped,
    leave,
    next
};

struct Statement {
    Statement(StatementKind k, int at) : kind(k), line(at) {}
    virtual ~Statement() = default;
    StatementKind kind;
    int line;
};
using Block = std::vector<std::unique_ptr<Statement>>;

// A block with variables of its own. Which block a name belongs to is decided by the source, not by what has
// run: a name that a block sets (not only inside an if) and does not read before belongs to it from its start
// on, so that blocks inside it that read the name too early find it undefined, even where the context has one
// of that name.
struct Body {
    Block statements;
    std::vector<NameId>
        own;  // such names; those that a block further out mentions are shared with that one instead
};

struct TextStatement : Statement {
    TextStatement(std::string t, int at) : Statement(StatementKind::text, at), text(std::move(t)) {}
    std::string text;
};

struct PrintStatement : Statement {
    explicit PrintStatement(int at) : Statement(StatementKind::print, at) {}
    std::vector<ExpressionPtr> values;
};

struct IfStatement : Statement {
    explicit IfStatement(int at) : Statement(StatementKind::branch, at) {}
    struct Branch {
        ExpressionPtr test;
        Block body;
    };
    std::vector<Branch> branches;
    Block otherwise;
};

// What a set or for assigns to: a name, an attribute of a namespace, or several of these
struct Target {
    enum class Kind : uint8_t { name, attribute, several };
    Kind kind = Kind::name;
    NameId name = 0;
    std::string attribute;
    std::vector<Target> items;
};

struct ForStatement : Statement {
    explicit ForStatement(int at) : Statement(StatementKind::loop, at) {}
    Target target;
    ExpressionPtr items;
    ExpressionPtr filter;  // null without `if`
    bool recursive = false;
    Body body;
    Body otherwise;
};

struct SetStatement : Statement {
    explicit SetStatement(int at) : Statement(StatementKind::set, at) {}
    Target target;
    ExpressionPtr value;
};

struct SetBlockStatement : Statement {
    explicit SetBlockStatement(int at) : Statement(StatementKind::set_block, at) {}
    Target target;
    std::vector<Link> filters;
    Body body;
};

struct Parameter {
    std::string name;
    NameId id = 0;
    ExpressionPtr otherwise;  // default; null when it has none
};

struct MacroStatement : Statement {
    explicit MacroStatement(int at) : Statement(StatementKind::macro, at) {}
    std::string name;
    NameId id = 0;
    std::vector<Parameter> parameters;
    bool uses_caller = false, uses_varargs = false, uses_kwargs = false;  // the body names them
    Body body;
};

struct CallStatement : Statement {
    explicit CallStatement(int at) : Statement(StatementKind::call, at) {}
    std::unique_ptr<ChainExpression> call;  // its last link is a call
    std::unique_ptr<MacroStatement> caller;
};

struct FilterStatement : Statement {
    explicit FilterStatement(int at) : Statement(StatementKind::filter, at) {}
    std::vector<Link> filters;
    Body body;
};

struct WithStatement : Statement {
    explicit WithStatement(int at) : Statement(StatementKind::with, at) {}
    std::vector<std::pair<Target, ExpressionPtr>> variables;
    Body body;
};

// generation … endgeneration: transparent for the output, variables set inside stay inside
struct ScopedStatement : Statement {
    explicit ScopedStatement(int at) : Statement(StatementKind::scoped, at) {}
    Body body;
};

// break and continue: StatementKind::leave and next, plain Statements

}  // namespace ft::jinja
