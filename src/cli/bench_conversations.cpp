#include "cli/bench_conversations.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "cli/bench_parallel.h"
#include "text/tokenizer.h"

namespace ft::cli {

namespace {

constexpr int64_t k_kept_prefix = 2000;
constexpr int k_reuses = 5;
constexpr int64_t k_warm_prompt = 256, k_warm_answer = 8;  // tokens that nobody counts

// Notes when each token came.
class TokenTimes : public RequestOwner {
 public:
    void on_token(const TokenEvent&) override { times.push_back(now_seconds()); }
    void on_end(const ChoiceEnd& end) override {
        if (end.error != nullptr) error = *end.error;
    }
    void on_done(const RequestRecord& its) override {
        record = its;
        done = true;
    }

    std::vector<Seconds> times;
    std::optional<Error> error;
    RequestRecord record;
    bool done = false;
};

double at_share(std::vector<double>& values, double share) {
    if (values.empty()) return 0;
    std::ranges::sort(values);
    const auto i = static_cast<size_t>(share * static_cast<double>(values.size()));
    return values[std::min(i, values.size() - 1)];
}

class ConversationRuns {
 public:
    ConversationRuns(Engine& engine, const Tokenizer& tokenizer, const ConversationBench& bench)
        : engine_(engine), tokenizer_(tokenizer), bench_(bench) {}

    Status warm_up() {
        auto scheduler = Scheduler::create(engine_, tokenizer_, bench_.options);
        if (!scheduler) return scheduler.error();
        const int64_t n = std::min(k_warm_prompt, engine_.n_ctx() / 2);
        const auto its = finish(**scheduler, bench_request(0, n, k_warm_answer, engine_.n_vocab()));
        return its ? Status() : Status(its.error());
    }

    Status prompt_beside_others() {
        const auto alone = read_prompt(0);
        if (!alone) return alone.error();
        const auto beside = read_prompt(k_beside_answers);
        if (!beside) return beside.error();
        result.alone_per_second = *alone;
        result.beside_per_second = *beside;
        result.gap_median_ms = at_share(gaps_, 0.5);
        result.gap_p99_ms = at_share(gaps_, 0.99);
        result.gap_most_ms = at_share(gaps_, 1);
        return {};
    }

    Status reuse_of_a_prefix() {
        SchedulerOptions options = bench_.options;
        options.batch_size = 2;  // one runs; its pages and those that are kept
        options.interactive_slots = 0;
        options.prefix_cache_bytes = std::numeric_limits<uint64_t>::max();
        auto scheduler = Scheduler::create(engine_, tokenizer_, options);
        if (!scheduler) return scheduler.error();
        const int64_t n = std::min(k_kept_prefix, engine_.n_ctx() - 8);
        Request first = bench_request(0, n, 1, engine_.n_vocab());
        std::vector<double> reuse, ttft;
        for (int i = 0; i <= k_reuses; i++) {
            Request r = first;
            for (int k = 0; k < i; k++) r.prompt.push_back((k + 7) % 16);  // another end each time
            const auto its = finish(**scheduler, std::move(r));
            if (!its) return its.error();
            if (i == 0) {
                result.first_ttft_ms = its->ttft_ms;
                continue;
            }
            result.kept_tokens = its->cached_tokens;
            reuse.push_back(its->queue_ms);
            ttft.push_back(its->ttft_ms);
        }
        result.reuse_ms = at_share(reuse, 0.5);
        result.reuse_ttft_ms = at_share(ttft, 0.5);
        return {};
    }

    Status mixed_lines() {
        auto scheduler = Scheduler::create(engine_, tokenizer_, bench_.options);
        if (!scheduler) return scheduler.error();
        const int ahead = 2 * bench_.options.batch_size;
        std::vector<std::shared_ptr<TokenTimes>> all;
        const Seconds start = now_seconds();
        Seconds full_end = start;
        uint64_t full_tokens = 0;
        for (;;) {
            const SchedulerCounters now = (*scheduler)->counters();
            for (auto n = static_cast<int64_t>(all.size()) - static_cast<int64_t>(now.done);
                 n < ahead && static_cast<int64_t>(all.size()) < bench_.lines; n++) {
                all.push_back(std::make_shared<TokenTimes>());
                const auto id = (*scheduler)->submit(mixed_request(static_cast<int>(all.size())), all.back());
                if (!id) return id.error();
            }
            if ((*scheduler)->counters().waiting > 0) {
                full_end = now_seconds();
                full_tokens = now.generated_tokens;
            }
            if (!(*scheduler)->step()) break;
        }
        for (const auto& one : all)
            if (one->error) return *one->error;
        const auto rate = [start](uint64_t tokens, Seconds end) {
            return static_cast<double>(tokens) / std::max(end - start, 1e-9);
        };
        result.mix_per_second = rate((*scheduler)->counters().generated_tokens, now_seconds());
        result.mix_full_per_second = rate(full_tokens, full_end);
        return {};
    }

    ConversationResult result;

