// A parsed Go template.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace ft::go {

struct Function;  // functions.h
struct Pipeline;

enum class OperandKind : uint8_t { dot, nil, boolean, integer, real, text, variable, call, pipeline };

// A value, and the fields that are read of it, outermost first: .Function.Name is the dot with two.
struct Operand {
    OperandKind kind = OperandKind::dot;
    int64_t integer = 0;  // boolean, integer; of a variable its place among those of its template, 0 is $
    double real = 0;
    std::string text;
    const Function* function = nullptr;  // call: of a function without arguments
    std::shared_ptr<Pipeline> inner;     // pipeline: in parentheses
    std::vector<std::string> path;
};

// A value, or a function and its arguments.
struct Command {
    const Function* function = nullptr;
    std::vector<Operand> operands;  // arguments; without a function the one value
};

struct Pipeline {
    std::vector<size_t> variables;  // places that it sets
    std::vector<Command> commands;  // the value of each is the last argument of the next
    int line = 1;
};

enum class NodeKind : uint8_t { text, action, branch, with, range, leave, next, call };

struct Node;
using Block = std::vector<Node>;

struct Node {
    NodeKind kind = NodeKind::text;
    int line = 1;
    uint32_t order = 0;  // rising through the source
    std::string text;    // text; the name that a call calls
    Pipeline pipeline;   // without commands: a call without data
    Block body, otherwise;
};

struct Template {
    Block body;
    std::map<std::string, Block, std::less<>> defined;  // by define and block
    bool reads_messages = false;                        // .Messages, in any case of letters
    uint32_t response = UINT32_MAX;                     // order of the first action of `body` with .Response
};

}  // namespace ft::go
