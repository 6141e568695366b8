#include "cli/reply.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/size_text.h"
#include "cli/interrupt.h"
#include "cli/json_text.h"
#include "cli/limit_advice.h"
#include "cli/live_stats.h"
#include "cli/load_engine.h"
#include "cli/progress_bar.h"
#include "cli/standard_output.h"
#include "device/cpu.h"
#include "device/foreign_cpu.h"
#include "engine/machine_profile.h"
#include "engine/state_borders.h"
#include "text/answer_text.h"

namespace ft::cli {

namespace {

// "24 tokens, 120.0 tok/s"; the first token of an answer comes with the prompt, so one alone has no rate.
std::string tokens_and_rate(int64_t n, double per_second) {
    const std::string tokens = fmt::format("{} token{}", n, n == 1 ? "" : "s");
    return per_second > 0 ? fmt::format("{}, {:.1f} tok/s", tokens, per_second) : tokens;
}

}  // namespace

void keep_beginning(RunModel& model, const Prompt& prompt) {
    if (!model.sequence->keeps_states()) return;
    const std::vector<int64_t> begins = message_begins(prompt.ids, *model.tokenizer);
    model.sequence->keep_state_at(begins.empty() ? 0 : begins.back());
}

Expected<Reply> reply_to(RunModel& model, const Prompt& prompt, const PrintStyle& style) {
    const ForeignCpu watch;
    const CacheStats before = model.engine->expert_stats();
    AnswerPrinter printer(style, prompt.inside_thinking, write_out);
    AnswerText text(*model.tokenizer, false, model.stop);
    std::optional<ProgressBar> bar(std::in_place, "reading the prompt");
    AnswerRequest request;
    request.prompt = prompt.ids;
    request.sampling = model.sampling;
    if (model.settings.has("inference.max_tokens"))
        request.max_tokens = model.settings.integer("inference.max_tokens");
    request.n_ctx = model.engine->n_ctx();
    request.endless = model.engine->endless();
    request.stop = &interrupted();
    request.model = model.path;
    request.grammar = model.grammar;
    request.grammar_start = model.chat_template ? start_of_grammar(prompt) : GrammarStart::at_once;
    if (bar->on_terminal())
        request.on_prompt = [&](uint64_t done, uint64_t total) { bar->update(done, total); };
    model.sequence->keep_prefix_of(prompt.ids);
    const auto is_end = [&](int32_t id) { return model.is_end(id); };
    LiveStats live(style.figures == Figures::live);
    int64_t n_emitted = 0;
    Seconds first = 0;
    const auto show_live = [&] {
        if (n_emitted++ == 0) first = now_seconds();
        if (!live.is_due()) return;
        const CacheStats experts = model.engine->expert_stats() - before;
        live.show(live_line(n_emitted, now_seconds() - first,
                            model.engine->experts_resident() ? nullptr : &experts));
    };
    const auto emit = [&](int32_t id) {
        bar.reset();
        show_live();
        return printer.push(text.push(id)) && !text.stopped();
    };
    Expected<Answer> answer = generate(*model.sequence, request, is_end, emit);
    bar.reset();
    const bool finished = printer.push(text.finish()) && printer.finish();
    if (!answer) return answer.error();
    if (text.stopped()) answer->end = AnswerEnd::stop_text;
    if (!finished) answer->end = AnswerEnd::unheard;
    answer->timings.load_ms = model.engine->load_ms();
    answer->timings.forecast = forecast_of(*model.engine);
    answer->timings.bytes_per_token = model.engine->bytes_per_token();
    if (!model.engine->experts_resident()) answer->timings.experts = model.engine->expert_stats() - before;
    return Reply{std::move(*answer), printer.text(), printer.thinking(),
                 model.engine->forgotten(model.sequence->n_past()), watch.share()};
}

std::string statistics_line(const Timings& t) {
    std::string line = fmt::format("prompt {}; first token after {:.0f} ms; answer {}",
                                   tokens_and_rate(t.prompt_n, t.prompt_per_second()), t.ttft_ms,
                                   tokens_and_rate(t.predicted_n, t.predicted_per_second()));
    if (t.read_gb_per_second() > 0) line += fmt::format(" ({:.1f} GB/s of weights)", t.read_gb_per_second());
    if (t.experts)
        line += fmt::format(
            "; {:.0f} % of experts found in RAM, {} read from the drive, {:.1f} s waited for it",
            100 * t.experts->hit_rate(), size_text(t.experts->bytes_read), t.experts->wait_seconds);
    return line;
}

std::string loading_text(double load_ms) {
    return load_ms < 1e3 * k_unnoticed_load ? "" : fmt::format("; loaded in {:.1f} s", load_ms / 1e3);
}

void log_statistics(RunModel& model, const Reply& reply, Figures figures) {
    if (figures == Figures::none) return;
    const Timings& t = reply.answer.timings;
    log("stats", "{}{}", statistics_line(t), model.load_is_told ? "" : loading_text(t.load_ms));
    model.load_is_told = true;
    if (figures == Figures::live && t.experts) {
        log("stats", "this answer: {}", tier_line(*t.experts));
        const CacheStats all = model.engine->expert_stats();
        const bool is_first = all.hits + all.misses == t.experts->hits + t.experts->misses;
        if (!is_first) log("stats", "all answers: {}", tier_line(all));
    } else if (figures == Figures::live) {
        log("stats", "all weights are in RAM: nothing was read from the drive");
    }
    const auto profile = known_machine_profile(model.path);
    LimitAdvice advice =
        limit_advice({.timings = t,
                      .foreign_cpu = reply.foreign_cpu,
                      .ram_gb_per_second = profile ? profile->ram_read_gb_per_second : 0,
                      .swap_dir_unused = model.settings.has("memory.swap_dir") && !model.engine->reads_pack(),
                      .threads = model.engine->threads(),
                      .cores = physical_cores()});
    if (!advice.limit.empty() && advice.limit != model.limit) log("advice", "{}", advice.sentence);
    model.limit = std::move(advice.limit);
}

std::string nothing_shown_line(const Reply& reply, const PrintStyle& style) {
    if (!reply.text.empty() || (!reply.thinking.empty() && style.show_thinking)) return "";
    if (reply.answer.end == AnswerEnd::interrupted) return "";
    if (reply.thinking.empty())
        return "the answer is empty: the model ended it at once. Another prompt, template or --seed may "
               "help.";
    return "the answer ended while the model was still thinking. A larger --max-tokens or --ctx gives it "
           "time, "
           "--think on shows the thinking, --think off asks for none.";
}

std::string context_full_line(const FullContext& full) {
    const int64_t n_answer = full.n_ctx - full.n_prompt;
    std::string help = "A shorter prompt leaves more room";
    if (full.in_chat) help = "/reset begins a new conversation";
    else if (full.never_ends)
        help =
            "With inference.ignore_eos (--ignore-eos) an answer never ends by itself; --max-tokens ends it";
    else if (full.n_prompt < n_answer)
        help = fmt::format("The answer has {} of them; --max-tokens ends one sooner", n_answer);
    if (full.n_ctx < full.n_ctx_model)
        help += fmt::format("; --ctx takes up to {} with this model", full.n_ctx_model);
    return fmt::format("the context of {} tokens is full, so the answer ends here. {}.", full.n_ctx, help);
}

std::string reply_json(const Reply& reply, const RunModel& model) {
    nlohmann::ordered_json timings = to_json(reply.answer.timings);
    timings["logits_hash"] = fmt::format("{:016x}", reply.answer.logits_hash);
    timings["foreign_cpu"] = reply.foreign_cpu;
    nlohmann::ordered_json out = {{"text", reply.text}};
    if (!reply.thinking.empty()) out["reasoning_content"] = reply.thinking;
    out["finish_reason"] = finish_reason(reply.answer.end);
    if (reply.forgotten_tokens > 0) out["truncated"] = true;
    out["seed"] = model.sampling.seed;
    out["model"] = model.name;
    out["timings"] = std::move(timings);
    return json_text(out);
}

}  // namespace ft::cli