 private:
    // Tokens a second of the long prompt, while so many others write their answers.
    Expected<double> read_prompt(int others) {
        SchedulerOptions options = bench_.options;
        options.batch_size = k_beside_answers + 1;
        options.interactive_slots = 0;
        auto made = Scheduler::create(engine_, tokenizer_, options);
        if (!made) return made.error();
        Scheduler& scheduler = **made;
        std::vector<std::shared_ptr<TokenTimes>> answers;
        for (int i = 0; i < others; i++) {
            answers.push_back(std::make_shared<TokenTimes>());
            Request r = bench_request(i + 1, 16, engine_.n_ctx(), engine_.n_vocab());
            const auto id = scheduler.submit(std::move(r), answers.back());
            if (!id) return id.error();
        }
        const auto begun = [](const auto& answer) { return answer->times.size() >= 16; };
        while (!std::ranges::all_of(answers, begun) && scheduler.step()) {
        }
        const auto prompt = std::make_shared<TokenTimes>();
        const Seconds start = now_seconds();
        const auto id =
            scheduler.submit(bench_request(0, bench_.prompt_tokens, 1, engine_.n_vocab()), prompt);
        if (!id) return id.error();
        while (!prompt->done && scheduler.step()) {
        }
        if (prompt->error) return *prompt->error;
        for (const auto& answer : answers)
            for (size_t i = 1; i < answer->times.size(); i++)
                if (answer->times[i] > start)
                    gaps_.push_back((answer->times[i] - answer->times[i - 1]) * 1e3);
        return static_cast<double>(bench_.prompt_tokens) / std::max(prompt->record.prefill_ms / 1e3, 1e-9);
    }

    static Expected<RequestRecord> finish(Scheduler& scheduler, Request request) {
        const auto owner = std::make_shared<TokenTimes>();
        const auto id = scheduler.submit(std::move(request), owner);
        if (!id) return id.error();
        while (scheduler.step()) {
        }
        if (owner->error) return *owner->error;
        return owner->record;
    }

    // Prompts of 8 to 199 tokens, answers of 16 to 256, in an order without a pattern.
    Request mixed_request(int number) const {
        const int64_t n = number;
        return bench_request(number, std::min<int64_t>(8 + n * 7919 % 192, engine_.n_ctx() / 2),
                             16 + n * 104729 % 241, engine_.n_vocab());
    }

    Engine& engine_;
    const Tokenizer& tokenizer_;
    const ConversationBench& bench_;
    std::vector<double> gaps_;  // ms
};

}  // namespace

Expected<ConversationResult> bench_conversations(Engine& engine, const ConversationBench& bench) {
    auto tokenizer = Tokenizer::load(engine.file());
    if (!tokenizer) return tokenizer.error();
    ConversationRuns runs(engine, **tokenizer, bench);
    if (Status s = runs.warm_up(); !s) return s.error();
    if (bench.parts.reuse)
        if (Status s = runs.reuse_of_a_prefix(); !s) return s.error();
    if (bench.parts.beside)
        if (Status s = runs.prompt_beside_others(); !s) return s.error();
    if (bench.parts.mix)
        if (Status s = runs.mixed_lines(); !s) return s.error();
    runs.result.parts = bench.parts;
    return runs.result;
}

nlohmann::ordered_json to_json(const ConversationResult& r) {
    auto out = nlohmann::ordered_json::object();
    if (r.parts.beside)
        out["beside"] = {{"answers", k_beside_answers},
                         {"prompt_per_second", r.beside_per_second},
                         {"prompt_per_second_alone", r.alone_per_second},
                         {"gap_median_ms", r.gap_median_ms},
                         {"gap_p99_ms", r.gap_p99_ms},
                         {"gap_most_ms", r.gap_most_ms}};
    if (r.parts.reuse)
        out["reuse"] = {{"cached_tokens", r.kept_tokens},
                        {"reuse_ms", r.reuse_ms},
                        {"ttft_ms", r.reuse_ttft_ms},
                        {"ttft_ms_first", r.first_ttft_ms}};
    if (r.parts.mix)
        out["mix"] = {{"total_per_second", r.mix_per_second}, {"full_per_second", r.mix_full_per_second}};
    return out;
}

std::string to_text(const ConversationResult& r) {
    std::string text;
    if (r.parts.beside)
        text += fmt::format(
            "prompt      alone {:.1f} tok/s, beside {} answers {:.1f} tok/s; between their tokens {:.0f} ms, "
            "p99 {:.0f} ms, at most {:.0f} ms\n",
            r.alone_per_second, k_beside_answers, r.beside_per_second, r.gap_median_ms, r.gap_p99_ms,
            r.gap_most_ms);
    if (r.parts.reuse)
        text += fmt::format(
            "beginning   {} tokens that are kept: {:.2f} ms, first token after {:.1f} ms (the first time "
            "{:.1f} ms)\n",
            r.kept_tokens, r.reuse_ms, r.reuse_ttft_ms, r.first_ttft_ms);
    if (r.parts.mix)
        text += fmt::format("mix         {:.2f} tok/s, {:.2f} tok/s while there is work for every slot\n",
                            r.mix_per_second, r.mix_full_per_second);
    return text;
}

}  // namespace ft::cli
