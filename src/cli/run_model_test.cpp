// The parts of `run` together, on the bundled demo model.
#include "cli/run_model.h"

#include <gtest/gtest.h>

#include <fstream>

#include "cli/conversation.h"
#include "cli/reply.h"

namespace ft::cli {
namespace {

constexpr const char* k_demo = FREETOKEN_SOURCE_DIR "/models/freetoken-demo-q4_k_m.gguf";
constexpr const char* k_question = "What is a mixture of experts?";
constexpr PrintStyle k_quiet = {.stream = false};

ModelChoice demo(std::vector<std::string> assignments = {}) {
    assignments.insert(assignments.begin(), {"inference.temperature=0", "inference.repetition_penalty=1",
                                             "inference.max_tokens=24", "inference.threads=1"});
    Expected<Settings> settings = load_settings({.assignments = std::move(assignments)});
    check(static_cast<bool>(settings), "settings of the test");
    return {k_demo, std::move(*settings), 512};
}

RunModel loaded(const ModelChoice& choice) {
    Expected<RunModel> model = load_run_model(choice, false);
    check(static_cast<bool>(model), "the demo model loads");
    return std::move(*model);
}

Reply answered(RunModel& model, const Prompt& prompt) {
    Expected<Reply> reply = reply_to(model, prompt, k_quiet);
    check(static_cast<bool>(reply), "the demo model answers");
    return std::move(*reply);
}

TEST(RunModel, ALaterTurnFeedsOnlyWhatIsNewAndAnswersTheSame) {
    RunModel model = loaded(demo());
    Conversation chat(*model.chat_template, *model.tokenizer, std::nullopt);
    chat.add_user(k_question);
    const Expected<Prompt> first = chat.prompt();
    ASSERT_TRUE(first);
    const Reply one = answered(model, *first);
    EXPECT_FALSE(one.text.empty());
    EXPECT_EQ(one.answer.timings.prompt_n, static_cast<int64_t>(first->ids.size()));
    chat.add_assistant(one.text, one.thinking);
    chat.add_user("Tell me more.");
    const Expected<Prompt> second = chat.prompt();
    ASSERT_TRUE(second);
    const Reply two = answered(model, *second);
    EXPECT_LT(two.answer.timings.prompt_n, static_cast<int64_t>(second->ids.size()) / 2);

    RunModel fresh = loaded(demo());
    const Reply whole = answered(fresh, *second);
    EXPECT_EQ(whole.answer.timings.prompt_n, static_cast<int64_t>(second->ids.size()));
    EXPECT_EQ(whole.answer.ids, two.answer.ids);
    EXPECT_EQ(whole.answer.logits_hash, two.answer.logits_hash);

    const Reply again = answered(model, *first);  // back to a shorter prompt
    EXPECT_EQ(again.answer.ids, one.answer.ids);
}

// As the templates of thinking models are: the thinking of earlier turns is left out, and an answer begins
// with it.
constexpr const char* k_thinking_template =
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n<think>\n{% endif %}";

// A conversation on a model with recurrent layers. The answers are given, so that the turns are known.
class RecurrentChat {
 public:
    explicit RecurrentChat(const std::string& more = "inference.max_tokens=6") {
        const std::string path = testing::TempDir() + "freetoken-thinking-test.jinja";
        std::ofstream(path) << k_thinking_template;
        ModelChoice choice =
            demo({"model.template=" + path, "inference.ignore_eos=true", "inference.max_tokens=6", more});
        choice.path = FREETOKEN_SOURCE_DIR "/tests/goldens/small/qwen35moe-q4k/model.gguf";
        model_ = loaded(choice);
        std::remove(path.c_str());
        chat_.emplace(*model_.chat_template, *model_.tokenizer, std::nullopt);
    }

    RunModel& model() { return model_; }
    Conversation& chat() { return *chat_; }
    int64_t n_prompt() const { return n_prompt_; }
    // Of the begin of an answer, which is read anew.
    int64_t n_begin() const {
        return static_cast<int64_t>(
            raw_prompt(*model_.tokenizer, "<|im_start|>assistant\n<think>\n").ids.size());
    }

    Reply ask(const std::string& text) {
        chat_->add_user(text);
        const Expected<Prompt> prompt = chat_->prompt();
        check(static_cast<bool>(prompt), "the template renders");
        n_prompt_ = static_cast<int64_t>(prompt->ids.size());
        keep_beginning(model_, *prompt);
        Reply reply = answered(model_, *prompt);
        chat_->add_assistant("so it is", "some thinking");
        return reply;
    }

