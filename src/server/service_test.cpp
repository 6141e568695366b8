#include "server/service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>

#include "server/routes.h"
#include "text/chat_template.h"

namespace ft {

namespace {

using ::testing::HasSubstr;
using Json = nlohmann::ordered_json;

const std::string k_demo = FREETOKEN_SOURCE_DIR "/models/freetoken-demo-q4_k_m.gguf";

bool comes_true(const std::function<bool()>& holds) {
    const Seconds until = now_seconds() + 20;
    while (!holds() && now_seconds() < until) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    return holds();
}

// A client without a socket. One lock stands for the connections' thread.
class FakeClient : public Responder {
 public:
    void send(WebReply whole) override {
        const std::lock_guard lock(thread());
        reply = std::move(whole);
        finish();
    }
    void begin(WebReply head) override {
        const std::lock_guard lock(thread());
        reply = std::move(head);
    }
    void write(std::string bytes) override {
        const std::lock_guard lock(thread());
        reply.body += bytes;
    }
    void finish() override {
        const std::lock_guard lock(thread());
        gone = nullptr;  // as a connection does: nobody is told any more, and the call may go
        over = true;
    }
    void on_gone(std::function<void()> fn) override { gone = std::move(fn); }
    void on_quiet(std::function<void()>) override {}
    void run(std::function<void()> fn) override {
        const std::lock_guard lock(thread());
        fn();
    }
    void vanish() {
        const std::lock_guard lock(thread());
        if (const auto told = std::exchange(gone, nullptr)) told();
    }
    bool has(std::string_view text) {
        const std::lock_guard lock(thread());
        return reply.body.find(text) != std::string::npos;
    }
    std::string_view header(std::string_view name) {
        for (const WebHeader& header : reply.headers)
            if (header.name == name) return header.value;
        return {};
    }
    static std::recursive_mutex& thread() {
        static std::recursive_mutex mutex;
        return mutex;
    }

    WebReply reply;
    std::function<void()> gone;
    std::atomic<bool> over{false};
};

class ServiceTest : public ::testing::Test {
 protected:
    void SetUp() override {
        Expected<Gguf> file = Gguf::open(k_demo);
        ASSERT_TRUE(file);
        auto tokenizer = Tokenizer::load(*file);
        ASSERT_TRUE(tokenizer);
        tokenizer_ = std::move(*tokenizer);
        auto parsed = ChatTemplate::parse(*file->get_string("tokenizer.chat_template"));
        ASSERT_TRUE(parsed);
        template_ = std::move(*parsed);
        auto defaults = request_defaults(Settings(), *tokenizer_);
        ASSERT_TRUE(defaults);
        defaults_ = std::move(*defaults);
    }
    void make(const std::string& keys_file = "", size_t max_waiting = 100) {
        auto keys = ApiKeys::load(keys_file);
        ASSERT_TRUE(keys);
        keys_ = std::move(*keys);
        ServiceOptions options;
        options.info.name = "demo";
        options.fingerprint = "test";
        options.max_waiting = max_waiting;
        options.cors_origins = {"http://app.example"};
        options.local_only = keys_file.empty();
        options.host_names = {"ai.example"};
        service_ = std::make_unique<Service>(std::move(options), engine_, *keys_, *tokenizer_, &*template_,
                                             defaults_);
        callbacks_ = service_->callbacks();
    }
    // ram_budget: bytes; nothing: what there is.
    void load(const std::string& path = k_demo, std::optional<uint64_t> ram_budget = {}) {
        engine_.start(
            [path, ram_budget](const EngineThread::Progress& progress) {
                LoadOptions options;
                options.model_path = path;
                options.ram_budget = ram_budget;
                options.threads = 2;
                options.n_ctx = 1024;
                options.steps.batch_size = 3;
                options.progress = progress;
                return Engine::load(options);
            },
            *tokenizer_, {.batch_size = 3, .interactive_slots = 1}, [](const Engine&) {});
        ASSERT_TRUE(comes_true([&] { return engine_.state() == EngineThread::State::ready; }));
    }
    std::shared_ptr<FakeClient> ask(WebRequest request) {
        const auto client = std::make_shared<FakeClient>();
        const std::lock_guard lock(FakeClient::thread());
        if (auto refused = callbacks_.admit(request)) client->send(std::move(*refused));
        else callbacks_.handle(std::move(request), client);
        return client;
    }
    std::shared_ptr<FakeClient> get(std::string path) {
        return ask({.method = "GET", .path = std::move(path)});
    }
    std::shared_ptr<FakeClient> post(std::string path, std::string body,
                                     std::vector<WebHeader> headers = {}) {
        return ask({.method = "POST",
                    .path = std::move(path),
                    .headers = std::move(headers),
                    .body = std::move(body)});
    }
    std::shared_ptr<FakeClient> answered(std::shared_ptr<FakeClient> client) {
        EXPECT_TRUE(comes_true([&] { return client->over.load(); }));
        return client;
    }
    void TearDown() override {
        if (service_) service_->stop_work();
        engine_.stop();
    }

