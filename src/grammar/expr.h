// Rules as trees: what the parsers make, and machine_build.cpp turns into a machine.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "grammar/code_set.h"

namespace ft::grammar {

struct Expr {
    enum class Kind : uint8_t {
        text,      // texts[0], which may be empty
        texts,     // one of `texts`
        chars,     // one character of `chars`
        rule,      // what rule number `rule` allows
        sequence,  // `parts`, one after the other
        choice,    // one of `parts`; without any: nothing at all is allowed
        repeat,    // parts[0], `least` to `most` times
    };
    Kind kind = Kind::text;
    int rule = 0;
    int64_t least = 0, most = 0;  // most k_no_limit: any number
    std::vector<std::string> texts;
    CodeSet chars;
    std::vector<Expr> parts;
};

constexpr int64_t k_no_limit = -1;

inline Expr text_of(std::string text) {
    Expr e;
    e.texts.push_back(std::move(text));
    return e;
}

inline Expr any_text_of(std::vector<std::string> texts) {
    Expr e;
    e.kind = Expr::Kind::texts;
    e.texts = std::move(texts);
    return e;
}

inline Expr one_char(CodeSet set) {
    Expr e;
    e.kind = Expr::Kind::chars;
    e.chars = normal(std::move(set));
    return e;
}

inline Expr rule_of(int rule) {
    Expr e;
    e.kind = Expr::Kind::rule;
    e.rule = rule;
    return e;
}

inline Expr sequence_of(std::vector<Expr> parts) {
    Expr e;
    e.kind = Expr::Kind::sequence;
    e.parts = std::move(parts);
    return e;
}

inline Expr choice_of(std::vector<Expr> parts) {
    Expr e;
    e.kind = Expr::Kind::choice;
    e.parts = std::move(parts);
    return e;
}

template <class... Parts>
Expr in_order(Parts... parts) {
    Expr e;
    e.kind = Expr::Kind::sequence;
    e.parts.reserve(sizeof...(parts));
    (e.parts.push_back(std::move(parts)), ...);
    return e;
}

template <class... Parts>
Expr either(Parts... parts) {
    Expr e = in_order(std::move(parts)...);
    e.kind = Expr::Kind::choice;
    return e;
}

inline Expr repeated(Expr part, int64_t least, int64_t most) {
    Expr e;
    e.kind = Expr::Kind::repeat;
    e.least = least;
    e.most = most;
    e.parts.push_back(std::move(part));
    return e;
}

inline Expr maybe(Expr part) { return repeated(std::move(part), 0, 1); }

struct Rules {
    std::vector<std::string> names;  // for messages; "": one that has none
    std::vector<Expr> bodies;        // rule 0 is the whole text

    int add(std::string name, Expr body = {}) {
        names.push_back(std::move(name));
        bodies.push_back(std::move(body));
        return static_cast<int>(bodies.size()) - 1;
    }
};

}  // namespace ft::grammar
