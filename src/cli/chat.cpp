#include "cli/chat.h"

#include <cstdio>
#include <limits>

#include "base/log.h"
#include "base/printable.h"
#include "cli/chat_loop.h"
#include "cli/chat_settings.h"
#include "cli/interrupt.h"
#include "cli/model_text.h"
#include "cli/reply.h"

namespace ft::cli {

namespace {

// What /set stats takes.
constexpr std::pair<std::string_view, Figures> k_figures[] = {
    {"off", Figures::none}, {"on", Figures::line}, {"live", Figures::live}};

std::string_view figures_word(Figures figures) {
    for (const auto& [word, meant] : k_figures)
        if (meant == figures) return word;
    return "";
}

class Chat {
 public:
    Chat(RunModel& model, Conversation& conversation, const PrintStyle& style)
        : model_(model), conversation_(conversation), style_(style), editor_(history_path()) {}

    Expected<int> run() {
        say(fmt::format("{}: context of {} tokens. /help lists the commands, Ctrl-D ends.", model_.name,
                        model_.engine->n_ctx()));
        return run_chat(
            {.read_line = [&](const std::string& prompt) { return editor_.read(prompt); },
             .say = [&](const std::string& line) { say(line); },
             .answer = [&](const std::string& text) { return turn(text); },
             .reset = [&] { reset(); },
             .stats = [&] { return stats(); },
             .system = [&] { return conversation_.system(); },
             .set_system = [&](const std::string& text) { conversation_.set_system(text); },
             .set = [&](const std::string& name, const std::string& value) { return change(name, value); },
             .save = [&](const std::string& path) { return save(path); },
             .load = [&](const std::string& path) { return load(path); }});
    }

 private:
    static void say(const std::string& line) { std::fprintf(stderr, "%s\n", printable_lines(line).c_str()); }

    void reset() {
        conversation_.clear();
        model_.sequence->keep_prefix_of({});
    }

    // /set NAME VALUE; without a value, or without a name, what holds.
    std::string change(const std::string& name, const std::string& value) {
        if (name.empty())
            return fmt::format("{}\n  {:<22} {}", chat_setting_lines(model_.settings), "stats",
                               figures_word(style_.figures));
        if (name == "stats") return change_figures(value);
        const Expected<const Key*> key = chat_setting(name);
        if (!key) return key.error().sentence();
        if (value.empty())
            return fmt::format("{} (takes {})", chat_setting_line(model_.settings, **key),
                               allowed_values(**key));
        Expected<std::optional<SettingValue>> parsed = parse_value(**key, (*key)->name, value);
        if (!parsed) return parsed.error().sentence();
        if (const Status taken = take(**key, std::move(*parsed)); !taken) return taken.error().sentence();
        return fmt::format("{}, from the next answer on.", chat_setting_line(model_.settings, **key));
    }

    // After an error everything is as it was. A seed that was drawn at the start stays: only /set seed
    // changes it.
    Status take(const Key& key, std::optional<SettingValue> value) {
        Settings before = model_.settings;
        const uint64_t seed = model_.sampling.seed;
        model_.settings.set(key, std::move(value), "/set");
        take_advice(model_.settings,
                    model_.engine->file());  // of the model's file, where the default is in force
        if (const Status taken = take_answer_settings(model_); !taken) {
            model_.settings = std::move(before);
            return taken;
        }
        if (std::string_view(key.name) != "seed") model_.sampling.seed = seed;
        conversation_.set_think(asks_for_thinking(model_.settings));
        style_.show_thinking = shows_thinking(model_.settings, style_.terminal);
        return {};
    }

    std::string change_figures(const std::string& value) {
        constexpr std::string_view k_takes = "takes one of off, on, live";
        if (value.empty()) return fmt::format("stats: {} ({})", figures_word(style_.figures), k_takes);
        for (const auto& [word, figures] : k_figures) {
            if (value != word) continue;
            style_.figures = figures;
            return fmt::format("stats: {}.", word);
        }
        return fmt::format("stats {}, not \"{}\".", k_takes, value);
    }

