#include "tiers/expert_cache.h"

#include <algorithm>

#include "io/blocks.h"

namespace ft {

namespace {

constexpr size_t k_most_passage = 128;
// Experts that an idle drive reads ahead at a time: few, because a needed read may come any moment; more in a
// long step, where the next layer asks for most of its experts anyway.
constexpr int k_guesses = 4, k_guesses_of_long_step = 96;
// Experts that a long step computes at once, while the places of those before are read into again.
constexpr ptrdiff_t k_most_handed_out = 16;
constexpr size_t k_guess_places = 16, k_guess_places_of_long_step = k_most_passage;
constexpr int k_guesses_at_start = 8;  // the first needed read waits for these at most

std::vector<SlotClass> slot_classes(const ExpertRecords& records, std::span<const int64_t> n_slot) {
    std::vector<SlotClass> classes(n_slot.size());
    for (size_t i = 0; i < n_slot.size(); i++) classes[i].n_slot = n_slot[i];
    for (const ExpertLayer& layer : records) {
        auto& slices = classes[static_cast<size_t>(layer.size_class)].slices;
        slices.resize(std::max(slices.size(), layer.stacks.size()));
        for (size_t i = 0; i < layer.stacks.size(); i++)
            slices[i] = std::max(slices[i], layer.stacks[i].slice_bytes);
    }
    return classes;
}

// Reads of one visit that wait at once: of every expert of the largest layer, or of the guesses beside it.
size_t most_reads_in_line(const ExpertRecords& records) {
    size_t most = 0;
    for (const ExpertLayer& layer : records)
        most = std::max(most,
                        std::max(static_cast<size_t>(layer.n_expert), k_most_passage) * layer.stacks.size());
    return most;
}

std::vector<const File*> files_of(const ExpertRecords& records) {
    std::vector<const File*> files;
    for (const ExpertLayer& layer : records)
        for (const SliceStack& stack : layer.stacks)
            if (std::find(files.begin(), files.end(), stack.file) == files.end()) files.push_back(stack.file);
    return files;
}

}  // namespace

Lease::~Lease() {
    if (cache_ != nullptr) cache_->slots_state_[static_cast<size_t>(slot_)].pins--;
}

int Lease::expert() const { return cache_->slots_state_[static_cast<size_t>(slot_)].expert; }

const std::byte* Lease::slice(int slice) const {
    const ExpertCache::Slot& slot = cache_->slots_state_[static_cast<size_t>(slot_)];
    const SliceStack& stack =
        cache_->records_[static_cast<size_t>(slot.layer)].stacks[static_cast<size_t>(slice)];
    return cache_->slots_.room(slot_, slice) + stack.of(slot.expert) % k_file_block;
}

Expected<std::unique_ptr<ExpertCache>> ExpertCache::create(ExpertRecords records,
                                                           std::span<const int64_t> slots_of_class,
                                                           const CacheOptions& options) {
    const PolicyRow* row = find_policy(options.policy);
    if (row == nullptr)
        return Error{Code::invalid,
                     fmt::format("memory.expert_policy: there is no '{}'", printable(options.policy)),
                     "Choose one of those that --help names."};
    for (int64_t n : slots_of_class) check(n > 0, "a size class of experts without a slot");
    const std::vector<const File*> files = files_of(records);
    auto queue = ReadQueue::open(files, options.method);
    if (!queue) return queue.error();
    auto slots = Slots::create(slot_classes(records, slots_of_class), options.threads);
    if (!slots) return slots.error();
    std::unique_ptr<ExpertCache> cache(
        new ExpertCache(std::move(records), std::move(*slots), std::move(*queue)));
    cache->look_ahead_ = options.look_ahead;
    cache->least_of_class_ = options.least_slots;
    cache->least_of_class_.resize(cache->n_of_class_.size(), 1);
    cache->make_policy(options, *row);
    return cache;
}

ExpertCache::ExpertCache(ExpertRecords records, Slots slots, std::unique_ptr<ReadQueue> queue)
    : records_(std::move(records)),
      slots_(std::move(slots)),
      streamer_(std::move(queue), most_reads_in_line(records_)),
      slots_state_(static_cast<size_t>(slots_.count())) {
    read_method_ = streamer_.method();
    int n_class = 0;
    for (const ExpertLayer& layer : records_) {
        n_expert_ = std::max(n_expert_, layer.n_expert);
        n_class = std::max(n_class, layer.size_class + 1);
    }
    slot_of_.assign(records_.size() * static_cast<size_t>(n_expert_), -1);
    asked_.assign(static_cast<size_t>(n_expert_), 0);
    free_.resize(static_cast<size_t>(n_class));
    passage_.resize(static_cast<size_t>(n_class));
    parked_.resize(static_cast<size_t>(n_class));
    for (int slot = slots_.count() - 1; slot >= 0; slot--)
        free_[static_cast<size_t>(slots_.class_of(slot))].push_back(slot);
    for (const auto& list : free_) n_of_class_.push_back(static_cast<int64_t>(list.size()));
    layers_of_class_.resize(n_of_class_.size());
    for (const ExpertLayer& layer : records_) layers_of_class_[static_cast<size_t>(layer.size_class)]++;
    for (const auto& list : free_)
        passage_limit_.push_back(std::clamp(list.size() / 4, size_t{1}, k_most_passage));
    reserve_lists();
}

// So that no visit has to allocate.
void ExpertCache::reserve_lists() {
    const auto n_expert = static_cast<size_t>(n_expert_);
    for (size_t c = 0; c < passage_.size(); c++) passage_[c].reserve(passage_limit_[c] + 1);
    guesses_.reserve(n_expert);
    guessed_.reserve(n_expert);
    missing_.reserve(n_expert);
    arrived_.reserve(n_expert);
    done_.reserve(Streamer::k_most_reads);
}

void ExpertCache::make_policy(const CacheOptions& options, const PolicyRow& row) {
    PolicyShape shape{.n_layers = static_cast<int>(records_.size()),
                      .n_experts = n_expert_,
                      .n_slots = slots_.count(),
                      .class_of_layer = {},
                      .profile = options.profile};
    for (const ExpertLayer& layer : records_) shape.class_of_layer.push_back(layer.size_class);
    policy_ = row.make(shape, options.policy_options);
}

void ExpertCache::begin_step(int n_token) {
    n_token_ = n_token;
    before_step_ = clock_++;
    n_visit_of_step_ = 0;
    status_ = {};
}

void ExpertCache::begin(int layer, std::span<const int32_t> ids, std::vector<Lease>& ready) {
    check(missing_.empty() && waiting_ == 0 && arrived_.empty(), "a visit begins before the last one ended");
    layer_ = layer;
    visit_++;
    is_long_ = is_long_visit(ids.size(), records_[static_cast<size_t>(layer)].n_expert);
    guesses_.clear();
    time_step();
    absorb(false);
    use(ids);
    for (int e = records_[static_cast<size_t>(layer)].n_expert - 1; e >= 0; e--)
        if (asked_[static_cast<size_t>(e)] == visit_) ask_for(e);
    judge_guesses();
    grant();
    feed_guesses();
    ready.clear();
    hand_out(ready);
}

// From its first layer's visit to its last one's, so that nothing counts that is done between steps.
void ExpertCache::time_step() {
    if (is_long_ || !look_ahead_) return;
    if (n_visit_of_step_++ == 0) step_began_ = now_seconds();
    else if (n_visit_of_step_ == records_.size()) worth_.stepped(now_seconds() - step_began_, n_token_);
}

void ExpertCache::use(std::span<const int32_t> ids) {
    if (is_long_) clock_ = before_step_ + n_token_;
    for (size_t i = 0; i < ids.size(); i++) {
        const bool is_first = std::exchange(asked_[static_cast<size_t>(ids[i])], visit_) != visit_;
        if (is_long_) {
            const auto token = static_cast<int64_t>(i * static_cast<size_t>(n_token_) / ids.size());
            policy_->used(layer_, ids[i], before_step_ + 1 + token);
        } else if (is_first) {
            policy_->used(layer_, ids[i], clock_);
        }
    }
}

// What is there or under way is pinned at once, so that nothing of the visit is given up before it was
// computed.
void ExpertCache::ask_for(int expert) {
    const int number = slot_of(layer_, expert);
    if (number < 0) {
        misses_++;
        missing_.push_back(expert);
        return;
    }
    Slot& slot = slots_state_[static_cast<size_t>(number)];
    slot.pins++;
    slot.visit = visit_;
    if (slot.passing) admit_late(number);
    if (slot.open > 0) {
        misses_++;
        waiting_++;
        return;
    }
    hits_++;
    arrived_.push_back(number);
}

void ExpertCache::judge_guesses() {
    int n_right = 0;
    for (const auto& [layer, expert] : guessed_) {
        const bool right = layer == layer_ && asked_[static_cast<size_t>(expert)] == visit_;
        worth_.judged(right);
        n_right += right;
    }
    guessed_.clear();
    if (!is_long_) worth_.visited(static_cast<int>(missing_.size()) + n_right);
}

// An expert in a place of passage was asked for, again or in a long step: it changes places with the policy's
// victim if that is now worth less. No byte moves; a victim that is still to be computed is so from its place
// of passage.
void ExpertCache::admit_late(int number) {
    const int victim = is_long_ ? policy_->least_of(layer_) : choose_victim(layer_);
    Slot& slot = slots_state_[static_cast<size_t>(number)];
    if (victim < 0 || !policy_->admits(slot.layer, slot.expert, victim)) return;
    auto& passage = passage_[static_cast<size_t>(slots_.class_of(number))];
    policy_->dropped(victim);
    slots_state_[static_cast<size_t>(victim)].passing = true;
    passage.erase(std::find(passage.begin(), passage.end(), number));
    passage.insert(passage.begin(), victim);
    slot.passing = false;
    policy_->placed(slot.layer, slot.expert, number);
}

// Slots for what is missing, as far as there are any, and the reads of all of them.
void ExpertCache::grant() {
    while (!missing_.empty()) {
        const int slot = take_slot(missing_.back());
        if (slot < 0) break;
        load(slot, layer_, missing_.back(), false);
        slots_state_[static_cast<size_t>(slot)].pins = 1;
        waiting_++;
        missing_.pop_back();
        if (is_long_ && slots_state_[static_cast<size_t>(slot)].passing) admit_late(slot);
    }
    streamer_.start();
}

// What this visit did not ask for goes first; what it has computed already may go as well.
int ExpertCache::choose_victim(int layer) {
    const int other = policy_->victim(layer, [&](int slot) {
        return is_still(slot) && slots_state_[static_cast<size_t>(slot)].visit != visit_;
    });
    return other >= 0 ? other : policy_->victim(layer, [&](int slot) { return is_still(slot); });
}

// A free slot; -1: none, or only such as a long step leaves to the layers that come.
int ExpertCache::take_free(int layer) {
    const auto c = static_cast<size_t>(records_[static_cast<size_t>(layer)].size_class);
    if (free_[c].empty()) return -1;
    if (is_long_) {
        const auto kept = static_cast<int64_t>(parked_[c].size() + passage_limit_[c]);
        const int64_t share = (n_of_class_[c] - kept + layers_of_class_[c] - 1) / layers_of_class_[c];
        if (policy_->n_resident(layer) >= share) return -1;
    }
    const int slot = free_[c].back();
    free_[c].pop_back();
    return slot;
}

// An empty slot for an expert of the present layer; -1: none before something is given back.
int ExpertCache::take_slot(int expert) {
    if (const int slot = take_free(layer_); slot >= 0) return slot;
    if (!is_long_) {
        const int victim = choose_victim(layer_);
        if (victim >= 0 && policy_->admits(layer_, expert, victim)) {
            policy_->dropped(victim);
            empty(victim);
            return victim;
        }
    }
    const int size_class = records_[static_cast<size_t>(layer_)].size_class;
    for (const bool of_this_visit : {false, true})
        if (const int slot = take_passage(size_class, of_this_visit, -1); slot >= 0) return slot;
    return add_passage(layer_, k_most_passage);
}

// One more place of passage for the layer's class: a free slot, or that of the least valuable resident. -1:
// there are as many as may be, or all slots are in use.
int ExpertCache::add_passage(int layer, size_t most) {
    const auto c = static_cast<size_t>(records_[static_cast<size_t>(layer)].size_class);
    if (passage_[c].size() >= std::min(most, passage_limit_[c])) return -1;
    int slot = -1;
    if (!free_[c].empty()) {
        slot = free_[c].back();
        free_[c].pop_back();
    } else if (slot = choose_victim(layer); slot >= 0) {
        policy_->dropped(slot);
        empty(slot);
    } else {
        return -1;
    }
    slots_state_[static_cast<size_t>(slot)].passing = true;
    passage_[c].push_back(slot);
    return slot;
}

// A slot for an expert that nobody asked for yet: a free one, or a place of passage. The first few guesses
// make those of the least valuable residents; later ones change places with each other.
int ExpertCache::take_guess_slot(int layer, bool for_next_layer) {
    if (const int slot = take_free(layer); slot >= 0 || !for_next_layer) return slot;
    const size_t places = is_long_ ? k_guess_places_of_long_step : k_guess_places;
    if (const int slot = add_passage(layer, places); slot >= 0) return slot;
    const int size_class = records_[static_cast<size_t>(layer)].size_class;
    const int slot = take_passage(size_class, false, layer);
    // what a long step has computed is not worth more than what it asks for next
    return slot < 0 && is_long_ ? take_passage(size_class, true, layer) : slot;
}

// A place of passage that is not in use, and holds nothing of the visit or of the layer that are given.
int ExpertCache::take_passage(int size_class, bool of_this_visit, int but_layer) {
    auto& passage = passage_[static_cast<size_t>(size_class)];
    const auto found = std::find_if(passage.begin(), passage.end(), [&](int number) {
        const Slot& slot = slots_state_[static_cast<size_t>(number)];
        return is_still(number) && (of_this_visit || slot.visit != visit_) && slot.layer != but_layer;
    });
    if (found == passage.end()) return -1;
    const int slot = *found;
    passage.erase(found);
    passage.push_back(slot);
    empty(slot);
    slots_state_[static_cast<size_t>(slot)].passing = true;
    return slot;
}

void ExpertCache::empty(int number) {
    Slot& slot = slots_state_[static_cast<size_t>(number)];
    if (slot.layer >= 0) slot_of(slot.layer, slot.expert) = -1;
    slot = Slot{};
}

void ExpertCache::load(int number, int layer, int expert, bool guess) {
    Slot& slot = slots_state_[static_cast<size_t>(number)];
    const std::vector<SliceStack>& stacks = records_[static_cast<size_t>(layer)].stacks;
    slot.layer = layer;
    slot.expert = expert;
    slot.visit = guess ? 0 : visit_;
    slot.guess = guess;
    slot_of(layer, expert) = number;
    if (!slot.passing) policy_->placed(layer, expert, number);
    Read read;
    for (size_t i = 0; i < stacks.size(); i++) {
        const uint64_t offset = stacks[i].of(expert);
        std::byte* to = slots_.room(number, static_cast<int>(i)) + offset % k_file_block;
        const std::span<std::byte> slice{to, stacks[i].slice_bytes};
        // Slices that lie in the file as in the slot, which those of a pack do, are one read.
        const bool joins = i > 0 && read.file == stacks[i].file && to > read.to.data() &&
                           offset - read.offset == static_cast<uint64_t>(to - read.to.data());
        if (joins) {
            read.to = {read.to.data(), slice.data() + slice.size()};
            continue;
        }
        if (i > 0) add_read(slot, read);
        read = {stacks[i].file, offset, slice, static_cast<uint64_t>(number)};
    }
    add_read(slot, read);
    if (guess) open_guesses_++;
}

void ExpertCache::add_read(Slot& slot, const Read& read) {
    streamer_.add(read, slot.guess);
    slot.open++;
}

void ExpertCache::absorb(bool wait) {
    done_.clear();
    streamer_.collect(done_, wait);
    for (const ReadDone& done : done_) read_over(done);
}

void ExpertCache::read_over(const ReadDone& done) {
    const auto number = static_cast<int>(done.tag);
    Slot& slot = slots_state_[done.tag];
    if (!done.status) {
        slot.failed = true;
        last_failure_ = done.status;
        if (slot.pins > 0 && status_) status_ = done.status.error();
    }
    if (--slot.open > 0) return;
    if (slot.guess) open_guesses_--;
    slot.guess = false;
    if (slot.pins > 0) waiting_--;
    if (slot.failed) {
        if (!slot.passing) policy_->dropped(number);
        auto& passage = passage_[static_cast<size_t>(slots_.class_of(number))];
        if (slot.passing) passage.erase(std::find(passage.begin(), passage.end(), number));
        if (slot.pins > 0 && status_) status_ = last_failure_;  // a slice failed while it was a guess
        empty(number);
        free_[static_cast<size_t>(slots_.class_of(number))].push_back(number);
    } else if (slot.pins > 0) {
        arrived_.push_back(number);
    }
}

// In a long step a few at a time, and first those in places of passage: what is read next waits for these
// places, and what stays in its slot is computed while nothing else has come.
void ExpertCache::hand_out(std::vector<Lease>& ready) {
    const auto passes = [&](int slot) { return slots_state_[static_cast<size_t>(slot)].passing; };
    auto end = arrived_.end();
    if (is_long_ && std::ssize(arrived_) > k_most_handed_out) {
        std::partition(arrived_.begin(), arrived_.end(), passes);
        end = arrived_.begin() + k_most_handed_out;
    }
    for (auto slot = arrived_.begin(); slot != end; ++slot) ready.emplace_back(*this, *slot);
    arrived_.erase(arrived_.begin(), end);
}

bool ExpertCache::next(std::vector<Lease>& ready) {
    ready.clear();
    absorb(false);
    grant();  // after absorb(): a guess that is over may have freed a place of passage
    while (status_ && arrived_.empty() && (waiting_ > 0 || !missing_.empty())) {
        check(streamer_.n_open() > 0, "experts are missing, and nothing is read and no slot is free");
        absorb(true);
        grant();
    }
    if (!status_) abandon();
    feed_guesses();
    hand_out(ready);
    return !ready.empty();
}

// A read of this visit failed: what has not begun is not read, what is on its way is waited for.
void ExpertCache::abandon() {
    missing_.clear();
    for (uint64_t tag : streamer_.cancel()) {
        slots_state_[tag].failed = true;
        read_over({tag, {}, 0});
    }
    while (streamer_.n_open() > 0) absorb(true);
    for (int slot : arrived_) slots_state_[static_cast<size_t>(slot)].pins--;
    arrived_.clear();
    guesses_.clear();
}

void ExpertCache::tend() {
    if (!is_long_ || (guesses_.empty() && open_guesses_ == 0)) return;
    absorb(false);
    feed_guesses();
}

void ExpertCache::guess(int layer, std::span<const int32_t> ids) {
    guesses_.clear();
    for (int32_t id : ids)
        if (slot_of(layer, id) < 0) guesses_.push({layer, id});
    feed_guesses();
}

void ExpertCache::warm(std::span<const std::pair<int, int>> experts) {
    warm_.clear();
    warm_.reserve(experts.size());
    for (const auto& expert : experts) warm_.push(expert);
    start_guesses(k_guesses_at_start);
    streamer_.start();
}

bool ExpertCache::fill() {
    absorb(false);
    start_guesses(k_guesses_at_start);
    streamer_.start();
    return open_guesses_ > 0;
}

// Guesses never take the place of what the policy keeps, and begin only where no needed read is left; in a
// long step, where all needed reads have begun.
void ExpertCache::feed_guesses() {
    if (is_long_ ? !missing_.empty() : is_reading()) return;
    start_guesses(is_long_ ? k_guesses_of_long_step : k_guesses);
    streamer_.start();
}

void ExpertCache::start_guesses(int most) {
    while (open_guesses_ < most && !(guesses_.empty() && warm_.empty())) {
        const bool for_next_layer = !guesses_.empty();
        auto& list = for_next_layer ? guesses_ : warm_;
        const auto [layer, expert] = list.front();
        const bool is_there = slot_of(layer, expert) >= 0;
        const int slot = is_there ? -1 : take_guess_slot(layer, for_next_layer);
        if (!is_there && slot < 0 && for_next_layer) return;  // until one is free
        list.pop();
        if (slot < 0) continue;
        load(slot, layer, expert, true);
        if (for_next_layer && !is_long_) guessed_.emplace_back(layer, expert);
    }
}

CacheStats ExpertCache::stats() const {
    return {hits_,
            misses_,
            streamer_.bytes_read(),
            streamer_.read_seconds(),
            streamer_.wait_seconds(),
            streamer_.bytes_waited_for()};
}

std::vector<uint32_t> ExpertCache::uses() const {
    std::vector<uint32_t> all;
    for (int layer = 0; layer < static_cast<int>(records_.size()); layer++)
        for (int e = 0; e < n_expert_; e++) all.push_back(policy_->uses(layer, e));
    return all;
}

}  // namespace ft
