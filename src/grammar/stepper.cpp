#include "grammar/stepper.h"

#include <algorithm>
#include <utility>

namespace ft::grammar {

namespace {

constexpr uint64_t k_free = ~uint64_t{0};

uint64_t mixed(uint64_t value) {
    value *= 0x9E3779B97F4A7C15;
    return value ^ (value >> 29);
}

uint64_t as_number(Config config) {
    return (static_cast<uint64_t>(static_cast<uint32_t>(config.node)) << 32) |
           static_cast<uint32_t>(config.stack);
}

}  // namespace

size_t Stacks::slot_of(const Frame& frame) const {
    const uint64_t place =
        (static_cast<uint64_t>(static_cast<uint32_t>(frame.node)) << 32) | static_cast<uint32_t>(frame.below);
    size_t slot = mixed(place ^ mixed(static_cast<uint64_t>(frame.rounds))) & (slots_.size() - 1);
    for (; slots_[slot] >= 0; slot = (slot + 1) & (slots_.size() - 1)) {
        const Frame& other = top(slots_[slot]);
        if (other.node == frame.node && other.below == frame.below && other.rounds == frame.rounds) break;
    }
    return slot;
}

void Stacks::grow() {
    slots_.assign(std::max<size_t>(64, slots_.size() * 2), -1);
    for (size_t i = 0; i < frames_.size(); i++) slots_[slot_of(frames_[i])] = static_cast<int32_t>(i);
}

int32_t Stacks::push(int32_t below, int32_t node, int64_t rounds) {
    const int32_t depth = below == k_empty ? 1 : top(below).depth + 1;
    if (depth > k_deepest) return k_too_deep;
    if (frames_.size() * 2 >= slots_.size()) grow();
    const Frame frame = {node, below, depth, rounds};
    int32_t& id = slots_[slot_of(frame)];
    if (id < 0) {
        id = static_cast<int32_t>(frames_.size());
        frames_.push_back(frame);
    }
    return id;
}

void Stacks::clear() {
    frames_.clear();
    slots_.clear();
}

Status Stepper::start(Stacks& stacks, Configs& out) {
    out.clear();
    close({machine_->starts[0], Stacks::k_empty}, stacks, out);
    return finish(out);
}

Status Stepper::step(const Configs& from, uint8_t byte, Stacks& stacks, Configs& out) {
    out.clear();
    for (const Config& config : from) {
        if (config.node == Config::k_done) continue;
        const Node& node = machine_->nodes[index_of(config.node)];
        if (node.first <= byte && byte <= node.last) close({node.next, config.stack}, stacks, out);
    }
    return finish(out);
}

Status Stepper::finish(Configs& out) {
    clear_seen();
    todo_.clear();
    std::sort(out.begin(), out.end());
    out.erase(std::unique(out.begin(), out.end()), out.end());
    if (!std::exchange(too_many_, false) && out.size() <= k_most_configs) return {};
    out.clear();
    return Error{Code::too_large, fmt::format("it leaves more than {} ways open at once", k_most_configs),
                 "Write it so that fewer rules may apply to the same text."};
}

// What can be reached from `from` without a byte: the nodes that wait for one.
void Stepper::close(Config from, Stacks& stacks, Configs& out) {
    todo_.push_back(from);
    while (!todo_.empty() && !too_many_) {
        const Config at = todo_.back();
        todo_.pop_back();
        if (!first_visit(at)) continue;
        const Node& node = machine_->nodes[index_of(at.node)];
        switch (node.kind) {
            case Node::Kind::end:
                leave(at.stack, stacks, out);
                break;
            case Node::Kind::byte:
                out.push_back(at);
                break;
            case Node::Kind::split:
                for (int32_t i = 0; i < node.count; i++)
                    todo_.push_back({machine_->targets[index_of(node.arg + i)], at.stack});
                break;
            case Node::Kind::call: {
                // nothing follows: its caller's place is as good, and recursion at the end needs no stack
                const bool last = machine_->nodes[index_of(node.next)].kind == Node::Kind::end;
                const int32_t stack = last ? at.stack : stacks.push(at.stack, node.next, -1);
                if (stack != Stacks::k_too_deep)
                    todo_.push_back({machine_->starts[index_of(node.arg)], stack});
                break;
            }
            case Node::Kind::repeat:
                iterate(at.node, 0, at.stack, stacks);
                break;
        }
    }
}

void Stepper::leave(int32_t stack, Stacks& stacks, Configs& out) {
    if (stack == Stacks::k_empty) return out.push_back({Config::k_done, Stacks::k_empty});
    const Stacks::Frame frame = stacks.top(stack);
    if (frame.rounds < 0) todo_.push_back({frame.node, frame.below});
    else iterate(frame.node, frame.rounds, frame.below, stacks);
}

// `rounds` of a repeat are over.
void Stepper::iterate(int32_t node, int64_t rounds, int32_t below, Stacks& stacks) {
    const Node& of = machine_->nodes[index_of(node)];
    const Repeat& repeat = machine_->repeats[index_of(of.arg)];
    if (rounds >= repeat.least) todo_.push_back({of.next, below});
    if (repeat.most != k_no_limit && rounds >= repeat.most) return;
    const int64_t begun = repeat.most == k_no_limit ? std::min(rounds + 1, repeat.least) : rounds + 1;
    const int32_t stack = stacks.push(below, node, begun);
    if (stack != Stacks::k_too_deep) todo_.push_back({machine_->starts[index_of(repeat.rule)], stack});
}

bool Stepper::first_visit(Config config) {
    work_++;
    if (seen_at_.size() > k_most_configs * 4) too_many_ = true;
    if (seen_at_.size() * 2 >= seen_.size()) {
        std::vector<uint64_t> before;
        for (const size_t at : seen_at_) before.push_back(seen_[at]);
        seen_.assign(std::max<size_t>(64, seen_.size() * 2), k_free);
        seen_at_.clear();
        for (const uint64_t key : before) {
            size_t at = mixed(key) & (seen_.size() - 1);
            while (seen_[at] != k_free) at = (at + 1) & (seen_.size() - 1);
            seen_[at] = key;
            seen_at_.push_back(at);
        }
    }
    const uint64_t key = as_number(config);
    size_t at = mixed(key) & (seen_.size() - 1);
    for (; seen_[at] != k_free; at = (at + 1) & (seen_.size() - 1))
        if (seen_[at] == key) return false;
    seen_[at] = key;
    seen_at_.push_back(at);
    return true;
}

void Stepper::clear_seen() {
    for (const size_t at : seen_at_) seen_[at] = k_free;
    seen_at_.clear();
}

}  // namespace ft::grammar
