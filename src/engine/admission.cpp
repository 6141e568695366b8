// Who may begin, and what an end gives back.
#include <algorithm>

#include "engine/scheduler_state.h"
#include "engine/state_borders.h"

namespace ft {

namespace {

size_t index(Lane lane) { return static_cast<size_t>(lane); }

}  // namespace

void Scheduler::State::take_submitted() {
    std::vector<std::shared_ptr<Ticket>> fresh;
    {
        const std::lock_guard lock(mutex);
        fresh.swap(submitted);
    }
    for (auto& ticket : fresh) {
        const Lane lane = ticket->request.lane;
        waiting[index(lane)].push_back(std::make_unique<Choice>(std::move(ticket), 0, tokenizer));
        lanes.of(lane).waiting++;
    }
}

void Scheduler::State::take_cancelled() {
    std::unordered_set<RequestId> ids;
    {
        const std::lock_guard lock(mutex);
        if (cancelled.empty()) return;
        ids.swap(cancelled);
    }
    for (auto& choice : running)
        if (ids.contains(choice->ticket->id)) end(*choice, FinishReason::cancelled);
    remove_ended();
    for (auto& queue : waiting)
        for (auto at = queue.begin(); at != queue.end();) {
            if (!ids.contains((*at)->ticket->id)) {
                ++at;
                continue;
            }
            const std::unique_ptr<Choice> choice = std::move(*at);
            at = queue.erase(at);
            lanes.of(choice->lane()).waiting--;
            if (choice->index > 0 && !choice->started && --choice->ticket->unstarted == 0)
                unpin(*choice->ticket);
            end(*choice, FinishReason::cancelled);
        }
}

void Scheduler::State::admit() {
    while (const std::optional<Lane> lane = lanes.next()) {
        if (start_first(*lane, std::nullopt)) continue;
        if (lanes.may_pass(*lane) && start_first(other(*lane), *lane)) continue;
        if (!running.empty()) return;
        // What is kept is all that can be in the way: prompts for choices which wait, which are read again,
        // then the very page that this one would begin with.
        store->tree().unpin_all();
        if (start_first(*lane, std::nullopt)) continue;
        store->tree().clear();
        ft::check(start_first(*lane, std::nullopt), "a request that was let in does not fit an empty pool");
    }
}

bool Scheduler::State::start_first(Lane lane, std::optional<Lane> passed) {
    Choice& choice = *waiting[index(lane)].front();
    // A choice that was parked comes back when it has room to the end, or it would soon be parked again.
    const bool whole = !options.overcommit || (choice.started && !running.empty());
    const int64_t n_position =
        whole ? choice.n_prompt() + choice.ticket->most : static_cast<int64_t>(choice.ids.size());
    if (!give_memory(choice, n_position)) return false;
    running.push_back(std::move(waiting[index(lane)].front()));
    waiting[index(lane)].pop_front();
    lanes.start(lane, passed);
    if (!choice.started) first_start(choice);
    prompt_reached(choice);
    return true;
}

// From where it was parked, else from what is kept of others.
bool Scheduler::State::give_memory(Choice& choice, int64_t n_position) {
    // An embedding needs the states of all positions, so nothing of others can stand for them.
    const bool empty = choice.parked || choice.request().embed;
    choice.sequence = empty ? store->start_empty(n_position) : store->start(choice.ids, n_position);
    if (!choice.sequence) return false;
    if (choice.parked) {
        SequenceMemory& memory = choice.sequence->memory;
        if (parking.restore(*choice.parked, store->pool(), memory)) choice.sequence->n_past = choice.n_parked;
        else {
            memory.kv.truncate(0);
            memory.state.clear();
        }
        choice.parked.reset();
    }
    if (choice.request().embed && choice.sequence->n_past == 0)
        choice.hidden.assign(static_cast<size_t>(engine.model->hp().n_embd), 0.0);
    return true;
}

void Scheduler::State::first_start(Choice& choice) {
    choice.started = true;
    Ticket& ticket = *choice.ticket;
    if (store->recurrent()) choice.borders = state_borders(choice.request().prompt, tokenizer);
    if (choice.index > 0) {
        if (--ticket.unstarted == 0) unpin(ticket);
        return;
    }
    ticket.record.cached_tokens = choice.sequence->n_past;
    ticket.started = now_seconds();
    ticket.record.queue_ms = (ticket.started - ticket.submitted) * 1e3;
    const std::lock_guard lock(mutex);
    counters.waiting--;
    counters.cached_tokens += static_cast<uint64_t>(ticket.record.cached_tokens);
}

void Scheduler::State::unpin(Ticket& ticket) {
    if (ticket.pin) store->tree().unpin(*ticket.pin);
    ticket.pin.reset();
}

// The other choices follow the first one when it has read the prompt but for the last token, whose logits
// each needs: at the head of the queue, in order.
void Scheduler::State::prompt_reached(Choice& first) {
    const std::shared_ptr<Ticket>& ticket = first.ticket;
    if (first.index != 0 || ticket->queued || ticket->unstarted == 0) return;
    const int64_t shared = first.n_prompt() - 1, n_past = first.sequence->n_past;
    if (n_past < shared || (store->recurrent() && n_past != shared)) return;
    ticket->queued = true;
    if (shared > 0)
        ticket->pin =
            store->keep_pinned(*first.sequence, std::span(first.ids).first(static_cast<size_t>(shared)));
    for (int i = ticket->unstarted; i > 0; i--)
        waiting[index(first.lane())].push_front(std::make_unique<Choice>(ticket, i, tokenizer));
    lanes.of(first.lane()).waiting += ticket->unstarted;
}

// Pages for a running choice; who is parked for them is the youngest of the batch lane, else the youngest.
// Nobody is where pages were promised: then only prompts that are kept for choices which wait are in the way.
bool Scheduler::State::grow(size_t of_running, int64_t n_position) {
    while (!store->grow(*running[of_running]->sequence, n_position)) {
        const auto holds = [](const auto& choice) { return choice->sequence != nullptr; };
        if (!options.overcommit || std::ranges::count_if(running, holds) == 1) {
            store->tree().unpin_all();
            ft::check(store->grow(*running[of_running]->sequence, n_position), "a pool too small for one");
            return true;
        }
        const size_t victim = youngest();
        park(victim);
        if (victim == of_running) return false;
    }
    return true;
}

size_t Scheduler::State::youngest() const {
    size_t found = 0;
    bool in_batch = false;
    for (size_t i = 0; i < running.size(); i++) {
        if (running[i]->sequence == nullptr) continue;
        const bool batch = running[i]->lane() == Lane::batch;
        if (batch || !in_batch) found = i;
        in_batch = in_batch || batch;
    }
    return found;
}

// Its pages go back; it waits at the head of its lane, and goes on with the same tokens.
void Scheduler::State::park(size_t of_running) {
    Choice& choice = *running[of_running];
    needs[of_running].rows = 0;
    choice.n_parked = choice.sequence->n_past;
    choice.parked = parking.save(choice.fed(), store->pool(), choice.sequence->memory);
    store->drop(std::move(choice.sequence));
    choice.ticket->record.parked++;
    const std::lock_guard lock(mutex);
    counters.parked++;
}

void Scheduler::State::queue_parked() {
    for (auto at = running.end(); at != running.begin();) {
        if ((*--at)->sequence != nullptr) continue;
        const Lane lane = (*at)->lane();
        waiting[index(lane)].push_front(std::move(*at));
        lanes.of(lane).waiting++;
        lanes.of(lane).running--;
        at = running.erase(at);
    }
}

void Scheduler::State::end(Choice& choice, FinishReason reason, const Error* error) {
    Ticket& ticket = *choice.ticket;
    const std::string rest = choice.text.finish();
    if (reason == FinishReason::length && choice.text.stopped()) reason = FinishReason::stop;
    choice.ended = true;
    if (choice.sequence != nullptr) {
        const auto fed = choice.fed();
        ticket.record.forgotten_tokens =
            std::max(ticket.record.forgotten_tokens, engine.forgotten(choice.sequence->n_past));
        lanes.of(choice.lane()).running--;
        if (reason == FinishReason::error) store->drop(std::move(choice.sequence));
        else store->finish(std::move(choice.sequence), fed);
    }
    if (choice.parked) parking.remove(*choice.parked);
    ticket.record.finish = reason;
    ticket.owner->on_end({.choice = choice.index,
                          .reason = reason,
                          .text = rest,
                          .stop_text = choice.text.stop_text(),
                          .error = error});
    ticket.open--;
    if (!ticket.queued)
        for (; ticket.unstarted > 0; ticket.unstarted--, ticket.open--)
            ticket.owner->on_end({.choice = ticket.request.n_choices - ticket.unstarted,
                                  .reason = reason,
                                  .text = {},
                                  .stop_text = {},
                                  .error = error});
    if (ticket.open == 0) close(ticket);
}

void Scheduler::State::close(Ticket& ticket) {
    const Seconds now = now_seconds();
    RequestRecord& record = ticket.record;
    if (ticket.started == 0) record.queue_ms = (now - ticket.submitted) * 1e3;
    else if (ticket.first_token == 0) record.prefill_ms = (now - ticket.started) * 1e3;
    else record.decode_ms = (now - ticket.first_token) * 1e3;
    unpin(ticket);
    {
        const std::lock_guard lock(mutex);
        if (ticket.started == 0) counters.waiting--;
        counters.done++;
        alive.erase(ticket.id);
    }
    ticket.owner->on_done(record);
}

void Scheduler::State::remove_ended() {
    std::erase_if(running, [](const auto& choice) { return choice->ended; });
}

}  // namespace ft
