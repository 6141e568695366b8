#include "grammar/automaton.h"

#include <algorithm>
#include <bitset>
#include <utility>

namespace ft::grammar {

namespace {

constexpr size_t k_most_states = 4096;
constexpr size_t k_most_kept_configs = size_t{1} << 20;
constexpr size_t k_most_frames = size_t{1} << 19;
constexpr size_t k_most_token_sets = 128;
constexpr uint64_t k_most_work = 4'000'000;  // nodes looked at for one set of tokens: some tenths of a second

// What UTF-8 writes characters beyond ASCII with.
constexpr struct {
    int size;
    ByteRange bytes[4];
} k_beyond_ascii[] = {
    {2, {{0xC2, 0xDF}, {0x80, 0xBF}}},
    {3, {{0xE0, 0xE0}, {0xA0, 0xBF}, {0x80, 0xBF}}},
    {3, {{0xE1, 0xEC}, {0x80, 0xBF}, {0x80, 0xBF}}},
    {3, {{0xED, 0xED}, {0x80, 0x9F}, {0x80, 0xBF}}},
    {3, {{0xEE, 0xEF}, {0x80, 0xBF}, {0x80, 0xBF}}},
    {4, {{0xF0, 0xF0}, {0x90, 0xBF}, {0x80, 0xBF}, {0x80, 0xBF}}},
    {4, {{0xF1, 0xF3}, {0x80, 0xBF}, {0x80, 0xBF}, {0x80, 0xBF}}},
    {4, {{0xF4, 0xF4}, {0x80, 0x8F}, {0x80, 0xBF}, {0x80, 0xBF}}},
};
constexpr ByteRange k_plain_ascii[] = {{' ', '!'}, {'#', '['}, {']', '~'}};

uint64_t hash_of(const Configs& configs) {
    uint64_t hash = configs.size();
    for (const Config& config : configs) {
        hash = (hash ^ static_cast<uint32_t>(config.node)) * 0x9E3779B97F4A7C15;
        hash = (hash ^ (hash >> 32) ^ static_cast<uint32_t>(config.stack)) * 0xC2B2AE3D27D4EB4F;
        hash ^= hash >> 29;
    }
    return hash;
}

void add_token(std::span<uint64_t> out, int32_t id) {
    out[static_cast<size_t>(id) / 64] |= uint64_t{1} << (id % 64);
}

Error too_much_work() {
    return Error{Code::too_large,
                 "so many of its ways are open here that the next token takes too long to find",
                 "Write it so that fewer rules may apply to the same text."};
}

}  // namespace

Automaton::Automaton(const Machine& machine, const TokenTrie& trie, std::span<const int32_t> end_ids)
    : machine_(machine), trie_(trie), end_ids_(end_ids), stepper_(machine) {
    path_.resize(index_of(trie.longest()) + 1);
}

Status Automaton::allowed(const Configs& configs, const Stacks& stacks, Blank blank,
                          std::span<uint64_t> out) {
    const std::lock_guard lock(mutex_);
    work_allowed_ = stepper_.work() + k_most_work;
    if (is_full()) forget({});
    int32_t state = without_far_rounds(configs, stacks);
    const std::vector<uint64_t>& kept = states_[index_of(state)].tokens;
    if (blank == Blank::read && !kept.empty()) {
        std::copy(kept.begin(), kept.end(), out.begin());
        return {};
    }
    std::fill(out.begin(), out.end(), 0);
    const Status found =
        blank == Blank::read ? find_tokens(state, out) : walk(trie_.all(), state, blank, out);
    if (!found) return found;
    if (may_end(states_[index_of(state)].configs))
        for (const int32_t id : end_ids_) add_token(out, id);
    if (blank == Blank::read) keep_tokens(state, out);
    return {};
}

// Where any plain characters may come, tokens of them need no look.
Status Automaton::find_tokens(int32_t& state, std::span<uint64_t> out) {
    const Expected<int> reach = plain_reach(state);
    if (!reach) return reach.error();
    if (*reach == 0) return walk(trie_.all(), state, Blank::read, out);
    const std::span<const uint64_t> plain = trie_.plain(*reach);
    std::copy(plain.begin(), plain.end(), out.begin());
    return walk(trie_.not_plain(), state, Blank::read, out);
}

// How many plain characters may come, whichever they are, up to TokenTrie::k_most_plain. 0: it is not that
// simple.
Expected<int> Automaton::plain_reach(int32_t state) {
    int n = 0;
    for (; n < TokenTrie::k_most_plain; n++) {
        if (is_full()) return 0;
        const Expected<int32_t> next = after_plain(state);
        if (!next) return next.error();
        if (*next == k_dead) break;
        state = *next;
    }
    if (n == 0 || n == TokenTrie::k_most_plain) return n;
    // Longer tokens of them end here; some may go on only where some plain character may come.
    const Expected<bool> more = takes_plain(state);
    if (!more) return more.error();
    return *more ? 0 : n;
}

Expected<bool> Automaton::takes_plain(int32_t state) {
    if (Status made = expand(state); !made) return made.error();
    const Row& row = *states_[index_of(state)].row;
    for (const ByteRange& range : k_plain_ascii)
        for (int byte = range.first; byte <= range.last; byte++)
            if (row[static_cast<size_t>(byte)] != k_dead) return true;
    for (const auto& form : k_beyond_ascii)
        for (int byte = form.bytes[0].first; byte <= form.bytes[0].last; byte++)
            if (row[static_cast<size_t>(byte)] != k_dead) return true;
    return false;
}

Expected<int32_t> Automaton::after_plain(int32_t state) {
    if (states_[index_of(state)].after_plain != k_unknown) return states_[index_of(state)].after_plain;
    // the one state after all bytes of a range, else k_dead
    const auto common = [&](int32_t from, ByteRange range) -> Expected<int32_t> {
        if (Status made = expand(from); !made) return made.error();
        const Row& row = *states_[index_of(from)].row;
        for (int byte = range.first; byte < range.last; byte++)
            if (row[static_cast<size_t>(byte)] != row[static_cast<size_t>(byte) + 1]) return k_dead;
        return row[range.first];
    };
    const Expected<int32_t> first = after(state, ' ');
    if (!first) return first.error();
    int32_t result = *first;
    for (const ByteRange& range : k_plain_ascii) {
        if (result == k_dead) break;
        const Expected<int32_t> next = common(state, range);
        if (!next) return next.error();
        if (*next != result) result = k_dead;
    }
    for (const auto& form : k_beyond_ascii) {
        if (result == k_dead) break;
        int32_t next = state;
        for (int i = 0; i < form.size && next != k_dead; i++) {
            const Expected<int32_t> after_byte = common(next, form.bytes[i]);
            if (!after_byte) return after_byte.error();
            next = *after_byte;
        }
        if (next != result) result = k_dead;
    }
    return states_[index_of(state)].after_plain = result;
}

// state is renumbered where everything else had to be forgotten on the way.
Status Automaton::walk(std::span<const TokenTrie::Node> nodes, int32_t& state, Blank blank,
                       std::span<uint64_t> out) {
    path_[0] = state;
    const auto n = static_cast<int32_t>(nodes.size());
    for (int32_t i = 0; i < n;) {
        const TokenTrie::Node& node = nodes[index_of(i)];
        if (!states_[index_of(path_[node.depth])].row) {
            if (is_full()) forget(std::span(path_).first(size_t{node.depth} + 1));
            if (Status made = expand(path_[node.depth]); !made) return made;
        }
        int32_t next = (*states_[index_of(path_[node.depth])].row)[node.byte];
        if (blank == Blank::passed_over && node.depth == 0 && node.byte == ' ') next = path_[0];
        if (next == k_dead) {
            i = node.end;
            continue;
        }
        path_[size_t{node.depth} + 1] = next;
        if (node.token >= 0) add_token(out, node.token);
        i++;
    }
    state = path_[0];
    return {};
}

Expected<int32_t> Automaton::after(int32_t state, uint8_t byte) {
    if (Status made = expand(state); !made) return made.error();
    return (*states_[index_of(state)].row)[byte];
}

// The edges of a state: one step for each range of bytes that all its configurations treat alike.
Status Automaton::expand(int32_t state) {
    if (states_[index_of(state)].row) return {};
    std::bitset<257> begins;
    const Configs from = states_[index_of(state)].configs;
    for (const Config& config : from) {
        if (config.node == Config::k_done) continue;
        const Node& node = machine_.nodes[index_of(config.node)];
        begins.set(node.first);
        begins.set(size_t{node.last} + 1);
    }
    auto row = std::make_unique<Row>();
    row->fill(k_dead);
    for (size_t byte = 0; byte < row->size();) {
        size_t end = byte + 1;
        while (end < row->size() && !begins.test(end)) end++;
        Configs to;
        if (begins.test(byte))
            if (Status stepped = stepper_.step(from, static_cast<uint8_t>(byte), stacks_, to); !stepped)
                return stepped;
        if (!to.empty()) std::fill(row->begin() + byte, row->begin() + end, state_of(std::move(to)));
        if (stepper_.work() > work_allowed_) return too_much_work();
        byte = end;
    }
    states_[index_of(state)].row = std::move(row);
    return {};
}

int32_t Automaton::state_of(Configs configs) {
    const uint64_t hash = hash_of(configs);
    const auto [first, last] = by_hash_.equal_range(hash);
    for (auto found = first; found != last; ++found)
        if (states_[index_of(found->second)].configs == configs) return found->second;
    const auto id = static_cast<int32_t>(states_.size());
    n_configs_ += configs.size();
    states_.push_back({.configs = std::move(configs)});
    by_hash_.emplace(hash, id);
    return id;
}

// A stack of another arena in this one's, with the rounds that matter.
int32_t Automaton::copied(int32_t stack, const Stacks& from) {
    std::vector<Stacks::Frame> frames;
    for (; stack != Stacks::k_empty; stack = from.top(stack).below) frames.push_back(from.top(stack));
    int32_t copy = Stacks::k_empty;
    for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame) {
        const Node& node = machine_.nodes[index_of(frame->node)];
        const int64_t rounds =
            frame->rounds < 0 ? -1 : near_rounds(machine_.repeats[index_of(node.arg)], frame->rounds);
        copy = stacks_.push(copy, frame->node, rounds);
    }
    return copy;
}

