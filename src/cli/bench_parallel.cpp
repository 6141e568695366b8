#include "cli/bench_parallel.h"

#include <algorithm>

#include "base/clock.h"
#include "engine/scheduler.h"
#include "text/tokenizer.h"

namespace ft::cli {

namespace {

class Watch : public RequestOwner {
 public:
    void on_token(const TokenEvent&) override {
        last = now_seconds();
        if (n++ == 0) first = last;
    }
    void on_end(const ChoiceEnd& end) override {
        if (end.error != nullptr) error = *end.error;
    }
    void on_done(const RequestRecord& its) override { record = its; }

    Seconds first = 0, last = 0;
    int64_t n = 0;
    std::optional<Error> error;
    RequestRecord record;
};

Expected<ParallelResult> run_width(Engine& engine, const Tokenizer& tokenizer, int width, int64_t pp,
                                   int64_t tg) {
    SchedulerOptions options;
    options.batch_size = width;
    options.interactive_slots = 0;
    auto scheduler = Scheduler::create(engine, tokenizer, options);
    if (!scheduler) return scheduler.error();
    std::vector<std::shared_ptr<Watch>> answers;
    const Seconds start = now_seconds();
    for (int i = 0; i < width; i++) {
        answers.push_back(std::make_shared<Watch>());
        const auto id = (*scheduler)->submit(bench_request(i, pp, tg, engine.n_vocab()), answers.back());
        if (!id) return id.error();
    }
    while ((*scheduler)->step()) {
    }
    ParallelResult result{.width = width};
    Seconds first = answers[0]->first, prompts_done = 0, last = 0;
    int64_t n = 0;
    for (const auto& answer : answers) {
        if (answer->error) return *answer->error;
        result.ttft_ms += answer->record.ttft_ms / width;
        const Seconds spent = std::max(answer->last - answer->first, 1e-9);
        result.each_per_second += static_cast<double>(answer->n - 1) / spent / width;
        first = std::min(first, answer->first);
        prompts_done = std::max(prompts_done, answer->first);
        last = std::max(last, answer->last);
        n += answer->n - 1;
    }
    result.total_per_second = static_cast<double>(n) / std::max(last - first, 1e-9);
    result.prompt_per_second = static_cast<double>(pp * width) / std::max(prompts_done - start, 1e-9);
    return result;
}

}  // namespace

Request bench_request(int number, int64_t pp, int64_t tg, int64_t n_vocab) {
    Request r;
    for (int64_t i = 0; i < pp; i++)
        r.prompt.push_back(static_cast<int32_t>((100 + number * 131 + i * 7919 % 20000) % n_vocab));
    r.sampling.temperature = 0;
    r.max_tokens = tg;
    r.lane = Lane::batch;
    return r;
}

Expected<std::vector<ParallelResult>> bench_parallel(Engine& engine, const std::vector<int>& widths,
                                                     int64_t pp, int64_t tg) {
    auto tokenizer = Tokenizer::load(engine.file());
    if (!tokenizer) return tokenizer.error();
    std::vector<ParallelResult> results;
    for (const int width : widths) {
        auto result = run_width(engine, **tokenizer, width, pp, tg);
        if (!result) return result.error();
        results.push_back(*result);
    }
    return results;
}

nlohmann::ordered_json to_json(const std::vector<ParallelResult>& results) {
    auto list = nlohmann::ordered_json::array();
    for (const ParallelResult& r : results)
        list.push_back({{"parallel", r.width},
                        {"ttft_ms", r.ttft_ms},
                        {"predicted_per_second", r.each_per_second},
                        {"total_per_second", r.total_per_second},
                        {"prompt_per_second", r.prompt_per_second}});
    return list;
}

std::string to_text(const std::vector<ParallelResult>& results) {
    std::string text;
    for (const ParallelResult& r : results)
        text += fmt::format(
            "parallel {:3}   first token {:9.1f} ms   each {:8.2f} tok/s   together {:8.2f} tok/s   prompts "
            "{:8.2f} tok/s\n",
            r.width, r.ttft_ms, r.each_per_second, r.total_per_second, r.prompt_per_second);
    return text;
}

}  // namespace ft::cli
