// freetoken batch: JSON lines of OpenAI requests to JSON lines of answers, many at once (docs/verify.md).
#include <CLI/CLI.hpp>

#include <xxhash.h>

#include <algorithm>
#include <ctime>
#include <list>
#include <unordered_map>

#include "base/log.h"
#include "cli/batch_line.h"
#include "cli/batch_output.h"
#include "cli/interrupt.h"
#include "cli/json_text.h"
#include "cli/line_reader.h"
#include "cli/load_engine.h"
#include "cli/model_text.h"
#include "cli/progress_bar.h"
#include "cli/scheduler_settings.h"
#include "cli/standard_output.h"
#include "engine/scheduler.h"
#include "server/openai_response.h"
#include "text/chat_history.h"

namespace ft::cli {

namespace {

constexpr Seconds k_between_lines = 10;  // of how far it is, where there is no terminal

struct BatchFlags {
    std::string input, output;
    bool json = false;
};

// A line whose requests are with the scheduler.
struct Running {
    BatchLine line;
    std::vector<std::shared_ptr<AnswerCollector>> answers;
    std::vector<RequestId> ids;

    bool done() const {
        return std::all_of(answers.begin(), answers.end(), [](const auto& answer) { return answer->done(); });
    }
};

// Lines are read as they are needed: what runs, and as many again that wait, so that no place stays empty.
class Batch {
 public:
    Batch(const ModelText& text, const Engine& engine, Scheduler& scheduler, LineReader& input,
          BatchOutput& output, size_t window)
        : text_(text),
          model_{*text.tokenizer, text.chat_template ? &*text.chat_template : nullptr, text.defaults,
                 engine.n_ctx(), engine.endless()},
          scheduler_(scheduler),
          input_(input),
          output_(output),
          window_(window) {}

    // Until every line is done, or Ctrl-C.
    Status run() {
        ProgressBar progress("batch");
        while (!interrupted().load(std::memory_order_relaxed)) {
            if (Status filled = fill(); !filled) return filled;
            if (running_.empty()) return {};
            scheduler_.step();
            if (Status written = write_finished(); !written) return written;
            if (progress.on_terminal()) progress.update(input_.offset(), input_.size(), note());
            else if (line_.is_due(now_seconds())) log("batch", "{}", note());
        }
        for (const Running& running : running_)
            for (const RequestId id : running.ids) scheduler_.cancel(id);
        while (scheduler_.step()) {
        }
        return {};
    }

    int64_t n_lines() const { return n_lines_; }

 private:
    // "12 lines, 31.0 tok/s, 2 min left"
    std::string note() const {
        const Seconds spent = now_seconds() - start_;
        return fmt::format(
            "{} lines, {:.1f} tok/s{}", output_.n_done(),
            static_cast<double>(scheduler_.counters().generated_tokens) / std::max(spent, 1e-3),
            time_left(spent, input_.offset(), input_.size()));
    }

    Status fill() {
        while (running_.size() < window_) {
            const Expected<LineReader::Got> got = input_.next(line_text_);
            if (!got) return got.error();
            if (*got == LineReader::Got::end) return {};
            if (line_text_.find_first_not_of(" \t\r") == std::string::npos &&
                *got != LineReader::Got::too_long)
                continue;
            n_lines_++;
            if (Status taken = take_line(*got); !taken) return taken;
        }
        return {};
    }

    BatchEnvelope envelope_of(LineReader::Got got) {
        if (got != LineReader::Got::too_long) return read_envelope(input_.number(), line_text_);
        BatchEnvelope envelope;
        envelope.line.number = input_.number();
        envelope.line.error = ApiError{.message = "the line is longer than 16 MiB.", .code = "invalid_line"};
        return envelope;
    }

    Status take_line(LineReader::Got got) {
        BatchEnvelope envelope = envelope_of(got);
        refuse_repeated(envelope.line);
        const Expected<bool> done = output_.has(envelope.line.number, envelope.line.custom_id);
        if (!done) return done.error();
        if (*done) return {};
        BatchLine line = read_batch_line(std::move(envelope), model_);
        if (line.error) return output_.append(failed_line(line, *line.error));
        return submit(std::move(line));
    }

