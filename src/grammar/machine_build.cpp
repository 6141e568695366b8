// Trees to nodes, from the end to the beginning: where to go on is known when a part is made.
#include <algorithm>
#include <span>
#include <string_view>

#include "grammar/machine.h"

namespace ft::grammar {

namespace {

constexpr int k_deepest_texts = 256;  // texts that begin with each other

class MachineBuilder {
 public:
    explicit MachineBuilder(const Rules& rules) : rules_(rules) {
        machine_.nodes.emplace_back();  // the end
        machine_.starts.resize(rules.bodies.size());
        machine_.names = rules.names;
    }

    Expected<Machine> build() {
        for (size_t i = 0; i < rules_.bodies.size(); i++) machine_.starts[i] = emit(rules_.bodies[i], 0);
        if (full_)
            return Error{Code::too_large,
                         fmt::format("it needs more than {} states, or {} rules", k_most_nodes, k_most_rules),
                         "Write it shorter: a count as in {0,1000} costs nothing, long texts and lists do."};
        return std::move(machine_);
    }

 private:
    int32_t add(const Node& node) {
        if (full_ || machine_.nodes.size() >= k_most_nodes) {
            full_ = true;
            return 0;
        }
        machine_.nodes.push_back(node);
        return static_cast<int32_t>(machine_.nodes.size()) - 1;
    }

    int32_t add_byte(uint8_t first, uint8_t last, int32_t next) {
        return add({.kind = Node::Kind::byte, .first = first, .last = last, .next = next});
    }

    int32_t add_split(std::span<const int32_t> targets) {
        if (targets.size() == 1) return targets[0];
        const int32_t split = add({.kind = Node::Kind::split});
        set_targets(split, targets);
        return split;
    }

    void set_targets(int32_t split, std::span<const int32_t> targets) {
        if (full_) return;
        Node& node = machine_.nodes[index_of(split)];
        node.arg = static_cast<int32_t>(machine_.targets.size());
        node.count = static_cast<int32_t>(targets.size());
        machine_.targets.insert(machine_.targets.end(), targets.begin(), targets.end());
    }

    // The node that `expr` begins with, where `next` is what follows it.
    int32_t emit(const Expr& expr, int32_t next) {
        if (full_) return 0;
        switch (expr.kind) {
            case Expr::Kind::text:
                return emit_text(expr.texts[0], next);
            case Expr::Kind::texts: {
                std::vector<std::string_view> sorted(expr.texts.begin(), expr.texts.end());
                std::sort(sorted.begin(), sorted.end());
                sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
                return emit_texts(sorted, 0, next, 0);
            }
            case Expr::Kind::chars:
                return emit_chars(expr.chars, next);
            case Expr::Kind::rule:
                return add({.kind = Node::Kind::call, .next = next, .arg = expr.rule});
            case Expr::Kind::sequence:
                for (auto part = expr.parts.rbegin(); part != expr.parts.rend(); ++part)
                    next = emit(*part, next);
                return next;
            case Expr::Kind::choice: {
                std::vector<int32_t> targets;
                for (const Expr& part : expr.parts) targets.push_back(emit(part, next));
                return add_split(targets);
            }
            case Expr::Kind::repeat:
                return emit_repeat(expr, next);
        }
        return next;
    }

    int32_t emit_text(std::string_view text, int32_t next) {
        for (size_t i = text.size(); i > 0 && !full_; i--) {
            const auto byte = static_cast<uint8_t>(text[i - 1]);
            next = add_byte(byte, byte, next);
        }
        return next;
    }

    // Texts that are equal up to `done`: what they have in common first, then a split.
    int32_t emit_texts(std::span<const std::string_view> sorted, size_t done, int32_t next, int level) {
        if (sorted.empty()) return add_split({});
        const std::string_view first = sorted.front(), last = sorted.back();
        if (sorted.size() == 1) return emit_text(first.substr(done), next);
        const auto differ = std::mismatch(first.begin(), first.end(), last.begin(), last.end());
        const size_t common = static_cast<size_t>(differ.first - first.begin());
        std::vector<int32_t> targets;
        for (size_t i = 0; i < sorted.size() && !full_;) {
            size_t end = i + 1;
            if (sorted[i].size() == common) {
                targets.push_back(next);
            } else if (level < k_deepest_texts) {
                while (end < sorted.size() && sorted[end][common] == sorted[i][common]) end++;
                targets.push_back(emit_texts(sorted.subspan(i, end - i), common, next, level + 1));
            } else {
                targets.push_back(emit_text(sorted[i].substr(common), next));
            }
            i = end;
        }
        return emit_text(first.substr(done, common - done), add_split(targets));
    }

    int32_t emit_chars(const CodeSet& set, int32_t next) {
        // Characters share their last bytes: those that have been made, by their range and what follows.
        std::vector<int32_t> made, targets;
        for (const ByteRanges& ranges : utf8_ranges(set)) {
            int32_t node = next;
            for (auto range = ranges.rbegin(); range != ranges.rend(); ++range) {
                const auto same = std::find_if(made.begin(), made.end(), [&](int32_t id) {
                    const Node& n = machine_.nodes[index_of(id)];
                    return n.first == range->first && n.last == range->last && n.next == node;
                });
                if (same != made.end()) {
                    node = *same;
                    continue;
                }
                node = add_byte(range->first, range->last, node);
                if (made.size() < 64) made.push_back(node);
            }
            targets.push_back(node);
            if (full_) return 0;
        }
        return add_split(targets);
    }

    int32_t emit_repeat(const Expr& expr, int32_t next) {
        const Expr& part = expr.parts[0];
        if (expr.most == 0) return next;
        if (expr.most == 1) {
            const int32_t once = emit(part, next);
            return expr.least == 1 ? once : add_split(std::vector{once, next});
        }
        if (expr.most == k_no_limit && expr.least <= 1) {
            const int32_t again = add({.kind = Node::Kind::split});
            const int32_t body = emit(part, again);
            set_targets(again, std::vector{body, next});
            return expr.least == 0 ? again : body;
        }
        if (machine_.starts.size() >= k_most_rules) full_ = true;
        if (full_) return 0;
        const auto rule = static_cast<int32_t>(machine_.starts.size());
        machine_.starts.push_back(0);
        machine_.names.emplace_back();
        machine_.starts[index_of(rule)] = emit(part, 0);
        machine_.repeats.push_back({.rule = rule, .least = expr.least, .most = expr.most});
        return add({.kind = Node::Kind::repeat,
                    .next = next,
                    .arg = static_cast<int32_t>(machine_.repeats.size()) - 1});
    }

    const Rules& rules_;
    Machine machine_;
    bool full_ = false;
};

}  // namespace

Expected<Machine> build_machine(const Rules& rules) {
    if (rules.bodies.size() > k_most_rules)
        return Error{Code::too_large, fmt::format("it has more than {} rules", k_most_rules),
                     "Write it shorter."};
    Expected<Machine> machine = MachineBuilder(rules).build();
    if (!machine) return machine;
    if (Status good = check_machine(*machine); !good) return good.error();
    return machine;
}

}  // namespace ft::grammar