    std::string save(const std::string& path) {
        const Status saved = model_.sequence->save(path, conversation_.saved());
        if (!saved) return saved.error().sentence();
        return fmt::format("Saved: {} tokens in {}.", model_.sequence->n_past(), path);
    }

    std::string load(const std::string& path) {
        const Expected<std::string> note = model_.sequence->load(path);
        if (!note) return note.error().sentence();
        if (const Status restored = conversation_.restore(*note); !restored)
            return restored.error().within(path).sentence();
        return fmt::format("Loaded: the conversation of {} tokens in {} goes on.", model_.sequence->n_past(),
                           path);
    }

    Status turn(const std::string& text) {
        conversation_.add_user(text);
        const bool evicts = model_.engine->endless();
        const int64_t n_ctx = model_.engine->n_ctx();
        const Expected<FittedPrompt> fitted =
            conversation_.fitted_prompt(evicts ? n_ctx : std::numeric_limits<int64_t>::max());
        if (!fitted || !fits(fitted->prompt)) {
            if (!fitted) say(fitted.error().sentence());
            conversation_.drop_last();
            return {};
        }
        if (fitted->dropped_turns > 0)
            say(dropped_turns_line(fitted->dropped_turns, fitted->dropped_tokens, n_ctx));
        keep_beginning(model_, fitted->prompt);
        clear_interrupt();
        Expected<Reply> reply = reply_to(model_, fitted->prompt, style_);
        clear_interrupt();
        if (!reply) return reply.error();
        const bool nothing_came = reply->text.empty() && reply->thinking.empty();
        if (nothing_came && reply->answer.end == AnswerEnd::interrupted) conversation_.drop_last();
        else conversation_.add_assistant(reply->text, reply->thinking);
        log_statistics(model_, *reply, style_.figures);
        if (reply->answer.end == AnswerEnd::context_full)
            say(context_full_line({.n_ctx = model_.engine->n_ctx(),
                                   .n_ctx_model = model_.engine->n_ctx_model(),
                                   .n_prompt = static_cast<int64_t>(fitted->prompt.ids.size()),
                                   .in_chat = true}));
        if (reply->forgotten_tokens > 0) say(forgotten_line(reply->forgotten_tokens, n_ctx));
        if (const std::string why = nothing_shown_line(*reply, style_); !why.empty()) say(why);
        last_ = reply->answer.timings;
        return {};
    }

    bool fits(const Prompt& prompt) const {
        const int64_t n_ctx = model_.engine->n_ctx(), n_ctx_model = model_.engine->n_ctx_model();
        if (static_cast<int64_t>(prompt.ids.size()) < n_ctx) return true;
        std::string help = "Say it shorter, or /reset for a new conversation";
        if (n_ctx < n_ctx_model)
            help += fmt::format("; started with a larger --ctx (up to {}) it fits", n_ctx_model);
        say(fmt::format(
            "this turn does not fit: with it the conversation has {} tokens, the context has room for {}, "
            "answer included. {}.",
            prompt.ids.size(), n_ctx, help));
        return false;
    }

    std::string stats() const {
        const SamplerParams& s = model_.sampling;
        std::string lines = fmt::format(
            "model    {}\ncontext  {} of {} tokens used\nseed     {}\nsampling temperature {}, top-k {}, "
            "top-p {}, min-p "
            "{}, repeat penalty {} over {} tokens\nthreads  {} ({})",
            model_.name, model_.sequence->n_past(), model_.engine->n_ctx(), s.seed, s.temperature, s.top_k,
            s.top_p, s.min_p, s.repeat_penalty, s.repeat_last_n, model_.engine->threads(),
            model_.engine->kernels_name());
        if (last_.predicted_n > 0)
            lines += "\nlast     " + statistics_line(last_) + loading_text(last_.load_ms);
        if (const std::string foreseen = forecast_text(last_); !foreseen.empty())
            lines += "\nplan     " + foreseen;
        return lines;
    }

    RunModel& model_;
    Conversation& conversation_;
    PrintStyle style_;
    LineEditor editor_;
    Timings last_;
};

}  // namespace

Expected<int> chat(RunModel& model, Conversation& conversation, const PrintStyle& style) {
    return Chat(model, conversation, style).run();
}

}  // namespace ft::cli
