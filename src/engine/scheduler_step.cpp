// One step: rows for every running choice, the model once over all of them, a token for each that is due.
#include <algorithm>

#include "engine/scheduler_state.h"

namespace ft {

bool Scheduler::State::step() {
    take_submitted();
    take_cancelled();
    admit();
    publish();  // whoever is told of a first token finds its request among those that run
    if (running.empty()) return false;
    plan_rows();
    if (options.overcommit || engine.plan.window > 0) take_pages();
    lay_out();
    const Seconds start = now_seconds();
    const uint64_t generated = engine.activity->generated_tokens;
    const Status done = forward();
    keep_failure(done);  // before anybody is told, who may look
    if (!done) {
        for (const size_t i : order) end(*running[i], FinishReason::error, &done.error());
    } else {
        advance();
        draw_all();
    }
    if (engine.activity->generated_tokens != generated) engine.activity->generated_in(now_seconds() - start);
    remove_ended();
    queue_parked();
    publish();
    turn++;
    return true;
}

void Scheduler::State::plan_rows() {
    needs.clear();
    int64_t singles = 0;
    for (const auto& choice : running) {
        const int64_t pending = choice->pending(), n_past = choice->sequence->n_past;
        const auto border = std::ranges::upper_bound(choice->borders, n_past);
        needs.push_back({.lane = choice->lane(),
                         .pending = pending,
                         .most = border == choice->borders.end() ? pending : *border - n_past});
        if (pending == 1) singles++;
    }
    plan_step(needs, {.rows = step_rows, .prompt_rows = pace.prompt_rows(singles)}, turn);
}

// With overcommit or a window a step takes the pages that its rows need, the oldest choice first.
void Scheduler::State::take_pages() {
    for (size_t i = 0; i < running.size(); i++)
        if (needs[i].rows > 0) grow(i, running[i]->sequence->n_past + needs[i].rows);
}

void Scheduler::State::lay_out() {
    order.clear();
    slices.clear();
    step_ids.clear();
    single_rows = 0;
    for (const bool single : {true, false})
        for (size_t i = 0; i < running.size(); i++) {
            const int64_t rows = needs[i].rows;
            if (rows == 0 || (needs[i].pending == 1) != single) continue;
            Choice& choice = *running[i];
            slices.push_back({.memory = &choice.sequence->memory,
                              .first = static_cast<int>(step_ids.size()),
                              .count = static_cast<int>(rows),
                              .position = choice.sequence->n_past});
            const auto from = choice.ids.begin() + choice.sequence->n_past;
            step_ids.insert(step_ids.end(), from, from + rows);
            order.push_back(i);
            if (single) single_rows++;
        }
}

Status Scheduler::State::forward() {
    engine.ops->on_route = nullptr;
    if (Status ready = engine.begin_step(); !ready) return ready;
    const CacheStats before = engine.stats();
    const Seconds start = now_seconds();
    Status done = engine.model->forward(*engine.ops, slices, step_ids);
    pace.took(now_seconds() - start, single_rows, static_cast<int64_t>(step_ids.size()) - single_rows);
    count_experts(engine.stats() - before);
    return done;
}

// All rows of a step ask for experts together: each request is told its rows' share, and waits as long as
// all.
void Scheduler::State::count_experts(const CacheStats& stats) {
    const uint64_t all = step_ids.size();
    for (size_t n = 0; n < order.size(); n++) {
        RequestRecord& record = running[order[n]]->ticket->record;
        const auto rows = static_cast<uint64_t>(slices[n].count);
        record.expert_hits += stats.hits * rows / all;
        record.expert_misses += stats.misses * rows / all;
        record.expert_bytes += stats.bytes_read * rows / all;
        record.expert_wait_ms += stats.wait_seconds * 1e3;
        record.expert_worst_ms = std::max(record.expert_worst_ms, stats.wait_seconds * 1e3);
    }
}

// The rows are part of their sequences now. The residual stream's last row of each that is due moves up
// behind those of the single tokens, so that one product makes all logits.
void Scheduler::State::advance() {
    const View2<float> x = engine.ops->activity().x;
    drawing.clear();
    uint64_t prompt = 0;
    for (size_t n = 0; n < order.size(); n++) {
        Choice& choice = *running[order[n]];
        choice.sequence->n_past += slices[n].count;
        if (choice.drawn == 0) prompt += static_cast<uint64_t>(slices[n].count);
        keep_beginning(choice);
        if (choice.request().embed)
            engine.model->add_hidden(*engine.ops, slices[n].first, slices[n].count, choice.hidden);
        if (choice.pending() > 0) continue;
        if (choice.request().embed) {
            tell_embedding(choice);
            continue;
        }
        const int64_t from = slices[n].first + slices[n].count - 1, to = static_cast<int64_t>(drawing.size());
        if (from != to) std::copy_n(x.row(from), x.cols, x.row(to));
        drawing.push_back(order[n]);
    }
    engine.activity->prompt_tokens += prompt;
    engine.activity->generated_tokens += static_cast<uint64_t>(step_ids.size()) - prompt;
    const std::lock_guard lock(mutex);
    counters.prompt_tokens += prompt;
}

void Scheduler::State::tell_embedding(Choice& choice) {
    std::vector<float> mean;
    for (const double sum : choice.hidden)
        mean.push_back(static_cast<float>(sum / static_cast<double>(choice.n_prompt())));
    choice.ticket->owner->on_embedding(mean);
    end(choice, FinishReason::stop);
}

void Scheduler::State::keep_beginning(Choice& choice) {
    const int64_t n_past = choice.sequence->n_past, n_prompt = choice.n_prompt();
    if (n_past > n_prompt) return;
    prompt_reached(choice);
    if (store->recurrent()) {
        if (std::ranges::binary_search(choice.borders, n_past))
            store->keep(*choice.sequence, choice.fed(), true);
    } else if (n_past == n_prompt) {
        store->keep(*choice.sequence,
                    choice.fed().first(static_cast<size_t>(n_past / k_kv_block * k_kv_block)), false);
    }
}

void Scheduler::State::draw_all() {
    if (drawing.empty()) return;
    const int64_t n = static_cast<int64_t>(drawing.size()), n_vocab = engine.model->hp().n_vocab;
    engine.model->head(*engine.ops, 0, {logits.data(), n, n_vocab, n_vocab});
    const auto of = [&](int64_t i) {
        return std::span<const float>(logits.data() + i * n_vocab, static_cast<size_t>(n_vocab));
    };
    const auto choice = [&](int64_t i) -> Choice& { return *running[drawing[static_cast<size_t>(i)]]; };
    // each has a sampler of its own, so they may draw at once; their owners are told one after the other
    engine.pool->run(static_cast<int>(n), [&](int i, int) { choice(i).next = draw(choice(i), of(i)); });
    {  // before anybody is told, who may look
        const std::lock_guard lock(mutex);
        counters.generated_tokens += static_cast<uint64_t>(n);
    }
    for (int64_t i = 0; i < n; i++) accept(choice(i), of(i));
}

Expected<int32_t> Scheduler::State::draw(Choice& choice, std::span<const float> of) {
    std::span<const uint64_t> allowed;
    if (choice.grammar) {
        const Expected<std::span<const uint64_t>> tokens = choice.grammar->allowed();
        if (!tokens) return tokens.error();
        allowed = *tokens;
    }
    return choice.sampler.sample(of, choice.ids.size(), static_cast<uint64_t>(choice.index), allowed);
}

// The token that was drawn becomes part of the answer.
void Scheduler::State::accept(Choice& choice, std::span<const float> of) {
    Ticket& ticket = *choice.ticket;
    const Request& request = ticket.request;
    if (!choice.next) {
        const Error error = choice.next.error().within(engine.file.path());
        return end(choice, FinishReason::error, &error);
    }
    const int32_t id = *choice.next;
    if (ticket.first_token == 0) {
        ticket.first_token = now_seconds();
        ticket.record.prefill_ms = (ticket.first_token - ticket.started) * 1e3;
        ticket.record.ttft_ms = (ticket.first_token - ticket.submitted) * 1e3;
    }
    choice.drawn++;
    ticket.record.generated_tokens++;
    if (std::ranges::find(request.end_ids, id) != request.end_ids.end())
        return end(choice, FinishReason::stop);
    if (choice.grammar)
        if (const Status accepted = choice.grammar->accept(id); !accepted)
            return end(choice, FinishReason::error, &accepted.error());
    if (request.top_logprobs)
        token_logprobs(of, id, static_cast<size_t>(*request.top_logprobs), choice.logprobs);
    choice.sampler.accept(id);
    choice.ids.push_back(id);
    const std::string text = choice.text.push(id);
    ticket.owner->on_token({.choice = choice.index,
                            .id = id,
                            .text = text,
                            .logprobs = request.top_logprobs ? &choice.logprobs : nullptr,
                            .cached_tokens = ticket.record.cached_tokens});
    const bool complete = choice.grammar && choice.grammar->must_end();
    if (choice.text.stopped() || complete) end(choice, FinishReason::stop);
    else if (choice.drawn >= ticket.most) end(choice, FinishReason::length);
}

void Scheduler::State::keep_failure(const Status& done) {
    const std::lock_guard lock(mutex);
    if (done) failure.reset();
    else failure = done.error();
}

void Scheduler::State::publish() {
    const std::lock_guard lock(mutex);
    counters.steps = turn;
    counters.running = lanes.running();
    const PagePool& pool = store->pool();
    counters.kv_bytes = static_cast<uint64_t>(pool.n_page()) * pool.page_bytes();
    counters.pages = static_cast<uint64_t>(pool.n_page());
    counters.pages_cached = static_cast<uint64_t>(store->tree().n_page());
    counters.pages_used = static_cast<uint64_t>(pool.n_page() - pool.n_free());
    counters.kv_bytes_planned = static_cast<uint64_t>(engine.plan.pool_pages) * pool.page_bytes();
    counters.parked_files = parking.n_file();
    counters.parked_bytes = parking.ram_used();
    counters.checkpoints = static_cast<uint64_t>(store->tree().n_state());
}

}  // namespace ft