 private:
    RunModel model_;
    std::optional<Conversation> chat_;
    int64_t n_prompt_ = 0;
};

TEST(RunModel, WithRecurrentLayersALaterTurnFeedsOnlyWhatIsNewToo) {
    RecurrentChat chat, plain("kv_cache.state_checkpoints=0");
    ASSERT_TRUE(chat.model().sequence->keeps_states());
    ASSERT_FALSE(plain.model().sequence->keeps_states());
    const std::string text = "one two three four five six seven eight nine ten ";
    int64_t before = 0;
    for (const std::string& question : {text + text, text, text + "eleven", text}) {
        const Reply got = chat.ask(question), whole = plain.ask(question);
        EXPECT_EQ(whole.answer.timings.prompt_n, plain.n_prompt());
        EXPECT_EQ(got.answer.timings.prompt_n, chat.n_prompt() - before + (before > 0 ? chat.n_begin() : 0));
        EXPECT_EQ(got.answer.ids, whole.answer.ids);
        EXPECT_EQ(got.answer.logits_hash, whole.answer.logits_hash);
        before = chat.n_prompt();
    }
    // a message that is taken back (Ctrl-C before an answer) and said otherwise
    chat.chat().drop_last();
    chat.chat().drop_last();
    plain.chat().drop_last();
    plain.chat().drop_last();
    const Reply other = chat.ask("no, " + text), whole = plain.ask("no, " + text);
    EXPECT_LT(other.answer.timings.prompt_n, chat.n_prompt() / 2);
    EXPECT_EQ(other.answer.ids, whole.answer.ids);
    EXPECT_EQ(other.answer.logits_hash, whole.answer.logits_hash);
    // a new conversation
    chat.chat().clear();
    chat.model().sequence->keep_prefix_of({});
    EXPECT_EQ(chat.model().sequence->n_past(), 0);
    plain.chat().clear();
    const Reply anew = chat.ask(text), anew_plain = plain.ask(text);
    EXPECT_EQ(anew.answer.timings.prompt_n, chat.n_prompt());
    EXPECT_EQ(anew.answer.logits_hash, anew_plain.answer.logits_hash);
}

TEST(RunModel, WithRecurrentLayersAPromptThatIsStoppedCostsOnlyItself) {
    RecurrentChat chat, plain("kv_cache.state_checkpoints=0");
    const std::string text = "one two three four five six seven eight nine ten ";
    chat.ask(text + text);
    plain.ask(text + text);
    const int64_t before = chat.n_prompt();
    std::atomic<bool> stop{false};
    chat.model().sequence->session().set_route_sink([&](const Route&) { stop = true; });
    chat.chat().add_user(text);
    const Expected<Prompt> prompt = chat.chat().prompt();
    ASSERT_TRUE(prompt);
    chat.model().sequence->keep_prefix_of(prompt->ids);
    const auto n_past = static_cast<size_t>(chat.model().sequence->n_past());
    EXPECT_GT(n_past, 0u);
    EXPECT_FALSE(chat.model().sequence->feed(std::span(prompt->ids).subspan(n_past), &stop));
    chat.model().sequence->session().set_route_sink({});
    EXPECT_EQ(chat.model().sequence->n_past(), static_cast<int64_t>(n_past));
    chat.chat().drop_last();
    const Reply got = chat.ask(text), whole = plain.ask(text);
    EXPECT_EQ(got.answer.timings.prompt_n, chat.n_prompt() - before + chat.n_begin());
    EXPECT_EQ(got.answer.logits_hash, whole.answer.logits_hash);
}

TEST(RunModel, ASeedDecidesTheAnswer) {
    RunModel model = loaded(demo({"inference.temperature=1.5", "inference.seed=11"}));
    EXPECT_EQ(model.sampling.seed, 11u);
    const Prompt prompt = raw_prompt(*model.tokenizer, "The expert");
    const Reply one = answered(model, prompt), two = answered(model, prompt);
    EXPECT_EQ(one.answer.ids, two.answer.ids);
    model.sampling.seed = 12;
    EXPECT_NE(answered(model, prompt).answer.ids, one.answer.ids);
}

TEST(RunModel, AStopTextEndsTheAnswerBeforeIt) {
    const Reply whole = [] {
        RunModel model = loaded(demo());
        return answered(model, raw_prompt(*model.tokenizer, "The expert"));
    }();
    ASSERT_GT(whole.text.size(), 12u);
    const std::string stop = whole.text.substr(5, 6);
    RunModel model = loaded(demo({"inference.stop=" + stop}));
    const Reply cut = answered(model, raw_prompt(*model.tokenizer, "The expert"));
    EXPECT_EQ(cut.text, whole.text.substr(0, whole.text.find(stop)));
    EXPECT_STREQ(finish_reason(cut.answer.end), "stop");
}

TEST(RunModel, WithoutItsEndTheModelGoesOn) {
    RunModel ends = loaded(demo({"inference.max_tokens=200"}));
    Conversation chat(*ends.chat_template, *ends.tokenizer, std::nullopt);
    chat.add_user(k_question);
    const Expected<Prompt> prompt = chat.prompt();
    ASSERT_TRUE(prompt);
    ASSERT_STREQ(finish_reason(answered(ends, *prompt).answer.end), "stop");
    RunModel model = loaded(demo({"inference.max_tokens=200", "inference.ignore_eos=true"}));
    const Reply reply = answered(model, *prompt);
    EXPECT_STREQ(finish_reason(reply.answer.end), "length");
    for (const int32_t id : reply.answer.ids) EXPECT_FALSE(model.tokenizer->is_end(id));
}

TEST(RunModel, ABiasThatCannotBeIsRefused) {
    for (const char* bias : {"x+1", "5", "5+", "5+x", "5+inf", "999999+1", "-1+1"}) {
        const Expected<RunModel> model =
            load_run_model(demo({std::string("inference.logit_bias=") + bias}), false);
        ASSERT_FALSE(model) << bias;
        EXPECT_NE(model.error().what.find("inference.logit_bias"), std::string::npos) << bias;
    }
}

TEST(RunModel, JsonHasTheNamesOfTheContract) {
    RunModel model = loaded(demo({"inference.max_tokens=3"}));
    const auto json =
        nlohmann::json::parse(reply_json(answered(model, raw_prompt(*model.tokenizer, "The expert")), model));
    EXPECT_TRUE(json["text"].is_string());
    EXPECT_EQ(json["finish_reason"], "length");
    EXPECT_EQ(json["timings"]["predicted_n"], 3);
    for (const char* name :
         {"prompt_n", "prompt_ms", "prompt_per_second", "predicted_ms", "predicted_per_second", "ttft_ms",
          "load_ms", "read_gb_per_second", "logits_hash", "foreign_cpu"})
        EXPECT_TRUE(json["timings"].contains(name)) << name;
    EXPECT_TRUE(json["seed"].is_number());
}

TEST(RunModel, SystemAndThinkingReachTheTemplate) {
    const Expected<ChatTemplate> chat_template = ChatTemplate::parse(
        "{% for m in messages %}{{ m.role }}={{ m.content }};{% endfor %}{{ enable_thinking is defined }}"
        "{% if add_generation_prompt %}<think>\n{% endif %}");
    ASSERT_TRUE(chat_template);
    const RunModel model = loaded(demo());
    const auto text_of = [&](std::optional<bool> think) {
        Conversation chat(*chat_template, *model.tokenizer, think);
        chat.set_system("Be brief.");
        chat.add_user("Hi \xff");
        const Expected<Prompt> prompt = chat.prompt();
        check(static_cast<bool>(prompt), "the template renders");
        EXPECT_TRUE(prompt->inside_thinking);
        return model.tokenizer->decode(prompt->ids);
    };
    EXPECT_EQ(text_of(std::nullopt), "system=Be brief.;user=Hi \xef\xbf\xbd;False<think>\n");
    EXPECT_EQ(text_of(true), "system=Be brief.;user=Hi \xef\xbf\xbd;True<think>\n");
}

TEST(RunModel, TemplateFilesThatCannotServeAreNamed) {
    const auto refusal = [](const std::string& path) {
        const Expected<RunModel> model = load_run_model(demo({"model.template=" + path}), false);
        EXPECT_FALSE(model);
        return model ? "" : model.error().what;
    };
    EXPECT_NE(refusal("/no/such/file.jinja").find("/no/such/file.jinja"), std::string::npos);
    EXPECT_NE(refusal("/tmp").find("/tmp"), std::string::npos);
    const std::string broken = testing::TempDir() + "freetoken-broken-test.jinja";
    std::ofstream(broken) << "{% if %}";
    EXPECT_NE(refusal(broken).find(broken), std::string::npos);
    std::remove(broken.c_str());
}

TEST(StatisticsLine, HasTheFiguresAndNoRateThatIsNotKnown) {
    const std::string line = statistics_line({.prompt_n = 24,
                                              .prompt_ms = 200,
                                              .predicted_n = 31,
                                              .predicted_ms = 1000,
                                              .ttft_ms = 210,
                                              .load_ms = 0,
                                              .bytes_per_token = 100'000'000});
    EXPECT_EQ(line,
              "prompt 24 tokens, 120.0 tok/s; first token after 210 ms; answer 31 tokens, 30.0 tok/s (3.0 "
              "GB/s of weights)");
    CacheStats experts{.hits = 3, .misses = 1, .bytes_read = 5ull << 30, .wait_seconds = 1.25};
    EXPECT_EQ(
        statistics_line({.experts = experts}),
        "prompt 0 tokens; first token after 0 ms; answer 0 tokens; 75 % of experts found in RAM, 5.00 GiB "
        "read from the drive, 1.2 s waited for it");
    EXPECT_EQ(statistics_line({}), "prompt 0 tokens; first token after 0 ms; answer 0 tokens");
    EXPECT_EQ(statistics_line({.prompt_n = 1,
                               .prompt_ms = 100,
                               .predicted_n = 1,
                               .predicted_ms = 0.01,
                               .ttft_ms = 100,
                               .bytes_per_token = 100'000'000}),
              "prompt 1 token, 10.0 tok/s; first token after 100 ms; answer 1 token");
}

TEST(StatisticsLine, SaysHowLongALoadTookThatSomebodyWaitedFor) {
    EXPECT_EQ(loading_text(300), "");
    EXPECT_EQ(loading_text(41'040), "; loaded in 41.0 s");
}

TEST(RunModel, FiguresAreSaidAsAskedAndALoadOnce) {
    RunModel model = loaded(demo({"inference.max_tokens=4"}));
    Reply reply = answered(model, raw_prompt(*model.tokenizer, "The expert"));
    reply.answer.timings.load_ms = 41'040;
    const auto said = [&](Figures figures) {
        testing::internal::CaptureStderr();
        log_statistics(model, reply, figures);
        return testing::internal::GetCapturedStderr();
    };
    EXPECT_EQ(said(Figures::none), "");
    EXPECT_NE(said(Figures::line).find("GB/s of weights); loaded in 41.0 s\n"), std::string::npos);
    EXPECT_EQ(said(Figures::line).find("loaded in"), std::string::npos);
    EXPECT_NE(said(Figures::live).find("all weights are in RAM"), std::string::npos);
}

TEST(RunModel, TheFiguresOfAllAnswersAreSaidFromTheSecondOn) {
    RunModel model = loaded(demo({"inference.max_tokens=4", "memory.ram_budget=0.04"}));
    const auto said_after_an_answer = [&] {
        const Reply reply = answered(model, raw_prompt(*model.tokenizer, "The expert"));
        testing::internal::CaptureStderr();
        log_statistics(model, reply, Figures::live);
        return testing::internal::GetCapturedStderr();
    };
    const std::string first = said_after_an_answer();
    EXPECT_NE(first.find("[stats] this answer: "), std::string::npos) << first;
    EXPECT_EQ(first.find("all answers"), std::string::npos) << first;
    EXPECT_NE(said_after_an_answer().find("[stats] all answers: "), std::string::npos);
}

TEST(RunModel, SettingsOfAnswersMayChangeWhileItIsLoaded) {
    RunModel model = loaded(demo({"inference.seed=3"}));
    const SamplerParams before = model.sampling;
    model.settings.set(*find_key("inference.temperature"), SettingValue(1.5), "/set");
    model.settings.set(*find_key("inference.stop"), SettingValue(std::vector<std::string>{"END"}), "/set");
    ASSERT_TRUE(take_answer_settings(model));
    EXPECT_EQ(model.sampling.temperature, 1.5f);
    EXPECT_EQ(model.sampling.seed, before.seed);
    EXPECT_EQ(model.stop, std::vector<std::string>{"END"});
    model.settings.set(*find_key("inference.logit_bias"), SettingValue(std::vector<std::string>{"x+1"}),
                       "/set");
    EXPECT_FALSE(take_answer_settings(model));
    EXPECT_EQ(model.sampling.temperature, 1.5f);
}

TEST(ContextFullLine, NamesWhatAppliesAlone) {
    const auto has = [](const FullContext& full, const char* word) {
        return context_full_line(full).find(word) != std::string::npos;
    };
    const FullContext chat{.n_ctx = 64, .n_ctx_model = 512, .n_prompt = 10, .in_chat = true};
    EXPECT_TRUE(has(chat, "--ctx takes up to 512"));
    EXPECT_TRUE(has(chat, "/reset"));
    const FullContext long_prompt{.n_ctx = 512, .n_ctx_model = 512, .n_prompt = 500};
    EXPECT_FALSE(has(long_prompt, "--ctx"));
    EXPECT_TRUE(has(long_prompt, "A shorter prompt"));
    const FullContext long_answer{.n_ctx = 512, .n_ctx_model = 512, .n_prompt = 12};
    EXPECT_FALSE(has(long_answer, "prompt"));
    EXPECT_TRUE(has(long_answer, "The answer has 500 of them; --max-tokens"));
    const FullContext endless{.n_ctx = 512, .n_ctx_model = 512, .n_prompt = 12, .never_ends = true};
    EXPECT_FALSE(has(endless, "prompt"));
    EXPECT_TRUE(has(endless, "--ignore-eos"));
}

}  // namespace
}  // namespace ft::cli
