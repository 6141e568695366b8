// What a machine must not be, found before it runs.
#include <algorithm>
#include <span>

#include "grammar/machine.h"

namespace ft::grammar {

namespace {

using Kind = Node::Kind;

// Who is asked what it depends on: visit(node) for each node that `of` leads to. Where all must reach the end
// for `of` to do so, that is how many they are, else 1.
template <class Visit>
int visit_needs(const Machine& m, const Node& of, bool through_bytes, Visit visit) {
    switch (of.kind) {
        case Kind::end:
            return 0;
        case Kind::byte:
            if (through_bytes) visit(of.next);
            return 1;
        case Kind::split:
            for (int32_t i = 0; i < of.count; i++) visit(m.targets[index_of(of.arg + i)]);
            return 1;
        case Kind::call:
            visit(of.next);
            visit(m.starts[index_of(of.arg)]);
            return 2;
        case Kind::repeat: {
            const Repeat& repeat = m.repeats[index_of(of.arg)];
            visit(of.next);
            if (repeat.least == 0) return 1;
            visit(m.starts[index_of(repeat.rule)]);
            return 2;
        }
    }
    return 0;
}

// Of each node: whether the end of its rule can be reached from it, by some bytes or, without
// through_bytes, by none. Backwards from the end, each edge once.
std::vector<bool> reaching_end(const Machine& m, bool through_bytes) {
    const size_t n = m.nodes.size();
    std::vector<int32_t> first(n + 1), missing(n);
    for (size_t i = 0; i < n; i++)
        missing[i] =
            visit_needs(m, m.nodes[i], through_bytes, [&](int32_t to) { first[index_of(to) + 1]++; });
    for (size_t i = 0; i < n; i++) first[i + 1] += first[i];
    std::vector<int32_t> from(index_of(first[n])), place(first.begin(), first.end() - 1);
    for (size_t i = 0; i < n; i++)
        visit_needs(m, m.nodes[i], through_bytes,
                    [&](int32_t to) { from[index_of(place[index_of(to)]++)] = static_cast<int32_t>(i); });
    std::vector<bool> reaches(n);
    std::vector<int32_t> todo = {0};
    reaches[0] = true;
    while (!todo.empty()) {
        const size_t id = index_of(todo.back());
        todo.pop_back();
        for (int32_t i = first[id]; i < first[id + 1]; i++) {
            const int32_t user = from[index_of(i)];
            if (--missing[index_of(user)] != 0) continue;
            reaches[index_of(user)] = true;
            todo.push_back(user);
        }
    }
    return reaches;
}

// Ways that can never be completed are taken out, so that no text begins one.
Status cut_endless(Machine& m) {
    const std::vector<bool> reaches = reaching_end(m, true);
    if (!reaches[index_of(m.starts[0])])
        return Error{Code::invalid, "it allows no text that ever ends",
                     "Give every rule that goes on a way out, such as: x ::= \"a\" x | \"b\"."};
    for (Node& node : m.nodes) {
        if (node.kind != Kind::split) continue;
        const auto begin = m.targets.begin() + node.arg;
        const auto kept = std::remove_if(begin, begin + node.count,
                                         [&](int32_t target) { return !reaches[index_of(target)]; });
        node.count = static_cast<int32_t>(kept - begin);
    }
    for (Repeat& repeat : m.repeats)
        if (!reaches[index_of(m.starts[index_of(repeat.rule)])]) repeat.most = 0;
    return {};
}

Status check_empty_repeats(Machine& m, const std::vector<bool>& may_be_empty) {
    for (Repeat& repeat : m.repeats) {
        if (!may_be_empty[index_of(m.starts[index_of(repeat.rule)])]) continue;
        if (repeat.most > k_most_empty_repeats)
            return Error{Code::invalid,
                         fmt::format("it repeats up to {} times what may be empty, and more than {} is not "
                                     "possible",
                                     repeat.most, k_most_empty_repeats),
                         "Repeat something that takes a character at least."};
        repeat.least = 0;
        repeat.may_be_empty = true;
    }
    return {};
}

// The rules that `rule` may begin with, before any byte. seen: of nodes, the last rule that looked at each.
void collect_first_rules(const Machine& m, const std::vector<bool>& may_be_empty, int32_t rule,
                         std::vector<int32_t>& seen, std::vector<int32_t>& out) {
    std::vector<int32_t> todo = {m.starts[index_of(rule)]};
    while (!todo.empty()) {
        const int32_t id = todo.back();
        todo.pop_back();
        if (seen[index_of(id)] == rule) continue;
        seen[index_of(id)] = rule;
        const Node& node = m.nodes[index_of(id)];
        if (node.kind == Kind::split) {
            for (int32_t i = 0; i < node.count; i++) todo.push_back(m.targets[index_of(node.arg + i)]);
        } else if (node.kind == Kind::call || node.kind == Kind::repeat) {
            const bool is_call = node.kind == Kind::call;
            const int32_t callee = is_call ? node.arg : m.repeats[index_of(node.arg)].rule;
            out.push_back(callee);
            if (may_be_empty[index_of(m.starts[index_of(callee)])] ||
                (!is_call && m.repeats[index_of(node.arg)].least == 0))
                todo.push_back(node.next);
        }
    }
}

// waiting: of rules, how many of their first rules are not settled.
Error left_recursion(const Machine& m, const std::vector<std::vector<int32_t>>& firsts,
                     const std::vector<int32_t>& waiting) {
    const auto waits = [&](int32_t rule) { return waiting[index_of(rule)] > 0; };
    const auto next = [&](int32_t rule) { return *std::ranges::find_if(firsts[index_of(rule)], waits); };
    // Rules that wait lead to each other, so a walk along them comes to a circle; one in it has a name,
    // because a repeat's body can only call itself by way of a rule.
    auto rule = static_cast<int32_t>(std::ranges::find_if(waiting, [](int32_t w) { return w > 0; }) -
                                     waiting.begin());
    std::vector<bool> seen(m.starts.size());
    for (; !seen[index_of(rule)]; rule = next(rule)) seen[index_of(rule)] = true;
    while (m.names[index_of(rule)].empty()) rule = next(rule);
    return Error{Code::invalid,
                 fmt::format("rule \"{}\" is left-recursive: it begins with itself, before any text",
                             printable(m.names[index_of(rule)])),
                 "Put what repeats behind the text that it begins with: list ::= item (\",\" item)*."};
}

// Rules whose first rules are all settled are settled: what is left goes in a circle.
Status check_left_recursion(const Machine& m, const std::vector<bool>& may_be_empty) {
    const size_t n = m.starts.size();
    std::vector<std::vector<int32_t>> firsts(n), users(n);
    std::vector<int32_t> seen(m.nodes.size(), -1), waiting(n), todo;
    for (size_t rule = 0; rule < n; rule++) {
        collect_first_rules(m, may_be_empty, static_cast<int32_t>(rule), seen, firsts[rule]);
        waiting[rule] = static_cast<int32_t>(firsts[rule].size());
        for (const int32_t first : firsts[rule]) users[index_of(first)].push_back(static_cast<int32_t>(rule));
        if (firsts[rule].empty()) todo.push_back(static_cast<int32_t>(rule));
    }
    size_t settled = 0;
    for (; !todo.empty(); settled++) {
        const size_t rule = index_of(todo.back());
        todo.pop_back();
        for (const int32_t user : users[rule])
            if (--waiting[index_of(user)] == 0) todo.push_back(user);
    }
    if (settled == n) return {};
    return left_recursion(m, firsts, waiting);
}

}  // namespace

Status check_machine(Machine& machine) {
    if (Status ends = cut_endless(machine); !ends) return ends;
    const std::vector<bool> may_be_empty = reaching_end(machine, false);
    if (Status repeats = check_empty_repeats(machine, may_be_empty); !repeats) return repeats;
    return check_left_recursion(machine, may_be_empty);
}

}  // namespace ft::grammar