    std::unique_ptr<Tokenizer> tokenizer_;
    std::optional<ChatTemplate> template_;
    RequestDefaults defaults_;
    std::unique_ptr<ApiKeys> keys_;
    EngineThread engine_;
    std::unique_ptr<Service> service_;
    HttpCallbacks callbacks_;
};

constexpr uint64_t k_less_than_the_experts = uint64_t{48} << 20;
constexpr const char* k_long =
    R"({"prompt": "A story", "max_tokens": 4000, "ignore_eos": true, "stream": true})";

TEST_F(ServiceTest, SaysThatTheModelIsBeingLoaded) {
    make();
    const auto health = get("/health");
    EXPECT_EQ(health->reply.status, 503);
    EXPECT_EQ(Json::parse(health->reply.body)["status"], "loading");
    EXPECT_NE(health->header("Retry-After"), "");
    EXPECT_EQ(get("/health/live")->reply.status, 200);
    const auto early = post("/generate", R"({"prompt": "x"})");
    EXPECT_EQ(early->reply.status, 503);
    EXPECT_NE(early->header("Retry-After"), "");
    load();
    EXPECT_EQ(get("/health")->reply.status, 200);
}

TEST_F(ServiceTest, AsksForAKeyInTheWordsOfTheDialect) {
    const std::string path = ::testing::TempDir() + "service_test_keys";
    std::ofstream(path) << "right\n";
    make(path);
    std::filesystem::remove(path);
    EXPECT_EQ(get("/health")->reply.status, 503);  // not 401
    EXPECT_EQ(get("/metrics")->reply.status, 200);
    EXPECT_EQ(get("/v1/stats")->reply.status, 401);
    EXPECT_EQ(get("/nothing")->reply.status, 401);
    const auto openai = post("/v1/chat/completions", "{}");
    EXPECT_EQ(openai->reply.status, 401);
    EXPECT_TRUE(Json::parse(openai->reply.body)["error"].is_object());
    EXPECT_EQ(Json::parse(post("/v1/messages", "{}")->reply.body)["error"]["type"], "authentication_error");
    EXPECT_TRUE(Json::parse(post("/api/chat", "{}")->reply.body)["error"].is_string());
    for (const WebHeader& key : {WebHeader{"authorization", "Bearer right"}, WebHeader{"x-api-key", "right"}})
        EXPECT_EQ(post("/generate", "{}", {key})->reply.status, 503) << key.name;
    EXPECT_EQ(post("/generate", "{}", {{"authorization", "Bearer wrong"}})->reply.status, 401);
}

TEST_F(ServiceTest, KnowsItsRoutes) {
    make();
    EXPECT_EQ(get("/nothing")->reply.status, 404);
    EXPECT_EQ(get("/generate")->reply.status, 405);
    EXPECT_EQ(ask({.method = "DELETE", .path = "/health"})->reply.status, 405);
    for (const WebRoute& route : routes())
        EXPECT_EQ(find_route(route.method, route.path), &route) << route.method << " " << route.path;
}

TEST_F(ServiceTest, OnlyPagesThatMayAskGetTheHeaders) {
    make();
    const auto from = [&](const char* origin) {
        return ask({.method = "OPTIONS", .path = "/generate", .headers = {{"origin", origin}}});
    };
    EXPECT_EQ(from("http://app.example")->header("Access-Control-Allow-Origin"), "http://app.example");
    EXPECT_EQ(from("http://app.example")->header("Access-Control-Allow-Methods"), "POST, OPTIONS");
    EXPECT_EQ(from("http://evil.example")->header("Access-Control-Allow-Origin"), "");
    EXPECT_EQ(from("http://evil.example")->header("Access-Control-Allow-Methods"), "");
    const auto health =
        ask({.method = "OPTIONS", .path = "/health", .headers = {{"origin", "http://app.example"}}});
    EXPECT_EQ(health->header("Access-Control-Allow-Methods"), "GET, HEAD, OPTIONS");
    EXPECT_EQ(ask({.method = "DELETE", .path = "/health"})->header("Allow"), "GET, HEAD, OPTIONS");
}

TEST_F(ServiceTest, WithoutKeysItAnswersToItsMachinesNamesAlone) {
    make();
    load();
    const auto called = [&](const char* path, const char* host) {
        return ask({.method = "GET", .path = path, .headers = {{"host", host}}});
    };
    for (const char* own : {"127.0.0.1:8080", "localhost", "ai.example:443"})
        EXPECT_EQ(called("/v1/models", own)->reply.status, 200) << own;
    const auto foreign = called("/v1/models", "evil.example:8080");
    EXPECT_EQ(foreign->reply.status, 403);
    for (const char* word : {"evil.example", "server.host_names", "server.api_keys_file"})
        EXPECT_THAT(foreign->reply.body, HasSubstr(word));
    EXPECT_EQ(called("/nothing", "evil.example")->reply.status, 403);
    EXPECT_EQ(called("/health", "evil.example")->reply.status, 200) << "of a proxy, say";
}

TEST_F(ServiceTest, WithKeysItIsCalledByAnyName) {
    const std::string path = ::testing::TempDir() + "service_test_names";
    std::ofstream(path) << "right\n";
    make(path);
    std::filesystem::remove(path);
    const auto reply = ask(
        {.method = "GET", .path = "/v1/stats", .headers = {{"host", "any.example"}, {"x-api-key", "right"}}});
    EXPECT_EQ(reply->reply.status, 200);
}

TEST_F(ServiceTest, RequestsShareTheMemoryThatThereIsForThem) {
    make();
    load();
    const auto room = std::make_shared<ByteRoom>(uint64_t{1} << 20);
    const auto with_room = [&](std::string path, std::string body) {
        WebRequest request{.method = "POST", .path = std::move(path), .body = std::move(body)};
        request.room = std::make_shared<ByteShare>(room);
        EXPECT_TRUE(request.room->resize(request.body.size()));
        return answered(ask(std::move(request)));
    };
    std::string words;
    for (int i = 0; i < 20000; i++) words += "ab1 ";
    const auto large = with_room("/tokenize", R"({"content": ")" + words + R"("})");
    EXPECT_EQ(large->reply.status, 413);
    EXPECT_THAT(large->reply.body, HasSubstr("server.requests_mib"));
    std::string lists = "1";
    for (int i = 0; i < 20000; i++) lists += ",[]";
    const auto claude = with_room("/v1/messages", "{\"messages\": [" + lists + "]}");
    EXPECT_EQ(claude->reply.status, 413);
    EXPECT_EQ(Json::parse(claude->reply.body)["error"]["type"], "request_too_large");
    {
        ByteShare others(room);
        EXPECT_TRUE(others.resize((uint64_t{1} << 20) - 1000));
        const auto busy = with_room("/tokenize", R"({"content": "a b"})");
        EXPECT_EQ(busy->reply.status, 503);
        EXPECT_NE(busy->header("Retry-After"), "");
    }
    const auto ids = with_room("/tokenize", R"({"content": "a b", "with_pieces": true})");
    EXPECT_EQ(ids->reply.status, 200);
    EXPECT_EQ(Json::parse(ids->reply.body)["tokens"][0]["piece"], "a");
    EXPECT_EQ(with_room("/generate", R"({"prompt": "x", "max_tokens": 2})")->reply.status, 200);
    EXPECT_TRUE(comes_true([&] { return service_->under_way() == 0; }));
    ids->reply.room.reset();  // a connection does so once it is sent
    EXPECT_TRUE(comes_true([&] { return room->held() == 0; })) << room->held();
}

TEST(ApiErrors, WhatTheServerBrokeIsNotToldAsTheClients) {
    for (const Code code : {Code::damaged, Code::truncated, Code::io, Code::internal})
        EXPECT_EQ(api_error(Error{code, "x", ""}).status, 500);
    for (const Code code : {Code::invalid, Code::too_large, Code::unsupported})
        EXPECT_EQ(api_error(Error{code, "x", ""}).status, 400);
}

TEST_F(ServiceTest, AModelFileThatBreaksIsTold) {
    const std::string path = fmt::format("{}service_test_{}.gguf", ::testing::TempDir(), ::getpid());
    std::filesystem::copy_file(k_demo, path, std::filesystem::copy_options::overwrite_existing);
    make();
    load(path, k_less_than_the_experts);
    ASSERT_FALSE(engine_.engine().experts_resident());
    EXPECT_EQ(get("/health")->reply.status, 200);
    const std::string asked = R"({"prompt": "What is a router?", "max_tokens": 40, "ignore_eos": true})";
    std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);
    const auto broken = answered(post("/generate", asked));
    EXPECT_EQ(broken->reply.status, 500);
    EXPECT_THAT(broken->reply.body, HasSubstr("server_error"));
    const auto health = get("/health");
    EXPECT_EQ(health->reply.status, 503);
    EXPECT_EQ(Json::parse(health->reply.body)["status"], "failed");
    EXPECT_EQ(get("/health/live")->reply.status, 200);
    std::filesystem::remove(path);
}

TEST_F(ServiceTest, AnswersWholeAndAsAStream) {
    make();
    load();
    const std::string asked =
        R"({"prompt": "What is a router?", "max_tokens": 12, "temperature": 0, "ignore_eos": true)";
    const auto whole = answered(post("/generate", asked + "}", {{"x-request-id", "mine"}}));
    EXPECT_EQ(whole->reply.status, 200);
    EXPECT_EQ(whole->header("X-Request-Id"), "mine");
    const Json body = Json::parse(whole->reply.body);
    EXPECT_TRUE(body["text"].is_string());
    EXPECT_EQ(body["timings"]["predicted_n"], 12);
    const auto stream = answered(post("/generate", asked + R"(, "stream": true})"));
    EXPECT_EQ(stream->reply.content_type, "text/event-stream");
    EXPECT_EQ(stream->header("X-Accel-Buffering"), "no");
    EXPECT_THAT(stream->reply.body, HasSubstr("data: "));
    const Json ring = Json::parse(get("/v1/requests")->reply.body)["requests"];
    EXPECT_EQ(ring.size(), 2u);
    EXPECT_EQ(ring[0]["x_request_id"], "mine");
    EXPECT_THAT(get("/metrics")->reply.body,
                HasSubstr("vllm:generation_tokens_total{model_name=\"demo\"} 24"));
}

TEST_F(ServiceTest, RefusesWhatIsWrongBesideTheFields) {
    make();
    load();
    EXPECT_EQ(answered(post("/generate", "{"))->reply.status, 400);
    const auto lane = answered(post("/generate", R"({"prompt": "x"})", {{"x-freetoken-lane", "fast"}}));
    EXPECT_EQ(lane->reply.status, 400);
    EXPECT_THAT(lane->reply.body, HasSubstr("X-FreeToken-Lane"));
}

TEST_F(ServiceTest, AClientThatVanishesFreesItsSlot) {
    make();
    load();
    const auto client = post("/generate", k_long);
    EXPECT_TRUE(comes_true([&] { return client->has("data: "); }));
    EXPECT_EQ(engine_.counters().running, 1);
    client->vanish();
    EXPECT_TRUE(comes_true([&] { return engine_.counters().running == 0; }));
    EXPECT_TRUE(comes_true([&] { return service_->now().scheduler.done == 1; }));
}

TEST_F(ServiceTest, MoreThanMayWaitAreTurnedAway) {
    make("", 1);
    load();
    std::vector<std::shared_ptr<FakeClient>> clients;
    for (int i = 1; i <= 3; i++) {  // one after the other: until it runs a request waits, and only one may
        clients.push_back(post("/generate", k_long));
        EXPECT_TRUE(comes_true([&] { return engine_.counters().running == i; }));
    }
    clients.push_back(post("/generate", k_long));
    EXPECT_TRUE(comes_true([&] { return engine_.counters().waiting == 1; }));
    const auto turned_away = answered(post("/generate", k_long));
    EXPECT_EQ(turned_away->reply.status, 429);
    EXPECT_NE(turned_away->header("Retry-After"), "");
    for (const auto& client : clients) client->vanish();
    EXPECT_TRUE(comes_true([&] { return engine_.counters().running == 0; }));
}

TEST_F(ServiceTest, DrainingLetsAnswersEnd) {
    make();
    load();
    const auto quick = post("/generate", R"({"prompt": "x", "max_tokens": 5, "stream": true})");
    service_->drain(60);
    EXPECT_TRUE(quick->over);
    EXPECT_FALSE(quick->has("\"error\""));
    EXPECT_EQ(get("/health")->reply.status, 503);
    EXPECT_EQ(post("/generate", k_long)->reply.status, 503);
}

TEST_F(ServiceTest, WhatDoesNotEndInTimeIsEnded) {
    make();
    load();
    const auto endless = post("/generate", k_long);
    EXPECT_TRUE(comes_true([&] { return endless->has("data: "); }));
    service_->drain(0);
    EXPECT_TRUE(endless->over);
    EXPECT_TRUE(endless->has("\"error\""));
}

}  // namespace

}  // namespace ft