    void refuse_repeated(BatchLine& line) {
        if (line.custom_id.empty()) return;
        const uint64_t hash = XXH3_64bits(line.custom_id.data(), line.custom_id.size());
        const auto [at, is_new] = line_of_.try_emplace(hash, line.number);
        if (is_new) return;
        line.error = ApiError{
            .message = fmt::format("custom_id {} is that of line {}.", printable(line.custom_id), at->second),
            .param = "custom_id",
            .code = "invalid_line"};
    }

    Status submit(BatchLine line) {
        Running running{std::move(line), {}, {}};
        const auto reader = std::make_shared<AnswerReader>(*running.line.call);
        size_t first_choice = 0;
        for (Request& request : running.line.call->requests) {
            auto answer = std::make_shared<AnswerCollector>(reader, first_choice);
            first_choice += static_cast<size_t>(request.n_choices);
            const Expected<RequestId> id = scheduler_.submit(request, answer);
            if (!id) {
                for (const RequestId earlier : running.ids) scheduler_.cancel(earlier);
                return output_.append(failed_line(running.line, api_error(id.error())));
            }
            request.prompt.clear();  // the scheduler has it
            request.prompt.shrink_to_fit();
            running.answers.push_back(std::move(answer));
            running.ids.push_back(*id);
        }
        running_.push_back(std::move(running));
        return {};
    }

    Status write_finished() {
        for (auto at = running_.begin(); at != running_.end();) {
            if (!at->done()) {
                ++at;
                continue;
            }
            note_truncated(*at);
            if (Status written = output_.append(finished_line(*at)); !written) return written;
            at = running_.erase(at);
        }
        return {};
    }

    // What kv_cache.auto_evict took from a line, once for each.
    void note_truncated(const Running& running) const {
        if (running.line.call->dropped_turns > 0)
            log("kv", "line {}: {}", running.line.number,
                dropped_turns_line(running.line.call->dropped_turns,
                                   running.line.call->requests[0].dropped_tokens, model_.n_ctx));
        int64_t forgotten = 0;
        for (const auto& answer : running.answers) forgotten += answer->record().forgotten_tokens;
        if (forgotten > 0)
            log("kv", "line {}: {}", running.line.number, forgotten_line(forgotten, model_.n_ctx));
    }

    nlohmann::ordered_json finished_line(const Running& running) const {
        std::vector<const AnswerCollector*> answers;
        for (const auto& answer : running.answers) {
            if (answer->error()) return failed_line(running.line, api_error(*answer->error()));
            answers.push_back(answer.get());
        }
        const bool chat = running.line.call->route == OpenAiRoute::chat;
        const ResponseHead head = {
            .id = fmt::format("{}-batch-{}", chat ? "chatcmpl" : "cmpl", running.line.number),
            .created = std::time(nullptr),
            .model = text_.name,
            .fingerprint = fmt::format("freetoken-{}", FREETOKEN_VERSION)};
        return answered_line(running.line,
                             response_body(*running.line.call, head, answers, *text_.tokenizer));
    }

