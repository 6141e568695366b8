// Answers of a given form: several at once, alone and beside others, parked and not.
#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "engine/scheduler.h"
#include "text/tokenizer.h"

namespace ft {
namespace {

constexpr const char* k_person = R"({"type": "object", "required": ["name", "age", "tags"], "properties": {
    "name": {"type": "string", "maxLength": 12}, "age": {"type": "integer", "minimum": 0, "maximum": 130},
    "tags": {"type": "array", "items": {"enum": ["fast", "small", "蓝"]}, "maxItems": 3}}})";

struct DemoModel {
    std::unique_ptr<Engine> engine;
    std::unique_ptr<Tokenizer> tokenizer;

    DemoModel() {
        LoadOptions options;
        options.model_path = std::string(FREETOKEN_SOURCE_DIR) + "/models/freetoken-demo-q4_k_m.gguf";
        options.threads = 2;
        options.n_ctx = 512;
        auto made = Engine::load(options);
        check(static_cast<bool>(made), "the model of the test");
        engine = std::move(*made);
        tokenizer = std::move(*Tokenizer::load(engine->file()));
    }
};

const DemoModel& demo() {
    static const DemoModel model;
    return model;
}

struct HeardText : RequestOwner {
    struct OfChoice {
        std::string text, error;
        std::vector<int32_t> ids;
        FinishReason reason = FinishReason::error;
        size_t logprobs = 0;
    };
    std::map<int, OfChoice> choices;
    bool done = false;

    void on_token(const TokenEvent& token) override {
        choices[token.choice].text += token.text;
        choices[token.choice].ids.push_back(token.id);
        choices[token.choice].logprobs += token.logprobs != nullptr ? 1 : 0;
    }
    void on_end(const ChoiceEnd& end) override {
        choices[end.choice].text += end.text;
        choices[end.choice].reason = end.reason;
        if (end.error != nullptr) choices[end.choice].error = end.error->sentence();
    }
    void on_done(const RequestRecord&) override { done = true; }
};

Request person_request(float temperature, uint64_t seed) {
    const Tokenizer& tokenizer = *demo().tokenizer;
    Request request;
    request.prompt = tokenizer.encode("Tell me about a person.");
    request.sampling.temperature = temperature;
    request.sampling.seed = seed;
    request.end_ids.assign(tokenizer.end_ids().begin(), tokenizer.end_ids().end());
    request.max_tokens = 200;
    request.grammar = *compile_json_schema(nlohmann::ordered_json::parse(k_person), tokenizer);
    return request;
}

std::vector<std::shared_ptr<HeardText>> answers(std::vector<Request> requests,
                                                const SchedulerOptions& options) {
    auto scheduler = Scheduler::create(*demo().engine, *demo().tokenizer, options);
    EXPECT_TRUE(scheduler);
    std::vector<std::shared_ptr<HeardText>> heard;
    for (Request& request : requests) {
        heard.push_back(std::make_shared<HeardText>());
        EXPECT_TRUE((*scheduler)->submit(std::move(request), heard.back()));
    }
    while ((*scheduler)->step()) {
    }
    for (const auto& one : heard) EXPECT_TRUE(one->done);
    return heard;
}

void expect_person(const HeardText::OfChoice& choice) {
    ASSERT_TRUE(nlohmann::json::accept(choice.text)) << choice.text << choice.error;
    const auto value = nlohmann::json::parse(choice.text);
    EXPECT_EQ(choice.reason, FinishReason::stop);
    EXPECT_TRUE(value.contains("name") && value.contains("tags") && value.size() == 3) << choice.text;
    EXPECT_LE(value["age"].get<int>(), 130);
    EXPECT_LE(value["tags"].size(), 3u);
}

TEST(GrammarChoice, EveryChoiceIsAValueOfTheSchema) {
    for (const float temperature : {0.0f, 0.8f, 1.5f}) {
        Request request = person_request(temperature, 3);
        request.n_choices = 3;
        request.top_logprobs = 2;
        const auto heard = answers({request}, {});
        ASSERT_EQ(heard[0]->choices.size(), 3u);
        for (const auto& [number, choice] : heard[0]->choices) {
            expect_person(choice);
            EXPECT_EQ(choice.logprobs, choice.ids.size());
        }
    }
}

TEST(GrammarChoice, TheSameAloneAndBesideOthersAndParked) {
    std::vector<Request> requests;
    for (uint64_t seed = 0; seed < 6; seed++) {
        requests.push_back(person_request(1.2f, seed));
        if (seed % 3 == 2) requests.back().grammar = nullptr;
        if (seed % 2 == 1)
            requests.back().grammar = *compile_gbnf("root ::= [a-z ]{40,150}", *demo().tokenizer);
    }
    const auto together = answers(requests, {.batch_size = 6, .interactive_slots = 0});
    const auto parked =
        answers(requests, {.batch_size = 6, .interactive_slots = 0, .pool_tokens = 512, .overcommit = true});
    for (size_t i = 0; i < requests.size(); i++) {
        const auto alone = answers({requests[i]}, {});
        EXPECT_EQ(together[i]->choices[0].ids, alone[0]->choices[0].ids) << i;
        EXPECT_EQ(parked[i]->choices[0].ids, alone[0]->choices[0].ids) << i;
    }
}

TEST(GrammarChoice, EndsWhereNothingMayFollowAlsoWithoutEndTokens) {
    Request request = person_request(1, 4);
    request.ignore_end();
    expect_person(answers({request}, {})[0]->choices[0]);
    request.grammar = *compile_gbnf("root ::= \"yes\" | \"no\"", *demo().tokenizer);
    const std::string text = answers({request}, {})[0]->choices[0].text;
    EXPECT_TRUE(text == "yes" || text == "no") << text;
}

TEST(GrammarChoice, WhereNoTokenMayComeIsAnErrorOfThatAnswerAlone) {
    Request request = person_request(0, 1), other = person_request(0, 1);
    request.grammar = *compile_gbnf(R"(root ::= "q")", *demo().tokenizer);
    for (int32_t id = 0; id < demo().tokenizer->vocab_size(); id++)
        request.sampling.logit_bias.push_back({id, -std::numeric_limits<float>::infinity()});
    const auto heard = answers({request, other}, {});
    EXPECT_EQ(heard[0]->choices[0].reason, FinishReason::error);
    EXPECT_NE(heard[0]->choices[0].error.find("grammar"), std::string::npos) << heard[0]->choices[0].error;
    expect_person(heard[1]->choices[0]);
}

}  // namespace
}  // namespace ft