// A token is at most trie_.longest() rounds: of more that are still needed, or still possible, only that they
// are more counts.
int64_t Automaton::near_rounds(const Repeat& repeat, int64_t rounds) const {
    const int64_t far = trie_.longest() + 1;
    if (repeat.may_be_empty) return rounds;
    if (rounds < repeat.least) return std::max(rounds, repeat.least - far);
    if (repeat.most == k_no_limit) return rounds;
    return repeat.most - rounds > far ? std::max(repeat.least, repeat.most - far) : rounds;
}

int32_t Automaton::without_far_rounds(const Configs& configs, const Stacks& stacks) {
    Configs near;
    for (const Config& config : configs) near.push_back({config.node, copied(config.stack, stacks)});
    std::sort(near.begin(), near.end());
    near.erase(std::unique(near.begin(), near.end()), near.end());
    return state_of(std::move(near));
}

bool Automaton::is_full() const {
    return states_.size() > k_most_states || n_configs_ > k_most_kept_configs ||
           stacks_.size() > k_most_frames;
}

// Everything but the states of `keep`, which get other numbers.
void Automaton::forget(std::span<int32_t> keep) {
    const std::vector<State> before = std::exchange(states_, {});
    const Stacks stacks = std::exchange(stacks_, {});
    by_hash_.clear();
    work_allowed_ -= std::min(work_allowed_, std::exchange(n_configs_, 0));
    n_kept_ = 0;
    for (int32_t& id : keep) id = without_far_rounds(before[index_of(id)].configs, stacks);
}

void Automaton::keep_tokens(int32_t state, std::span<const uint64_t> tokens) {
    if (n_kept_ >= k_most_token_sets) {
        for (State& other : states_) std::vector<uint64_t>().swap(other.tokens);
        n_kept_ = 0;
    }
    states_[index_of(state)].tokens.assign(tokens.begin(), tokens.end());
    n_kept_++;
}

}  // namespace ft::grammar