    const ModelText& text_;
    ServedModel model_;
    Scheduler& scheduler_;
    LineReader& input_;
    BatchOutput& output_;
    size_t window_;
    std::string line_text_;
    std::list<Running> running_;
    std::unordered_map<uint64_t, int64_t> line_of_;  // hash of a custom_id -> the first line that has it
    int64_t n_lines_ = 0;
    Seconds start_ = now_seconds();
    LineEvery line_{k_between_lines, start_};
};

nlohmann::ordered_json memory_json(const SchedulerCounters& counters) {
    return {{"kv_bytes", counters.kv_bytes},         {"kv_bytes_planned", counters.kv_bytes_planned},
            {"pages_leaked", counters.pages_used},   {"checkpoints_leaked", counters.checkpoints},
            {"parked_files", counters.parked_files}, {"parked_bytes", counters.parked_bytes}};
}

// What of the output was done before this run.
struct Earlier {
    int64_t done = 0, failed = 0;
};

// "5 lines are done, 1 of them failed"; where there were lines before, those too.
std::string lines_text(const BatchOutput& output, const Earlier& earlier) {
    const std::string now =
        fmt::format("{} lines are done{}, {} of them failed", output.n_done() - earlier.done,
                    earlier.done > 0 ? " by this run" : "", output.n_failed() - earlier.failed);
    if (earlier.done == 0) return now;
    return fmt::format("{}; {} were there before, {} of them failed", now, earlier.done, earlier.failed);
}

// What the run did, on stderr and, with --json, as the last line of stdout.
void print_outcome(const BatchFlags& flags, const Batch& batch, const BatchOutput& output,
                   const Earlier& earlier, Scheduler& scheduler, Seconds seconds) {
    const SchedulerCounters during = scheduler.counters();
    scheduler.drop_prefix_cache();
    const SchedulerCounters after = scheduler.counters();
    const double rate = seconds > 0 ? static_cast<double>(during.generated_tokens) / seconds : 0;
    log("stats", "{}; {} tokens in {:.1f} s, {:.1f} tok/s{}", lines_text(output, earlier),
        during.generated_tokens, seconds, rate,
        interrupted().load() ? "; the same command goes on with the others" : "");
    if (output.n_failed() > 0)
        log("batch",
            "failed lines stay in {} and are not tried again. To try them, remove them there, or name "
            "another "
            "file by -o.",
            path_text(flags.output));
    if (!flags.json) return;
    const nlohmann::ordered_json out = {{"lines", batch.n_lines()},
                                        {"failed", output.n_failed()},
                                        {"prompt_tokens", during.prompt_tokens},
                                        {"cached_tokens", during.cached_tokens},
                                        {"generated_tokens", during.generated_tokens},
                                        {"generated_per_second", rate},
                                        {"seconds", seconds},
                                        {"parked", during.parked},
                                        {"memory", memory_json(after)}};
    write_out(json_text(out));
}

Expected<int> run_batch(const ModelChoice& choice, const BatchFlags& flags) {
    if (Status s = require_flag(flags.input, "batch", "the input IN.jsonl"); !s) return s.error();
    if (Status s = require_flag(flags.output, "batch", "-o OUT.jsonl"); !s) return s.error();
    Expected<LineReader> input = LineReader::open(flags.input, k_longest_batch_line);
    if (!input) return input.error();
    Expected<BatchOutput> output = BatchOutput::inspect(flags.output);
    if (!output) return output.error();
    Expected<ModelText> text = load_model_text(choice, TemplateUse::where_there_is_one);
    if (!text) return text.error();
    LoadOptions load = load_options(choice);
    SchedulerOptions options = scheduler_options(choice.settings);
    options.interactive_slots = 0;               // nobody waits at a terminal
    load.steps.batch_size = options.batch_size;  // what the plan makes room for
    load.kv.pool_tokens = options.pool_tokens;
    Expected<std::unique_ptr<Engine>> engine = load_engine(std::move(load));
    if (!engine) return engine.error();
    Expected<std::unique_ptr<Scheduler>> scheduler = Scheduler::create(**engine, *text->tokenizer, options);
    if (!scheduler) return scheduler.error();
    if (Status begun = output->begin(); !begun) return begun.error();

    const Earlier earlier{output->n_done(), output->n_failed()};
    catch_interrupts();
    const Seconds start = now_seconds();
    Batch batch(*text, **engine, **scheduler, *input, *output, 2 * static_cast<size_t>(options.batch_size));
    if (Status done = batch.run(); !done) return done.error();
    print_outcome(flags, batch, *output, earlier, **scheduler, now_seconds() - start);
    if (interrupted().load()) return k_exit_interrupted;
    return output->n_failed() > 0 ? 1 : 0;
}

}  // namespace

Action define_batch(CLI::App& app) {
    const auto flags = std::make_shared<BatchFlags>();
    app.add_option("input", flags->input,
                   "a request of OpenAI's form on each line, {custom_id, method, url, body}; url is "
                   "/v1/completions or /v1/chat/completions")
        ->type_name("IN.jsonl");
    app.add_option("-o,--output", flags->output,
                   "where the answers go, a line each, in the order they finish. Lines that are there "
                   "already are kept, so that the same command goes on after a break; a line that failed is "
                   "tried again once it is removed there")
        ->type_name("FILE");
    app.add_flag("--json", flags->json, "print one JSON object at the end: counts, times, memory");
    const auto model_flags = add_model_flags(app, Use::answering);
    return [=]() -> Expected<int> {
        if (flags->input.ends_with(".gguf") && !model_flags->settings.print_config)
            return Error{Code::invalid,
                         fmt::format("batch: the first argument is the file of requests, not the model {}",
                                     printable(flags->input)),
                         "Write `freetoken batch IN.jsonl -o OUT.jsonl --model MODEL.gguf`."};
        return with_model(*model_flags, [&](const ModelChoice& choice) { return run_batch(choice, *flags); });
    };
}

}  // namespace ft::cli
